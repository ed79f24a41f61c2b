"""Texts of expressions and operands, the same under every interpreter."""

import ast
import collections
import dataclasses
import datetime
import decimal
import enum
import pathlib

import pytest
from unflake_agent.assertions.expression_text import expression_text
from unflake_agent.assertions.operand_text import MAX_FORMATTED, MAX_LENGTH, OperandText

# In canonical form: any layout of them gives the same text.
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


@pytest.mark.parametrize("expected", EXPRESSIONS)
def test_expressions_round_trip(expected):
    tree = ast.parse(expected, mode="eval").body
    assert expression_text(tree) == expected
    assert ast.dump(ast.parse(expression_text(tree), mode="eval").body) == ast.dump(tree)


@pytest.mark.parametrize("expected", [one for one in EXPRESSIONS if "'" not in one and "lambda" not in one])
def test_layout_does_not_matter(expected):
    wide = "(\n  " + expected.replace(", ", " ,\n ").replace(" == ", "  ==  ") + "  # Why.\n)"
    assert expression_text(ast.parse(wide, mode="eval").body) == expected


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


# A value and its text, made without running code of the value.
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


@pytest.mark.parametrize("value, expected", VALUES, ids=[expected for _, expected in VALUES])
def test_values_as_text(value, expected):
    assert OperandText()(value) == expected


def test_long_texts_are_bounded_and_still_differ():
    text = OperandText()
    long, other = ["x" * 10] * 200, ["x" * 10] * 199 + ["y" * 10]
    assert len(text(long)) < MAX_LENGTH + 60 and text(long) != text(other) and text(long) == text(list(long))
    string = "a" * 10 * MAX_FORMATTED
    assert len(text(string)) < MAX_LENGTH + 60 and text(string) != text(string + "b")
    assert text(string[:-1] + "b") != text(string)
    endless = []
    endless.append(endless)
    assert len(text(endless)) < MAX_LENGTH
    many = {"k%d" % n: n for n in range(100_000)}
    assert text(many) == "{100000 items}"
    assert text(10**5000) == "<int of 16610 bits>"


def test_truth_of_project_objects_is_not_evaluated():
    text = OperandText()
    assert text.truth([]) == "False" and text.truth(Plain()) == "<%s.Plain>" % __name__
