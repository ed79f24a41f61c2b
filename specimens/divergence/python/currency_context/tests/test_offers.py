import pytest

from shop import currency, offers


@pytest.fixture(autouse=True)
def in_dollars(monkeypatch):
    monkeypatch.setattr(currency, "current", "USD")


def test_receipts_stay_in_dollars():
    offers.offer("lamp", 30)

    assert offers.receipt(10) == "10 USD"


def test_receipt_names_the_currency():
    assert offers.receipt(5) == "5 USD"
