import shop


def test_sets():
    shop.mode = "good"


def test_needs():
    assert shop.mode == "good"
