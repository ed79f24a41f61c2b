"""Encodes values as JSON, with the fields of objects one level deep, running no project code.

It produces text directly: there are so many values that anything else would take several times as
long.
"""

import collections
import decimal
import fractions
import json
import types

from ..common.introspect import class_body, class_mro, full_class_name, instance_dict_getter, is_subclass

MAX_TEXT = 100
# Fields of one object. A row with more than MAX_ROW values gets no further fields.
MAX_FIELDS, MAX_ROW = 30, 300
LARGEST_INT = 1 << 63
SIZED = list, tuple, dict, set, frozenset, str, bytes, bytearray, collections.deque, range
# Types whose fields say nothing about the work of the program.
OPAQUE = type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.CodeType
NUMBERS = {
    decimal.Decimal: decimal.Decimal.__str__,
    float: float.__repr__,
    complex: complex.__repr__,
}
ABSENT, NO_FIELDS, ONLY_STRINGS = object(), (), frozenset((str,))
_quote = json.encoder.encode_basestring
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class TypeEncoder:
    """How values of a type are encoded, and where their fields are."""

    __slots__ = "cls", "encode", "has_fields", "get_dict", "slots"

    def __init__(self, cls):
        self.cls = cls  # Kept, so that its address stays unique.
        self.encode = _encoder(cls)
        self.get_dict, self.slots = None, ()
        if not any(is_subclass(cls, base) for base in (*OPAQUE, *SIZED, *NUMBERS, int, type(None))):
            self.get_dict, self.slots = instance_dict_getter(cls), _slot_getters(cls)
        self.has_fields = self.get_dict is not None or bool(self.slots)


class RowEncoder:
    def __init__(self):
        self._types, self._encoders = {}, {}
        self.has_omitted_fields = False

    def forget(self):
        self._types.clear()
        self._encoders.clear()
        self.has_omitted_fields = False

    def row(self, local, names, *returned):
        """The shape of a row, for `variable_names`, and its values as JSON."""
        shape, row = [], []
        for name in names:
            value = local.get(name, ABSENT)
            shape.append(self._add(row, value) if value is not ABSENT else None)
        if returned:
            shape.append(self._add(row, returned[0]))
        return tuple(shape), ",".join(row)

    def _add(self, row, value):
        """Adds a value and its fields; the names of the fields."""
        known = self._types.get(id(type(value))) or self._learn(type(value))
        row.append(known.encode(value))
        if not known.has_fields:
            return NO_FIELDS
        if len(row) > MAX_ROW:
            self.has_omitted_fields = True
            return NO_FIELDS
        names, values = NO_FIELDS, NO_FIELDS
        if known.get_dict is not None:
            fields = known.get_dict(value)
            if type(fields) is dict and len(fields) <= MAX_FIELDS and ONLY_STRINGS.issuperset(map(type, fields)):
                names, values = tuple(fields), tuple(fields.values())
            else:
                self.has_omitted_fields = True
        for name, get in known.slots:
            try:
                values += (get(value),)
                names += (name,)
            except AttributeError:
                pass
        encoders = self._encoders
        for one in values:
            encode = encoders.get(id(type(one))) or self._learn(type(one)).encode
            row.append(encode(one))
        return names

    def _learn(self, cls):
        known = self._types[id(cls)] = TypeEncoder(cls)
        self._encoders[id(cls)] = known.encode
        return known


def variable_names(names, shape):
    """The names of the values in a row: parameters, their fields, and `return` at an exit."""
    found = []
    for name, fields in zip(names, shape):
        if fields is not None:
            found.append(name)
            found.extend("%s.%s" % (name, field) for field in fields)
    return found


def _encoder(cls):
    if cls is bool:
        return lambda value: "true" if value else "false"
    if cls is type(None):
        return lambda value: "null"
    if cls is int:
        return lambda value: int.__repr__(value) if -LARGEST_INT <= value < LARGEST_INT else _json(type="int", text=_digits(value))
    if cls is float:
        return lambda value: float.__repr__(value) if value - value == 0 else _json(type="float", text=float.__repr__(value))
    if cls is str:
        return lambda value: _quote(value) if len(value) <= MAX_TEXT else _json(type="str", size=len(value))
    name = full_class_name(cls)
    if is_subclass(cls, int):
        return lambda value: _json(type=name, text=_digits(value))
    if cls is fractions.Fraction:
        return lambda value: _json(type=name, text=str(value)[:MAX_TEXT])
    for base, text in NUMBERS.items():
        if is_subclass(cls, base):
            return lambda value, text=text: _json(type=name, text=text(value)[:MAX_TEXT])
    if name.startswith("numpy."):
        # Native code, whatever the values are.
        if any(full_class_name(base) == "numpy.generic" for base in class_mro(cls)):
            return lambda value: _json(type=name, text=str(value.item())[:MAX_TEXT])
        if name == "numpy.ndarray":
            return lambda value: _json(type=name, size=value.size)
    plain = _json(type=name)
    for base in SIZED:
        if is_subclass(cls, base):
            return lambda value, size=base.__len__: '%s,"size":%d}' % (plain[:-1], size(value))
    return lambda value: plain


def _json(**fields):
    return _encode(fields)


def _digits(value, bits=int.bit_length):
    """Converting a huge number to decimal could take any time."""
    return int.__repr__(value) if bits(value) < 400 else "%d bits" % bits(value)


def _slot_getters(cls):
    """Name and getter of each slot of a Python class."""
    found = []
    for one in class_mro(cls):
        if "__slots__" in class_body(one):
            for name, member in class_body(one).items():
                if type(member) is types.MemberDescriptorType:
                    found.append((name, member.__get__))
    return found[:MAX_FIELDS]
