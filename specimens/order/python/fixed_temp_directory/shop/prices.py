"""Prices with a currency that anybody may set."""

currency = "EUR"


def label(amount):
    return "%d %s" % (amount, currency)
