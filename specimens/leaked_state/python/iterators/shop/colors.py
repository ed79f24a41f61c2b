COLORS = iter(["red", "green", "blue"])


def next_color():
    return next(COLORS)


def numbers():
    number = 0
    while True:
        number += 1
        yield number


NUMBERS = numbers()
