"""Values as JSON, with the fields of objects one step deep, without running code of the project. PYTEST_DONT_REWRITE

Made as texts right away: there are so many of them that anything else would take several times as long.
"""

import collections
import decimal
import fractions
import json
import types

from ..common.introspect import class_body, class_mro, class_name, dictionary, is_a

MOST_TEXT = 100
# Of one object; and in a row of so many values there are no fields of further objects.
MOST_FIELDS, MANY = 30, 300
LARGEST = 1 << 63
SIZED = list, tuple, dict, set, frozenset, str, bytes, bytearray, collections.deque, range
# What has fields that say nothing about the work that is done.
OPAQUE = type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.CodeType
NUMBERS = {
    decimal.Decimal: decimal.Decimal.__str__,
    float: float.__repr__,
    complex: complex.__repr__,
}
GONE, NO_FIELDS, ONLY_TEXTS = object(), (), frozenset((str,))
QUOTED = json.encoder.encode_basestring
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Kind:
    """How values of a type are shown, and where they have their fields."""

    __slots__ = "kind", "show", "has_fields", "fields", "slots"

    def __init__(self, kind):
        self.kind = kind  # So that its address stays its own.
        self.show = _way(kind)
        self.fields, self.slots = None, ()
        if not any(is_a(kind, base) for base in (*OPAQUE, *SIZED, *NUMBERS, int, type(None))):
            self.fields, self.slots = dictionary(kind), _slots(kind)
        self.has_fields = self.fields is not None or bool(self.slots)


class Values:
    def __init__(self):
        self._kinds, self._shows = {}, {}
        self.left_out = False  # Whether there was an object of which there is too much.

    def forget(self):
        self._kinds.clear()
        self._shows.clear()
        self.left_out = False

    def row(self, local, names, *returned):
        """What there is to be seen, for `variables`; and the values, as JSON."""
        shape, row = [], []
        for name in names:
            value = local.get(name, GONE)
            shape.append(self._add(row, value) if value is not GONE else None)
        if returned:
            shape.append(self._add(row, returned[0]))
        return tuple(shape), ",".join(row)

    def _add(self, row, value):
        """Names of the fields of a value, which are added with it."""
        kind = self._kinds.get(id(type(value))) or self._learn(type(value))
        row.append(kind.show(value))
        if not kind.has_fields:
            return NO_FIELDS
        if len(row) > MANY:
            self.left_out = True
            return NO_FIELDS
        names, inners = NO_FIELDS, NO_FIELDS
        if kind.fields is not None:
            fields = kind.fields(value)
            if type(fields) is dict and len(fields) <= MOST_FIELDS and ONLY_TEXTS.issuperset(map(type, fields)):
                names, inners = tuple(fields), tuple(fields.values())
            else:
                self.left_out = True
        for name, look in kind.slots:
            try:
                inners += (look(value),)
                names += (name,)
            except AttributeError:
                pass
        shows = self._shows
        for inner in inners:
            show = shows.get(id(type(inner))) or self._learn(type(inner)).show
            row.append(show(inner))
        return names

    def _learn(self, kind):
        known = self._kinds[id(kind)] = Kind(kind)
        self._shows[id(kind)] = known.show
        return known


def variables(names, shape):
    """Names for the values of a row: of the parameters, and of what is returned where it is an exit."""
    found = []
    for name, fields in zip(names, shape):
        if fields is not None:
            found.append(name)
            found.extend("%s.%s" % (name, field) for field in fields)
    return found


def _way(kind):
    if kind is bool:
        return lambda value: "true" if value else "false"
    if kind is type(None):
        return lambda value: "null"
    if kind is int:
        return lambda value: int.__repr__(value) if -LARGEST <= value < LARGEST else _json(type="int", text=_digits(value))
    if kind is float:
        return lambda value: float.__repr__(value) if value - value == 0 else _json(type="float", text=float.__repr__(value))
    if kind is str:
        return lambda value: QUOTED(value) if len(value) <= MOST_TEXT else _json(type="str", size=len(value))
    name = _name(kind)
    if is_a(kind, int):
        return lambda value: _json(type=name, text=_digits(value))
    if kind is fractions.Fraction:
        return lambda value: _json(type=name, text=str(value)[:MOST_TEXT])
    for base, show in NUMBERS.items():
        if is_a(kind, base):
            return lambda value, show=show: _json(type=name, text=show(value)[:MOST_TEXT])
    if name.startswith("numpy."):
        # Made in C, whatever is in them.
        if any(_name(base) == "numpy.generic" for base in class_mro(kind)):
            return lambda value: _json(type=name, text=str(value.item())[:MOST_TEXT])
        if name == "numpy.ndarray":
            return lambda value: _json(type=name, size=value.size)
    plain = _json(type=name)
    for base in SIZED:
        if is_a(kind, base):
            return lambda value, size=base.__len__: '%s,"size":%d}' % (plain[:-1], size(value))
    return lambda value: plain


def _name(kind, module=type.__dict__["__module__"].__get__):
    found = module(kind)
    return class_name(kind) if type(found) is not str or found == "builtins" else "%s.%s" % (found, class_name(kind))


def _json(**fields):
    return _encode(fields)


def _digits(value, bits=int.bit_length):
    """Without the digits of a number of any length, which would take any time."""
    return int.__repr__(value) if bits(value) < 400 else "%d bits" % bits(value)


def _slots(kind):
    """Fields of a Python class that are not in a dictionary: names, and how to look."""
    found = []
    for one in class_mro(kind):
        if "__slots__" in class_body(one):
            for name, member in class_body(one).items():
                if type(member) is types.MemberDescriptorType:
                    found.append((name, member.__get__))
    return found[:MOST_FIELDS]
