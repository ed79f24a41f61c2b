"""Values as JSON can carry them, with the fields of objects one step deep, without running code of the project. PYTEST_DONT_REWRITE"""

import collections
import decimal
import fractions
import types

from .texts import class_body, class_mro, dictionary, is_a, name_of_class

MOST_TEXT = 100
MOST_FIELDS = 30
LARGEST = 1 << 63
SIZED = list, tuple, dict, set, frozenset, str, bytes, bytearray, collections.deque, range
# What has fields that say nothing about the work that is done.
OPAQUE = type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.CodeType
NUMBERS = {
    decimal.Decimal: decimal.Decimal.__str__,
    float: float.__repr__,
    complex: complex.__repr__,
}
GONE = object()


class Kind:
    """How values of a type are shown, and where they have their fields."""

    __slots__ = "kind", "show", "fields", "slots"

    def __init__(self, kind):
        self.kind = kind  # So that its address stays its own.
        self.show = _way(kind)
        self.fields, self.slots = None, ()
        if not any(is_a(kind, base) for base in (*OPAQUE, *SIZED, *NUMBERS, int, type(None))):
            self.fields, self.slots = dictionary(kind), _slots(kind)


class Values:
    def __init__(self):
        self._kinds = {}

    def forget(self):
        self._kinds.clear()

    def row(self, local, names, *returned):
        """Names of variables, and their values."""
        variables, row = [], []
        for name in names:
            value = local.get(name, GONE)
            if value is not GONE:
                self._add(variables, row, name, value)
        if returned:
            self._add(variables, row, "return", returned[0])
        return tuple(variables), row

    def _add(self, variables, row, name, value):
        kind = self._kind(value)
        variables.append(name)
        row.append(kind.show(value))
        if kind.fields is not None:
            fields = kind.fields(value)
            if type(fields) is dict and len(fields) <= MOST_FIELDS:
                for field, inner in list(fields.items()):
                    if type(field) is str:
                        variables.append("%s.%s" % (name, field))
                        row.append(self._kind(inner).show(inner))
        for field, look in kind.slots:
            try:
                inner = look(value)
            except AttributeError:
                continue
            variables.append("%s.%s" % (name, field))
            row.append(self._kind(inner).show(inner))

    def _kind(self, value):
        kind = self._kinds.get(id(type(value)))
        if kind is None:
            kind = self._kinds[id(type(value))] = Kind(type(value))
        return kind


def _way(kind):
    if kind is bool or kind is type(None):
        return lambda value: value
    if kind is int:
        return _int
    if kind is float:
        return lambda value: value if value - value == 0 else {"type": "float", "text": float.__repr__(value)}
    if kind is str:
        return lambda value: value if len(value) <= MOST_TEXT else {"type": "str", "size": len(value)}
    name = name_of_class(kind)
    if is_a(kind, int):
        return lambda value: {"type": name, "text": _digits(value)}
    if kind is fractions.Fraction:
        return lambda value: {"type": name, "text": str(value)[:MOST_TEXT]}
    for base, show in NUMBERS.items():
        if is_a(kind, base):
            return lambda value, show=show: {"type": name, "text": show(value)[:MOST_TEXT]}
    for base in SIZED:
        if is_a(kind, base):
            return lambda value, size=base.__len__: {"type": name, "size": size(value)}
    return lambda value: {"type": name}


def _int(value):
    return value if -LARGEST <= value < LARGEST else {"type": "int", "text": _digits(value)}


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
