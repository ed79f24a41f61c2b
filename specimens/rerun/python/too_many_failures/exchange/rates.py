"""How much of a currency one euro buys."""
from fractions import Fraction

_per_euro = {
    "EUR": Fraction(1),
    "CHF": Fraction(95, 100),
    "GBP": Fraction(84, 100),
    "SEK": Fraction(115, 10),
    "NOK": Fraction(118, 10),
    "DKK": Fraction(746, 100),
}


def rate(source, target):
    return _per_euro[target] / _per_euro[source]


def convert(amount, source, target):
    return amount * rate(source, target)


def decimals(currency):
    return 0 if currency in ("SEK", "NOK") else 2
