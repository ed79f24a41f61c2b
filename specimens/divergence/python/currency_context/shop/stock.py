import random


class SoldOut(Exception):
    pass


def check(item):
    """Asks the warehouse, where other customers are at work too."""
    left = random.randrange(10)
    if left < 3:
        raise SoldOut(item)
    return left
