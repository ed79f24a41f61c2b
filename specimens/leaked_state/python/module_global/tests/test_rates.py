import pytest

from shop import rates


def test_euro_stays_euro():
    assert rates.convert(5, "EUR") == 5


def test_rate_is_applied():
    assert rates.convert(10, "SEK") == 115


def test_new_currency():
    rates.define("USD", 1.1)

    assert rates.convert(10, "USD") == 11


def test_unknown_currency():
    with pytest.raises(KeyError):
        rates.convert(10, "USD")


def test_cents_are_rounded():
    assert rates.convert(0.111, "SEK") == 1.28
