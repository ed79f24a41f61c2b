"""Values as short texts: the same for equal values, without addresses, made without running code of the project.
PYTEST_DONT_REWRITE"""

import collections
import datetime
import decimal
import enum
import fractions
import types
import uuid

from .introspect import class_body, class_mro, class_name, is_a, module_globals

MOST = 60
DEPTH = 3
PLAIN_ZONES = frozenset(("datetime.timezone", "zoneinfo.ZoneInfo"))
# Not all exceptions: a signal that arrives now may raise the test's own.
SURPRISES = TypeError, ValueError, AttributeError, RuntimeError, LookupError, ArithmeticError


class Texts:
    """Knows for every type how it is shown."""

    def __init__(self):
        self._ways = {}

    def forget(self):
        self._ways.clear()

    def __call__(self, value):
        text = self._show(value, MOST, DEPTH)
        return text if len(text) <= MOST else text[: MOST - 1] + "…"

    def _show(self, value, most, depth):
        kind = type(value)
        way = self._ways.get(id(kind))
        if way is None:
            # With the type itself, so that its address stays its own.
            way = self._ways[id(kind)] = self._way(kind), kind
        try:
            return way[0](value, most, depth)
        except SURPRISES:
            return "<%s>" % _name(kind)

    def _way(self, kind):
        for base, way in (
            (bool, lambda value, most, depth: "True" if value else "False"),
            (type(None), lambda value, most, depth: "None"),
            (enum.Enum, _enum),
            (int, _int),
            (float, lambda value, most, depth: float.__repr__(value)),
            (complex, lambda value, most, depth: complex.__repr__(value)),
            (str, lambda value, most, depth: _cut(str, value, most)),
            (bytes, lambda value, most, depth: _cut(bytes, value, most)),
            (bytearray, lambda value, most, depth: _cut(bytes, bytes(value[: most + 1]), most)),
            (range, lambda value, most, depth: range.__repr__(value)),
            (tuple, self._items(tuple, "()")),
            (list, self._items(list, "[]")),
            (set, self._items(set, "{}")),
            (frozenset, self._items(frozenset, "{}")),
            (collections.deque, self._items(collections.deque, "[]")),
            (dict, self._mapping),
            (BaseException, self._exception),
            (datetime.datetime, lambda value, most, depth: _moment(datetime.datetime, value)),
            (datetime.date, lambda value, most, depth: datetime.date.isoformat(value)),
            (datetime.time, lambda value, most, depth: _moment(datetime.time, value)),
            (datetime.timedelta, lambda value, most, depth: datetime.timedelta.__str__(value)),
            (decimal.Decimal, lambda value, most, depth: decimal.Decimal.__str__(value)),
        ):
            if is_a(kind, base):
                return way
        if kind is fractions.Fraction or kind is uuid.UUID:
            return lambda value, most, depth: str(value)
        if class_body(kind).get("__module__") in ("pathlib", "pathlib._local"):
            return lambda value, most, depth: "Path(%s)" % _cut(str, str(value), most)
        if is_a(kind, type):
            return lambda value, most, depth: "<class %s>" % _name(value)
        if _name(kind) == "numpy.ndarray":
            return self._array
        if kind is types.FunctionType or kind is types.BuiltinFunctionType:
            return lambda value, most, depth: "<function %s>" % value.__qualname__
        if is_a(kind, types.ModuleType):
            return lambda value, most, depth: "<module %s>" % module_globals(value).get("__name__")
        return self._other(kind)

    def _other(self, kind):
        """How to show an object that is none of the usual."""
        text = "<%s>" % _name(kind)
        return lambda value, most, depth: text

    def _items(self, base, brackets):
        def way(value, most, depth):
            return self._row(brackets, base.__len__(value), base.__iter__(value), most, depth)

        return way

    def _array(self, value, most, depth):
        if value.dtype.hasobject:
            return "<numpy.ndarray>"
        return self._row("[]", value.size, iter(value.ravel()[:most].tolist()), most, depth)

    def _mapping(self, value, most, depth):
        return self._row("{}", dict.__len__(value), iter(dict.items(value)), most, depth, True)

    def _row(self, brackets, length, values, most, depth, pairs=False):
        """All items, or else as many as fit and how many there are, in the order in which a loop would meet them."""
        if not length:
            return brackets if brackets != "{}" or pairs else "set()"
        if not depth:
            return "%s%d items%s" % (brackets[0], length, brackets[1])
        parts, room = [], most - 12
        for one in values:
            if pairs:
                part = "%s: %s" % (self._show(one[0], room, depth - 1), self._show(one[1], room, depth - 1))
            else:
                part = self._show(one, room, depth - 1)
            room -= len(part) + 2
            if room < 0 and parts or room < -20:
                break
            parts.append(part)
        if len(parts) < length:
            parts.append("… %d items" % length)
        elif brackets == "()" and length == 1:
            parts[0] += ","
        return brackets[0] + ", ".join(parts) + brackets[1]

    def _exception(self, value, most, depth):
        arguments = BaseException.args.__get__(value)
        shown = ", ".join([self._show(one, most, depth - 1) for one in arguments[:3]]) if depth else "…"
        return "%s(%s)" % (class_name(type(value)), shown)


def _name(kind, module=type.__dict__["__module__"].__get__):
    return class_name(kind) if module(kind) == "builtins" else "%s.%s" % (module(kind), class_name(kind))


def _int(value, most, depth):
    if value.bit_length() > 180:
        return "<int of %d bits>" % value.bit_length()
    return int.__repr__(value)


def _enum(value, most, depth):
    for owner in class_mro(type(value)):
        if "__dict__" in class_body(owner):
            name = class_body(owner)["__dict__"].__get__(value).get("_name_")
            return "%s.%s" % (class_name(type(value)), name)
    return "<%s>" % class_name(type(value))


def _cut(base, value, most):
    length = base.__len__(value)
    if length <= most - 8:
        return base.__repr__(value)
    return "%s… %d long" % (base.__repr__(base.__getitem__(value, slice(0, max(most - 24, 8)))), length)


def _moment(base, value):
    zone = value.tzinfo
    if zone is not None and _name(type(zone)) not in PLAIN_ZONES:
        return "<%s>" % _name(type(value))
    return base.isoformat(value)
