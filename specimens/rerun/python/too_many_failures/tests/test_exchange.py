import pytest

from exchange.rates import convert, decimals, rate

CURRENCIES = ["EUR", "CHF", "GBP", "SEK", "NOK", "DKK"]


@pytest.mark.parametrize("currency", CURRENCIES)
def test_into_itself(currency):
    assert convert(100, currency, currency) == 100


@pytest.mark.parametrize("currency", CURRENCIES)
def test_into_dollars(currency):
    assert convert(100, currency, "USD") > 0


@pytest.mark.parametrize("currency", CURRENCIES)
def test_there_and_back(currency):
    assert convert(convert(100, currency, "USD"), "USD", currency) == 100


def test_rates_are_inverse():
    assert rate("CHF", "EUR") * rate("EUR", "CHF") == 1


def test_crowns_have_no_cents():
    assert (decimals("SEK"), decimals("EUR")) == (0, 2)
