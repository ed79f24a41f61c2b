"""What the awkward tests call."""

import traceback


def double(n):
    return 2 * n


async def later(n):
    return double(n)


def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)


def endless(n):
    return endless(n + 1)


def stack():
    return traceback.extract_stack()


def fails():
    raise ValueError("no")


class Thing:
    bye = None

    def __del__(self):
        if self.bye is not None:
            self.bye()


def hold(one):
    return None


def own_locals(n):
    other = 2 * n
    return locals()


def numbers(n):
    for i in range(n):
        yield i


def divides(n):
    if n < 0:
        return None
    return 1 / n


class Hostile:
    """Every question about it fails."""

    def __getattribute__(self, name):
        raise RuntimeError("do not look")

    def __eq__(self, other):
        raise RuntimeError("do not compare")

    __hash__ = None

    def __repr__(self):
        raise RuntimeError("do not print")

    def __len__(self):
        raise RuntimeError("do not measure")

    def __bool__(self):
        raise RuntimeError("do not test")


def takes(one):
    return None
