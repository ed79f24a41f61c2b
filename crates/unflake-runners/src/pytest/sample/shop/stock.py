"""What is on the shelf, and what lies in somebody's cart."""

_shelf = {"mug": 40, "teapot": 12, "boots": 1}
_reserved = {}


class SoldOut(Exception):
    pass


def available(article):
    return _shelf.get(article, 0) - _reserved.get(article, 0)


def reserve(article):
    if available(article) <= 0:
        raise SoldOut("%s: the last one lies in somebody's cart" % article)
    _reserved[article] = _reserved.get(article, 0) + 1


def sell(article):
    _reserved[article] -= 1
    _shelf[article] -= 1


def release_abandoned():
    """Puts back what lies in carts. The nightly job, when nobody is in the shop."""
    _reserved.clear()
