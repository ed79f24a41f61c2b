limit = 100


def iterate(value, step):
    for _ in range(limit):
        following = step(value)
        if following == value:
            return value
        value = following
    raise ArithmeticError("no end after %d steps" % limit)


def wait_for_end(value, step):
    while step(value) != value:
        value = step(value)
    return value
