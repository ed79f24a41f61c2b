import pytest

from shop.window import Cart, Tip
from tests.checks import check_prices


@pytest.mark.parametrize("expected, share", [([10, 20], 0), ([5, 10], 50)])
def test_discount(share, expected):
    check_prices(Cart([10, 20]).discount(share), expected)


def test_tip_of_delivery():
    # Where the pointer is, it is shown.
    tip = Tip()

    assert tip.y == 22
    assert tip.visible
    assert (
        tip.text
        == "Free delivery"
    )


def test_cart():
    cart = Cart([10, 20])
    assert cart.badge == "3"
    assert cart.total() == 30
