"""How much of a currency one euro buys. The table is read when somebody first asks."""
import os

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rates.txt")

_rates = None


def rate(currency):
    known = _rates or {}
    if _rates is None:
        _load()
    return known.get(currency)


def _load():
    global _rates
    with open(TABLE) as table:
        _rates = {currency: float(value) for currency, value in (line.split() for line in table)}
