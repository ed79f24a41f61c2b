import shop

shop.mode = "bad"


def test_nothing():
    pass
