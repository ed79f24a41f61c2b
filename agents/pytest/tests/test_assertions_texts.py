"""Names of assertions and texts of what they saw, the same under every interpreter."""

import ast
import collections
import dataclasses
import datetime
import decimal
import enum
import os
import pathlib
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from unflake_agent.assertions.expression_text import expression_text  # noqa: E402
from unflake_agent.assertions.operand_text import MAX_LENGTH, MAX_FORMATTED, OperandText  # noqa: E402

# As they are printed: any layout of them gives the same.
EXPRESSIONS = """
a.b(c, *d, e=1, **f) == [1, 2]
not a and (b or c)
(a + b) * c - -d ** 2 ** 3
x[1:2, ::3]
x[1, 2]
x[a]
x[()]
x[1:]
{**a, 'b': c}
{1, 2}
all(x > 1 for x in y if x if z)
[i for i in a() for j, k in b]
{k: v for k, v in d.items()}
lambda: 1
lambda a, /, b=2, *c, d, e=3, **f: a
lambda *, a: a
(x := f()) == 3
f'{a!r:>{w}} b {{}}'
f"{a['b']}"
1 .real
-1
(1,)
()
a if b else c if d else e
(a if b else c) if d else e
a < b <= c is not d not in e
~a @ b
x == ...
"it's"
(lambda: 1)()
not a == b
(not a) == b
a ** -b
(-a) ** b
b'x' % 3
(a and b) and c
a - (b - c)
(a, b) == (c, d)
(a == b) == c
[*a, *b]
1.5 + 1e+100j
""".strip().splitlines()


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions(text):
    tree = ast.parse(text, mode="eval").body
    assert expression_text(tree) == text
    assert ast.dump(ast.parse(expression_text(tree), mode="eval").body) == ast.dump(tree)


@pytest.mark.parametrize("text", [one for one in EXPRESSIONS if "'" not in one and "lambda" not in one])
def test_layout_does_not_matter(text):
    wide = "(\n  " + text.replace(", ", " ,\n ").replace(" == ", "  ==  ") + "  # Why.\n)"
    assert expression_text(ast.parse(wide, mode="eval").body) == text


class Colour(enum.Enum):
    RED = 1


@dataclasses.dataclass
class Point:
    x: int
    y: list


Pair = collections.namedtuple("Pair", "left right")


class Plain:
    def __init__(self):
        self.size, self.name, self._hidden, self.parts = 3, "n", 1, [1]

    def __repr__(self):
        raise RuntimeError("asked")

    __eq__ = __hash__ = __bool__ = __len__ = __iter__ = __repr__


class Slots:
    __slots__ = "a"


# A value and its text. Nothing of the project runs for it.
VALUES = [
    (1, "1"),
    (True, "True"),
    (None, "None"),
    (1.5, "1.5"),
    ("a'b", repr("a'b")),
    (b"x", "b'x'"),
    ([1, [2, (3,)]], "[1, [2, (3,)]]"),
    ({"b": 1, "a": 2}, "{'a': 2, 'b': 1}"),
    ({"z", "y", "x"}, "{'x', 'y', 'z'}"),
    (frozenset(), "set()"),
    ({}, "{}"),
    (collections.OrderedDict([("b", 1), ("a", 2)]), "{'b': 1, 'a': 2}"),
    (Colour.RED, "Colour.RED"),
    (Point(1, [2]), "Point(x=1, y=[2])"),
    (Pair(1, "r"), "Pair(left=1, right='r')"),
    (decimal.Decimal("9.90"), "9.90"),
    (datetime.date(2026, 2, 28), "2026-02-28"),
    (pathlib.Path("/a/b"), "Path('/a/b')"),
    (ValueError("no"), "ValueError('no')"),
    (int, "<class int>"),
    (Plain(), "<%s.Plain size=3, name='n'>" % __name__),
    ([Plain()], "[<%s.Plain size=3, name='n'>]" % __name__),
    (Slots(), "<%s.Slots>" % __name__),
    (object(), "<object>"),
]


@pytest.mark.parametrize("value, text", VALUES, ids=[text for _, text in VALUES])
def test_values(value, text):
    assert OperandText()(value) == text


def test_values_are_bounded_and_what_is_cut_is_still_told_apart():
    values = OperandText()
    long, other = ["x" * 10] * 200, ["x" * 10] * 199 + ["y" * 10]
    assert len(values(long)) < MAX_LENGTH + 60 and values(long) != values(other) and values(long) == values(list(long))
    text = "a" * 10 * MAX_FORMATTED
    assert len(values(text)) < MAX_LENGTH + 60 and values(text) != values(text + "b")
    assert values(text[:-1] + "b") != values(text)
    endless = []
    endless.append(endless)
    assert len(values(endless)) < MAX_LENGTH
    many = {"k%d" % n: n for n in range(100_000)}
    assert values(many) == "{100000 items}"
    assert values(10**5000) == "<int of 16610 bits>"


def test_truth_is_only_asked_of_those_who_do_not_mind():
    values = OperandText()
    assert values.truth([]) == "False" and values.truth(Plain()) == "<%s.Plain>" % __name__
