import random

random.seed(2209)


def throw():
    return random.randint(1, 6)


def score(dice):
    return sum(dice) * (2 if len(set(dice)) == 1 else 1)
