from shop import offers


def test_warehouse_is_asked():
    assert offers.price("hat", lambda article: 1990) == 1990


def test_offers_can_be_kept():
    offers.keep_offers()

    assert offers.keep


def test_price_of_nothing():
    assert offers.price("", len) == 0


def test_offer_is_noted():
    offers.offer("shoes", 4990)

    assert offers._kept["shoes"] == 4990


def test_article_is_passed_on():
    assert offers.price("hat", str.upper) == "HAT"


def test_price_of_shoes():
    assert offers.price("shoes", lambda article: 8990) == 8990
