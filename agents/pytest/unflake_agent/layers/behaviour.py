"""Values at the entries and exits of the project's functions, for invariants to be found in. PYTEST_DONT_REWRITE

Not at those of tests themselves: what they do is what is compared. No code of the project runs to look at a value. An exit is a
`return`; what is left by an exception has none.

Of a function that is called often, the first calls are looked at, then every second, every fourth and so on: always the same ones in
runs that call it as often.
"""

import os

from .json_values import MOST_FIELDS, Values, variables

# Rows of one side of a function: all of the first ones, then so many at each stride.
FIRST, AT_A_STRIDE, MOST_ROWS = 50, 10, 100
# In an attempt.
MOST_FUNCTIONS, MOST_ROWS_IN_ALL = 2000, 20_000
# Sets of variables that are told apart at one side of a function: objects may have other fields each time.
MOST_SHAPES = 20
MOST_PARAMETERS = 200
WITH_REST, WITH_KEYWORDS = 0x4, 0x8
LOCALS = ".<locals>."
OFTEN = "of functions that were called often, values were looked at in some calls only"


class Side:
    """Entry or exit of a function, in the attempt that is going on."""

    __slots__ = "word", "calls", "next", "stride", "kept", "numbers", "variables"

    def __init__(self, word):
        self.word, self.numbers = word, {}
        self.variables = {}  # By what there is to be seen: names, as JSON. Kept, because the next attempt has the same.
        self.clear()

    def clear(self):
        self.calls, self.next, self.stride, self.kept = 0, 1, 1, 0
        self.numbers.clear()
        if len(self.variables) > 2 * MOST_SHAPES:
            self.variables.clear()

    def is_wanted(self):
        """Counts a call; whether its values are to be told."""
        self.calls += 1
        if self.calls < self.next or self.kept >= MOST_ROWS:
            return False
        self.kept += 1
        if self.kept >= FIRST and not (self.kept - FIRST) % AT_A_STRIDE:
            self.stride *= 2
        self.next += self.stride
        return True


class Points:
    """A function."""

    __slots__ = "file", "function", "names", "entry", "exit", "is_used"

    def __init__(self, file, function, names):
        self.file, self.function, self.names, self.is_used = file, function, names, False
        self.entry, self.exit = Side("enter"), Side("exit")


class Calls:
    def __init__(self, sheet):
        self._sheet, self._values = sheet, Values()
        self._real = os.path.realpath
        self._tests = set()  # File and name of each test that has begun.
        self._used, self._rows, self._numbers = [], 0, 0

    def points(self, code, file, function):
        """What is to be looked at in a function; None for tests and for what has no name of its own."""
        if function[:1] == "<" or ".<" in function.replace(LOCALS, "."):
            return None
        outer = function.partition(LOCALS)[0].rpartition(".")[2]
        if (file, outer) in self._tests:
            return None
        count = code.co_argcount + code.co_kwonlyargcount
        count += bool(code.co_flags & WITH_REST) + bool(code.co_flags & WITH_KEYWORDS)
        return Points(file, function, code.co_varnames[: min(count, MOST_PARAMETERS)])

    def begin(self, item):
        for points in self._used:
            points.is_used = False
            points.entry.clear()
            points.exit.clear()
        self._used, self._rows, self._numbers = [], 0, 0
        name = getattr(item, "originalname", None) or item.name
        self._tests.add((self._real(str(getattr(item, "path", None) or item.fspath)), name))

    def end(self):
        if any(side.calls > side.kept or side.kept >= MOST_ROWS for one in self._used for side in (one.entry, one.exit)):
            self._sheet.gap("behaviour", OFTEN)
        if self._values.left_out:
            self._sheet.gap("behaviour", "objects of which there is too much (more than %d fields) were not looked into" % MOST_FIELDS)
        self._values.forget()

    def enter(self, points, frame):
        """Whether further calls may be of interest."""
        return self._look(points, points.entry, frame)

    def leave(self, points, frame, value):
        return self._look(points, points.exit, frame, value)

    def may_leave(self, points):
        return points.exit.kept < MOST_ROWS

    def _look(self, points, side, frame, *returned):
        if not points.is_used:
            if len(self._used) >= MOST_FUNCTIONS:
                self._sheet.gap("behaviour", "values were looked at in the first %d functions only" % MOST_FUNCTIONS)
                return False
            points.is_used = True
            self._used.append(points)
        if not side.is_wanted():
            return side.kept < MOST_ROWS
        if self._rows >= MOST_ROWS_IN_ALL:
            self._sheet.gap("behaviour", "values were looked at in the first %d places only" % MOST_ROWS_IN_ALL)
            return False
        self._rows += 1
        shape, row = self._values.row(frame.f_locals, points.names, *returned)
        number = side.numbers.get(shape)
        if number is None:
            number = self._number(points, side, shape)
        if number is not None:
            self._sheet.hold('["row",%d,[%s]]\n' % (number, row))
        return True

    def _number(self, points, side, shape):
        if len(side.numbers) >= MOST_SHAPES:
            self._sheet.gap("behaviour", "of functions whose objects have other fields each time, some calls are missing")
            return None
        self._numbers += 1
        number = self._numbers
        known = side.variables.get(shape)
        if known is None:
            names = [points.function, side.word, variables(points.names + ("return",), shape)]
            known = side.variables[shape] = self._sheet.line(names)[1:]
        self._sheet.hold('["point",%d,%d,%s' % (number, self._sheet.file(points.file), known))
        side.numbers[shape] = number
        return number
