"""Records values at the entries and exits of the project's functions, to find invariants in them.

Functions of tests themselves are left out. Only `return` is an exit: a function that raises has
none. Of a frequent function the first calls are sampled, then every second, every fourth and so on:
the same calls in every run that makes as many.
"""

import os

from ..core.items import node_path
from .json_values import MAX_FIELDS, RowEncoder, variable_names

# Rows of one point: all of the first calls, then so many at each stride.
FIRST_ROWS, ROWS_PER_STRIDE, MAX_POINT_ROWS = 50, 10, 100
# In an attempt.
MAX_FUNCTIONS, MAX_ROWS = 2000, 20_000
# Sets of variables at one point: objects may have other fields each time.
MAX_SHAPES = 20
MAX_PARAMETERS = 200
VARARGS_FLAG, VARKEYWORDS_FLAG = 0x4, 0x8
LOCALS = ".<locals>."
SAMPLED = "values of frequently called functions were sampled"


class Point:
    """The entry or exit of a function, in the current attempt."""

    __slots__ = "word", "calls", "next", "stride", "rows", "numbers", "encoded"

    def __init__(self, word):
        self.word, self.numbers = word, {}
        self.encoded = {}  # By shape: variable names as JSON. Kept for the next attempts.
        self.clear()

    def clear(self):
        self.calls, self.next, self.stride, self.rows = 0, 1, 1, 0
        self.numbers.clear()
        if len(self.encoded) > 2 * MAX_SHAPES:
            self.encoded.clear()

    def samples_call(self):
        """Counts a call; whether its values are recorded."""
        self.calls += 1
        if self.calls < self.next or self.rows >= MAX_POINT_ROWS:
            return False
        self.rows += 1
        if self.rows >= FIRST_ROWS and not (self.rows - FIRST_ROWS) % ROWS_PER_STRIDE:
            self.stride *= 2
        self.next += self.stride
        return True


class FunctionPoints:
    __slots__ = "file", "function", "names", "entry", "exit", "is_used"

    def __init__(self, file, function, names):
        self.file, self.function, self.names, self.is_used = file, function, names, False
        self.entry, self.exit = Point("enter"), Point("exit")


class CallRecorder:
    def __init__(self, file):
        self._file, self._encoder = file, RowEncoder()
        self._realpath = os.path.realpath
        self._tests = set()  # File and name of each test that has begun.
        self._used, self._rows, self._point_count = [], 0, 0

    def points(self, code, file, function):
        """The points of a function; None for tests and for code without a name of its own."""
        if function[:1] == "<" or ".<" in function.replace(LOCALS, "."):
            return None
        outer = function.partition(LOCALS)[0].rpartition(".")[2]
        if (file, outer) in self._tests:
            return None
        count = code.co_argcount + code.co_kwonlyargcount
        count += bool(code.co_flags & VARARGS_FLAG) + bool(code.co_flags & VARKEYWORDS_FLAG)
        return FunctionPoints(file, function, code.co_varnames[: min(count, MAX_PARAMETERS)])

    def begin(self, item):
        for points in self._used:
            points.is_used = False
            points.entry.clear()
            points.exit.clear()
        self._used, self._rows, self._point_count = [], 0, 0
        name = getattr(item, "originalname", None) or item.name
        self._tests.add((self._realpath(node_path(item)), name))

    def end(self):
        points = [point for one in self._used for point in (one.entry, one.exit)]
        if any(point.calls > point.rows or point.rows >= MAX_POINT_ROWS for point in points):
            self._file.gap("behaviour", SAMPLED)
        if self._encoder.has_omitted_fields:
            self._file.gap("behaviour", "objects with more than %d fields were not recorded" % MAX_FIELDS)
        self._encoder.forget()

    def enter(self, points, frame):
        """Whether further calls may be sampled."""
        return self._sample(points, points.entry, frame)

    def leave(self, points, frame, value):
        return self._sample(points, points.exit, frame, value)

    def may_leave(self, points):
        return points.exit.rows < MAX_POINT_ROWS

    def _sample(self, points, point, frame, *returned):
        if not points.is_used:
            if len(self._used) >= MAX_FUNCTIONS:
                self._file.gap("behaviour", "values were recorded in the first %d functions only" % MAX_FUNCTIONS)
                return False
            points.is_used = True
            self._used.append(points)
        if not point.samples_call():
            return point.rows < MAX_POINT_ROWS
        if self._rows >= MAX_ROWS:
            self._file.gap("behaviour", "values were recorded at the first %d program points only" % MAX_ROWS)
            return False
        self._rows += 1
        shape, row = self._encoder.row(frame.f_locals, points.names, *returned)
        number = point.numbers.get(shape)
        if number is None and self._file.file_number(points.file) is not None:
            number = self._add_point(points, point, shape)
        if number is not None:
            self._file.buffer('["row",%d,[%s]]\n' % (number, row))
        return True

    def _add_point(self, points, point, shape):
        if len(point.numbers) >= MAX_SHAPES:
            self._file.gap("behaviour", "some calls of functions whose objects change their fields are missing")
            return None
        self._point_count += 1
        number = self._point_count
        encoded = point.encoded.get(shape)
        if encoded is None:
            fields = [points.function, point.word, variable_names(points.names + ("return",), shape)]
            encoded = point.encoded[shape] = self._file.encode(fields)[1:]
        self._file.buffer('["point",%d,%d,%s' % (number, self._file.file_number(points.file), encoded))
        point.numbers[shape] = number
        return number
