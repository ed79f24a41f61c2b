import pytest

from money.money import Money, in_small_coins


class TestSwitzerland:
    @pytest.fixture(scope="class", autouse=True)
    def francs(self):
        Money.currency = "CHF"

    def test_is_written_out(self):
        assert str(Money(1990)) == "19.90 CHF"

    def test_rounds_to_five_cents(self):
        assert in_small_coins(Money(1992)).cents == 1990


class TestDefault:
    def test_is_the_euro(self):
        assert Money(1).currency == "EUR"

    def test_is_written_out(self):
        assert str(Money(1990)) == "19.90 EUR"

    def test_cents_have_two_digits(self):
        assert str(Money(5)).startswith("0.05")


def test_nothing():
    assert Money(0).cents == 0
