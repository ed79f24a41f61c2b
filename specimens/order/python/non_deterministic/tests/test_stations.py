from weather import stations


def test_warm():
    assert stations.in_words(25) == "warm"


def test_cold():
    assert stations.in_words(-3) == "cold"


def test_reading():
    assert stations.reading() == 21.5


def test_limit():
    assert stations.in_words(20) == "cold"
