"""Test data: files full of random bytes.

Every run uses the next seed, so that each tries other data and can still be repeated.
"""
import os
import random

NEXT_SEED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "next_seed")


def take_seed():
    with open(NEXT_SEED) as file:
        seed = int(file.read())
    with open(NEXT_SEED, "w") as file:
        file.write("%d\n" % (seed + 1))
    return seed


bytes_of_chance = random.Random(take_seed())


def random_content(length):
    return bytes(bytes_of_chance.getrandbits(8) for _ in range(length))
