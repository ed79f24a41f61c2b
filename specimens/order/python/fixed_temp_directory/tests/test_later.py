import pytest

from shop import prices


@pytest.mark.parametrize("amount", range(2))
def test_other(amount):
    assert prices.label(amount).startswith(str(amount))


def test_dollars():
    prices.currency = "USD"
    assert prices.label(3) == "3 USD"
