import random

LARGE = 60


def describe():
    number = random.randrange(100)
    if number >= LARGE:
        return "a large number"
    return "a small number"
