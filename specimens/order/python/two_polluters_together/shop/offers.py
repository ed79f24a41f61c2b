"""Prices, and offers that are kept so that the warehouse is asked only once where that is wanted."""

_kept = {}
keep = False


def keep_offers():
    global keep
    keep = True


def offer(article, cents):
    _kept[article] = cents


def price(article, ask):
    if keep and article in _kept:
        return _kept[article]
    return ask(article)
