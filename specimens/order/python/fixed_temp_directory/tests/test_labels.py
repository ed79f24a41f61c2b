import pytest

from shop import prices


@pytest.mark.parametrize("amount", range(2))
def test_amount(amount):
    assert prices.label(amount).startswith(str(amount))


def test_label():
    assert prices.label(3) == "3 EUR"
