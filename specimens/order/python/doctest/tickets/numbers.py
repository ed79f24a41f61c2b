_last = [0]


def draw():
    """The next ticket.

    >>> draw()
    1
    >>> draw()
    2
    """
    _last[0] += 1
    return _last[0]


def is_drawn(number):
    return 0 < number <= _last[0]


def digits(number):
    """The digits that are shown.

    >>> digits(7)
    '007'
    """
    return f"{number:03}"
