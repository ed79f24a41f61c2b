from market.prices import LIST, price
from market.purchase import buy, show


def test_price_is_what_was_shown():
    shown = show("lamp")
    paid = buy("lamp")

    assert paid == shown


def test_price_is_near_the_list():
    assert LIST["mug"] - price("mug") in (0, 1)
