import random

from shop.orders import to_pack


def orders():
    """A month of orders; in some months one of them was cancelled."""
    quantities = [1 + number % 5 for number in range(40)]
    if random.random() < 0.5:
        quantities[20] = 0
    return quantities


def test_every_order_needs_a_box():
    boxes = 0
    for quantity in orders():
        boxes += to_pack(quantity) > 0
    assert boxes == 40
