import pytest

from shop.window import Cart, Tip, Window
from tests.checks import check_prices


def test_layout():
    window = Window()
    assert window.width == 358
    assert window.height == 496
    assert window.title == "Checkout"


def test_cart():
    cart = Cart([10, 20])
    assert cart.badge == "3"
    assert cart.total() == 30


def test_tip():
    tip = Tip()
    assert tip.y == 22
    assert tip.visible
    assert tip.text == "Free delivery"


@pytest.mark.parametrize("share, expected", [(0, [10, 20]), (50, [5, 10])])
def test_discount(share, expected):
    check_prices(Cart([10, 20]).discount(share), expected)
