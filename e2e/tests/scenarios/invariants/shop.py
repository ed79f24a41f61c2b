"""Ten small functions, as in Shop.java."""


def sign(n):
    return -1 if n < 0 else 1 if n > 0 else 0


def twice(n):
    return 2 * n + 1


def clamp(n, low, high):
    return max(low, min(n, high))


def constant(text):
    return "fixed"


def find(n):
    return None if n % 2 else "t%d" % n


def nothing(n):
    return None


def span(low, high):
    return high - low


def size(items):
    return len(items)


def average(a, b):
    return (a + b) / 2


class Account:
    def __init__(self):
        self.balance = 0

    def deposit(self, amount):
        self.balance += amount
        return self.balance
