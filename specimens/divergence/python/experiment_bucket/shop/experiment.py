import random

SHARES = {"short-checkout": 40, "dark-mode": 0}
BUCKET = random.randrange(100)


def takes_part(name):
    return BUCKET < SHARES[name]
