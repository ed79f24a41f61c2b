"""Texts of values and keys: what they contain, without any code of the project."""

import collections
import datetime
import enum

import pytest
from unflake_agent.state.repr import describe, describe_key


class Hostile:
    def __repr__(self):
        raise RuntimeError("code of the project ran")

    __str__ = __iter__ = __len__ = __hash__ = __repr__


class Name(Hostile, str):
    pass


class Count(Hostile, int):
    pass


class Ratio(Hostile, float):
    pass


class Signature(Hostile, tuple):
    pass


class Names(Hostile, frozenset):
    pass


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    HIGH = 3


Point = collections.namedtuple("Point", "x y")


# Made in the test: pytest itself asks parameters for their class.
VALUES = {
    "Name('vat')": lambda: Name("vat"),
    "Count(7)": lambda: Count(7),
    "Ratio(0.5)": lambda: Ratio(0.5),
    "Signature((<class int>, <class str>))": lambda: Signature((int, str)),
    "Names({'a'})": lambda: Names(["a"]),
    "Point((1, 2))": lambda: Point(1, 2),
    "Colour.RED": lambda: Colour.RED,
    "Level.HIGH": lambda: Level.HIGH,
}


@pytest.mark.parametrize("text", VALUES)
def test_value_of_a_built_in_type_is_shown_whatever_its_class_says(text):
    texts = describe(VALUES[text]()), describe_key(VALUES[text]())
    assert texts == (__name__ + "." + text,) * 2


def test_dates_are_shown():
    assert describe(datetime.date(2026, 11, 18)) == "<date 2026-11-18>"
    assert describe_key((datetime.timedelta(1),)) == "(<timedelta 1 day, 0:00:00>,)"
