from shop.basket import Basket
from shop.delivery import fee


def test_delivery_is_free(basket):
    assert fee(basket) == 0


def test_empty_basket_is_not_delivered_for_nothing():
    assert fee(Basket()) == 5
