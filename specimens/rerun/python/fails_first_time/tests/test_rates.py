import os

from exchange.rates import TABLE, rate


def test_pounds():
    assert rate("GBP") == 0.84


def test_francs():
    assert rate("CHF") == 0.95


def test_unknown_currency():
    assert rate("XYZ") is None


def test_table_is_there():
    assert os.path.getsize(TABLE) > 0
