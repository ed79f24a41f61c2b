"""Short texts of values: equal for equal values, without addresses, running no project code."""

import collections
import datetime
import decimal
import enum
import fractions
import types
import uuid

from .introspect import bounded, class_body, class_mro, class_name, full_class_name, is_subclass, module_globals

MAX_LENGTH = 60
MAX_DEPTH = 3
PLAIN_ZONES = frozenset(("datetime.timezone", "zoneinfo.ZoneInfo"))
# Not all exceptions: a signal that arrives during a read may raise the test's own.
READ_ERRORS = TypeError, ValueError, AttributeError, RuntimeError, LookupError, ArithmeticError


class ValueText:
    """Formats values. It remembers for each type how its values are formatted.

    A formatter is called with a value, the number of characters to aim at, and how deep to go.
    """

    def __init__(self):
        self._formatters = {}

    def forget(self):
        self._formatters.clear()

    def __call__(self, value):
        return bounded(self._format(value, MAX_LENGTH, MAX_DEPTH), MAX_LENGTH)

    def _format(self, value, room, depth):
        kind = type(value)
        known = self._formatters.get(id(kind))
        if known is None:
            # Kept with the type itself, so that no other type gets its address.
            known = self._formatters[id(kind)] = self._formatter(kind), kind
        try:
            return known[0](value, room, depth)
        except READ_ERRORS:
            return "<%s>" % full_class_name(kind)

    def _formatter(self, kind):
        for base, formatter in (
            (bool, lambda value, room, depth: "True" if value else "False"),
            (type(None), lambda value, room, depth: "None"),
            (enum.Enum, _enum),
            (int, _int),
            (float, lambda value, room, depth: float.__repr__(value)),
            (complex, lambda value, room, depth: complex.__repr__(value)),
            (str, lambda value, room, depth: _string(str, value, room)),
            (bytes, lambda value, room, depth: _string(bytes, value, room)),
            (bytearray, lambda value, room, depth: _string(bytes, bytes(value[: room + 1]), room)),
            (range, lambda value, room, depth: range.__repr__(value)),
            (tuple, self._collection(tuple, "()")),
            (list, self._collection(list, "[]")),
            (set, self._collection(set, "{}")),
            (frozenset, self._collection(frozenset, "{}")),
            (collections.deque, self._collection(collections.deque, "[]")),
            (dict, self._mapping),
            (BaseException, self._exception),
            (datetime.datetime, lambda value, room, depth: _time(datetime.datetime, value)),
            (datetime.date, lambda value, room, depth: datetime.date.isoformat(value)),
            (datetime.time, lambda value, room, depth: _time(datetime.time, value)),
            (datetime.timedelta, lambda value, room, depth: datetime.timedelta.__str__(value)),
            (decimal.Decimal, lambda value, room, depth: decimal.Decimal.__str__(value)),
        ):
            if is_subclass(kind, base):
                return formatter
        if kind is fractions.Fraction or kind is uuid.UUID:
            return lambda value, room, depth: str(value)
        if class_body(kind).get("__module__") in ("pathlib", "pathlib._local"):
            return lambda value, room, depth: "Path(%s)" % _string(str, str(value), room)
        if is_subclass(kind, type):
            return lambda value, room, depth: "<class %s>" % full_class_name(value)
        if full_class_name(kind) == "numpy.ndarray":
            return self._array
        if kind is types.FunctionType or kind is types.BuiltinFunctionType:
            return lambda value, room, depth: "<function %s>" % value.__qualname__
        if is_subclass(kind, types.ModuleType):
            return lambda value, room, depth: "<module %s>" % module_globals(value).get("__name__")
        return self._object_formatter(kind)

    def _object_formatter(self, kind):
        """For types that are none of the above."""
        text = "<%s>" % full_class_name(kind)
        return lambda value, room, depth: text

    def _collection(self, base, brackets):
        def formatter(value, room, depth):
            return self._items(brackets, base.__len__(value), base.__iter__(value), room, depth)

        return formatter

    def _array(self, value, room, depth):
        if value.dtype.hasobject:
            return "<numpy.ndarray>"
        return self._items("[]", value.size, iter(value.ravel()[:room].tolist()), room, depth)

    def _mapping(self, value, room, depth):
        return self._items("{}", dict.__len__(value), iter(dict.items(value)), room, depth, True)

    def _items(self, brackets, length, values, room, depth, pairs=False):
        """All items in iteration order, or as many as fit and the total number."""
        if not length:
            return brackets if brackets != "{}" or pairs else "set()"
        if not depth:
            return "%s%d items%s" % (brackets[0], length, brackets[1])
        parts, room = [], room - 12
        for one in values:
            if pairs:
                part = "%s: %s" % (self._format(one[0], room, depth - 1), self._format(one[1], room, depth - 1))
            else:
                part = self._format(one, room, depth - 1)
            room -= len(part) + 2
            if room < 0 and parts or room < -20:
                break
            parts.append(part)
        if len(parts) < length:
            parts.append("… %d items" % length)
        elif brackets == "()" and length == 1:
            parts[0] += ","
        return brackets[0] + ", ".join(parts) + brackets[1]

    def _exception(self, value, room, depth):
        arguments = BaseException.args.__get__(value)
        shown = ", ".join([self._format(one, room, depth - 1) for one in arguments[:3]]) if depth else "…"
        return "%s(%s)" % (class_name(type(value)), shown)


def _int(value, room, depth):
    if value.bit_length() > 180:
        return "<int of %d bits>" % value.bit_length()
    return int.__repr__(value)


def _enum(value, room, depth):
    name = enum_name(value)
    return "<%s>" % class_name(type(value)) if name is None else "%s.%s" % (class_name(type(value)), name)


def enum_name(value):
    """The name of a member of an enumeration, without any code of its class."""
    for owner in class_mro(type(value)):
        if "__dict__" in class_body(owner):
            return class_body(owner)["__dict__"].__get__(value).get("_name_")
    return None


def _string(base, value, room):
    length = base.__len__(value)
    if length <= room - 8:
        return base.__repr__(value)
    return "%s… %d long" % (base.__repr__(base.__getitem__(value, slice(0, max(room - 24, 8)))), length)


def _time(base, value):
    zone = value.tzinfo
    if zone is not None and full_class_name(type(zone)) not in PLAIN_ZONES:
        return "<%s>" % full_class_name(type(value))
    return base.isoformat(value)
