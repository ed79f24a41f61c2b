"""Texts of an assertion's operands: equal for equal values, without addresses, bounded.

No `__repr__` of the project is called: it may be slow, wrong or have effects, and pytest itself
calls it for failures only.
"""

import collections
import hashlib

from ..common.introspect import (
    class_attribute,
    class_body,
    class_module,
    class_mro,
    class_name,
    full_class_name,
    instance_dict_getter,
    is_subclass,
)
from ..common.value_text import ValueText

repr, len = repr, len  # Before a test can patch them.
# Characters of a text, and characters that are formatted and hashed: differences beyond these do
# not show.
MAX_LENGTH = 400
MAX_FORMATTED = 4000
MAX_DEPTH = 5
# Fields of an object that is not a dataclass; only those of simple types are shown.
MAX_FIELDS = 20
SIMPLE_TYPES = bool, int, float, complex, str, bytes, type(None)
# Types whose `__bool__` runs no code of the project.
TYPES_WITH_PLAIN_TRUTH = SIMPLE_TYPES + (list, tuple, dict, set, frozenset, bytearray, range)


class OperandText(ValueText):
    """Longer texts; sets and dictionaries sorted, since `==` ignores order; objects with fields."""

    def __init__(self):
        super().__init__()
        self._hash = hashlib.sha1

    def __call__(self, value):
        kind = type(value)
        if kind is int or kind is float or kind is bool or value is None:
            text = repr(value) if kind is not int or value.bit_length() < 1000 else self._format(value, MAX_FORMATTED, MAX_DEPTH)
        elif kind is str and len(value) < MAX_LENGTH:
            text = repr(value)
        else:
            text = self._format(value, MAX_FORMATTED, MAX_DEPTH)
        if len(text) <= MAX_LENGTH:
            return text
        return "%s… %d characters, %s" % (text[:MAX_LENGTH], len(text), self._digest(text.encode("utf-8", "surrogatepass")))

    def truth(self, value):
        """`True` or `False`, or the type of a value that cannot be tested without running code."""
        for kind in TYPES_WITH_PLAIN_TRUTH:
            if type(value) is kind:
                return "True" if value else "False"
        return "<%s>" % full_class_name(type(value))

    def _digest(self, data):
        return self._hash(data).hexdigest()[:12]

    def _formatter(self, kind):
        if is_subclass(kind, str) or is_subclass(kind, bytes):
            return self._string
        if is_subclass(kind, set) or is_subclass(kind, frozenset):
            return self._set
        module = class_module(kind)
        if type(module) is str:
            if module.startswith("_pytest."):
                return self._approx if any(one.__name__ == "ApproxBase" for one in class_mro(kind)) else self._opaque
            if module.split(".")[0] == "numpy":
                return self._array if kind.__name__ == "ndarray" else self._scalar if _is_numpy_scalar(kind) else self._opaque
        if is_subclass(kind, tuple) and type(class_body(kind).get("_fields")) is tuple:
            return self._named_tuple
        return super()._formatter(kind)

    def _object_formatter(self, kind):
        return self._object

    def _string(self, value, room, depth):
        base = str if is_subclass(type(value), str) else bytes
        length = base.__len__(value)
        if length <= room:
            return base.__repr__(value)
        data = base.encode(value, "utf-8", "surrogatepass") if base is str else bytes(value)
        return "%s… %d long, %s" % (base.__repr__(base.__getitem__(value, slice(0, max(room, 40)))), length, self._digest(data))

    def _set(self, value, room, depth):
        base = set if is_subclass(type(value), set) else frozenset
        return self._sorted(base.__len__(value), base.__iter__(value), room, depth) or "set()"

    def _mapping(self, value, room, depth):
        if is_subclass(type(value), collections.OrderedDict):
            return super()._mapping(value, room, depth)
        return self._sorted(dict.__len__(value), iter(dict.items(value)), room, depth, True) or "{}"

    def _sorted(self, length, values, room, depth, pairs=False):
        """Items in sorted order. An empty text for no items."""
        parts, left = [], 4 * max(room, 40)
        for one in values if depth else ():
            if pairs:
                parts.append("%s: %s" % (self._format(one[0], room, depth - 1), self._format(one[1], room, depth - 1)))
            else:
                parts.append(self._format(one, room, depth - 1))
            left -= len(parts[-1])
            if left < 0:
                break
        if len(parts) < length:  # Which items came first may be random.
            return "{%d items}" % length
        return "{%s}" % ", ".join(sorted(parts)) if parts else ""

    def _named_tuple(self, value, room, depth):
        names = class_body(type(value))["_fields"]
        return self._fields(class_name(type(value)) + "(", zip(names, tuple.__iter__(value)), ")", room, depth)

    def _array(self, value, room, depth):
        if value.dtype.hasobject:
            return "<numpy.ndarray %s of objects>" % (value.shape,)
        sample = value.ravel()[:8].tolist()
        items = self._items("[]", value.size, iter(sample), room, depth) if value.ndim else repr(value.item())
        return "array(%s, %s, %s, %s)" % (items, value.shape, value.dtype, self._digest(value.tobytes()))

    def _scalar(self, value, room, depth):
        return "%s(%s)" % (type(value).__name__, value.item())

    def _approx(self, value, room, depth):
        parts = ["%s=%s" % (name, self._format(getattr(value, name), room, depth - 1)) for name in ("rel", "abs") if getattr(value, name, None) is not None]
        return "approx(%s)" % ", ".join([self._format(value.expected, room, depth - 1)] + parts)

    def _opaque(self, value, room, depth):
        return "<%s>" % full_class_name(type(value))

    def _object(self, value, room, depth):
        """A dataclass with all its fields, another object with the public ones of simple types."""
        kind = type(value)
        dataclass_fields = class_attribute(kind, "__dataclass_fields__")
        attributes = _attributes(value)
        if type(dataclass_fields) is dict and attributes is not None:
            pairs = [(name, attributes[name]) for name in dataclass_fields if name in attributes]
            return self._fields(class_name(kind) + "(", pairs, ")", room, depth)
        pairs = [(n, v) for n, v in (attributes or {}).items() if type(n) is str and not n.startswith("_") and type(v) in SIMPLE_TYPES][:MAX_FIELDS]
        return self._fields("<" + full_class_name(kind) + (" " if pairs else ""), pairs, ">", room, depth)

    def _fields(self, begin, pairs, end, room, depth):
        if not depth:
            return begin + "…" + end
        parts = []
        for name, value in pairs:
            part = name + "=" + self._format(value, max(room, 40), depth - 1)
            room -= len(part)
            parts.append(part)
            if room < 0:
                parts.append("…")
                break
        return begin + ", ".join(parts) + end


def _attributes(value):
    get = instance_dict_getter(type(value))
    found = get(value) if get is not None else None
    return found if type(found) is dict or type(found) is collections.OrderedDict else None


def _is_numpy_scalar(kind):
    return any(one.__name__ == "generic" for one in class_mro(kind))
