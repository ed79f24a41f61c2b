from decimal import Decimal

from shop import stock
from shop.cart import Cart


def test_empty_cart():
    assert Cart().total() == 0


def test_total():
    cart = Cart()
    cart.add("mug", "4.15")
    cart.add("mug", "4.17")

    assert cart.total() == Decimal("9.90")


def test_adding_reserves():
    Cart().add("boots", "89.00")

    assert stock.available("boots") == 0
