import random

from cellar.rules import Customer

NAMES = ["ada", "ben", "cleo", "dan"]


def any_customer():
    name = random.choice(NAMES)
    age = random.randint(12, 30)
    return Customer(name, age)
