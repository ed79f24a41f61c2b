from shop import stock
from shop.cart import Cart


def test_last_pair():
    cart = Cart()
    cart.add("boots", "89.00")

    assert cart.check_out() == ["boots"]


def test_sold_is_gone():
    before = stock.available("teapot")
    cart = Cart()
    cart.add("teapot", "24.00")
    cart.check_out()

    assert stock.available("teapot") == before - 1


def test_cart_is_empty_afterwards():
    cart = Cart()
    cart.add("teapot", "24.00")
    cart.check_out()

    assert cart.lines == []
