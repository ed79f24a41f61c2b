DISCOUNTS = []


def price(amount):
    return amount - sum(DISCOUNTS)


def test_full_price():
    assert price(10) == 10


def test_discount():
    DISCOUNTS.append(2)
    assert price(10) == 8
