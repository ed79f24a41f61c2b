"""What an assertion saw, as texts: the same for equal values, without addresses, bounded, and made without running code of the
project: a `__repr__` may be slow, wrong or have effects, and pytest itself calls it for failures only. PYTEST_DONT_REWRITE"""

import collections
import hashlib

from ..common.introspect import class_body, class_mro, class_name, is_a
from ..common.value_text import SURPRISES, Texts, _name

repr, len = repr, len  # As they were before a test could patch them.
# Characters that are told, and that are made to be told or hashed. What lies beyond the second cannot be seen to differ.
MOST = 400
WORK = 4000
DEPTH = 5
# Of an object that says nothing about itself: how many of its fields, and of which types.
FIELDS = 20
SIMPLE = bool, int, float, complex, str, bytes, type(None)
# Types whose truth is known without asking them.
KNOWN = SIMPLE + (list, tuple, dict, set, frozenset, bytearray, range)


class Values(Texts):
    """As `Texts` has them, but longer; sets and dictionaries sorted, because `==` does not see their order; objects with their fields."""

    def __init__(self):
        super().__init__()
        self._hash = hashlib.sha1
        self._surprises = SURPRISES

    def __call__(self, value):
        kind = type(value)
        if kind is int or kind is float or kind is bool or value is None:
            text = repr(value) if kind is not int or value.bit_length() < 1000 else self._show(value, WORK, DEPTH)
        elif kind is str and len(value) < MOST:
            text = repr(value)
        else:
            text = self._show(value, WORK, DEPTH)
        if len(text) <= MOST:
            return text
        return "%s… %d characters, %s" % (text[:MOST], len(text), self._digest(text.encode("utf-8", "surrogatepass")))

    def truth(self, value):
        """Whether it is true, for those that can be asked without effect."""
        for kind in KNOWN:
            if type(value) is kind:
                return "True" if value else "False"
        return "<%s>" % _name(type(value))

    def _digest(self, data):
        return self._hash(data).hexdigest()[:12]

    def _way(self, kind):
        if is_a(kind, str) or is_a(kind, bytes):
            return self._string
        if is_a(kind, set) or is_a(kind, frozenset):
            return self._set
        module = _module(kind)
        if type(module) is str:
            if module.startswith("_pytest."):
                return self._approx if any(one.__name__ == "ApproxBase" for one in class_mro(kind)) else self._opaque
            if module.split(".")[0] == "numpy":
                return self._array if kind.__name__ == "ndarray" else self._scalar if _is_numpy_scalar(kind) else self._opaque
        if is_a(kind, tuple) and type(class_body(kind).get("_fields")) is tuple:
            return self._named
        return super()._way(kind)

    def _other(self, kind):
        return self._object

    def _string(self, value, most, depth):
        base = str if is_a(type(value), str) else bytes
        length = base.__len__(value)
        if length <= most:
            return base.__repr__(value)
        data = base.encode(value, "utf-8", "surrogatepass") if base is str else bytes(value)
        return "%s… %d long, %s" % (base.__repr__(base.__getitem__(value, slice(0, max(most, 40)))), length, self._digest(data))

    def _set(self, value, most, depth):
        base = set if is_a(type(value), set) else frozenset
        return self._sorted(base.__len__(value), base.__iter__(value), most, depth) or "set()"

    def _mapping(self, value, most, depth):
        if is_a(type(value), collections.OrderedDict):
            return super()._mapping(value, most, depth)
        return self._sorted(dict.__len__(value), iter(dict.items(value)), most, depth, True) or "{}"

    def _sorted(self, length, values, most, depth, pairs=False):
        """What is equal in any order, in one. Empty for nothing."""
        parts, room = [], 4 * max(most, 40)
        for one in values if depth else ():
            if pairs:
                parts.append("%s: %s" % (self._show(one[0], most, depth - 1), self._show(one[1], most, depth - 1)))
            else:
                parts.append(self._show(one, most, depth - 1))
            room -= len(parts[-1])
            if room < 0:
                break
        if len(parts) < length:  # Which ones came first may be chance.
            return "{%d items}" % length
        return "{%s}" % ", ".join(sorted(parts)) if parts else ""

    def _named(self, value, most, depth):
        names = class_body(type(value))["_fields"]
        return self._fields(class_name(type(value)) + "(", zip(names, tuple.__iter__(value)), ")", most, depth, "=")

    def _array(self, value, most, depth):
        if value.dtype.hasobject:
            return "<numpy.ndarray %s of objects>" % (value.shape,)
        first = value.ravel()[:8].tolist()
        shown = self._row("[]", value.size, iter(first), most, depth) if value.ndim else repr(value.item())
        return "array(%s, %s, %s, %s)" % (shown, value.shape, value.dtype, self._digest(value.tobytes()))

    def _scalar(self, value, most, depth):
        return "%s(%s)" % (type(value).__name__, value.item())

    def _approx(self, value, most, depth):
        parts = ["%s=%s" % (name, self._show(getattr(value, name), most, depth - 1)) for name in ("rel", "abs") if getattr(value, name, None) is not None]
        return "approx(%s)" % ", ".join([self._show(value.expected, most, depth - 1)] + parts)

    def _opaque(self, value, most, depth):
        return "<%s>" % _name(type(value))

    def _object(self, value, most, depth):
        """A dataclass by its fields, another object by those of its fields that are public and simple."""
        kind = type(value)
        fields = class_body_of(kind, "__dataclass_fields__")
        own = _dictionary(value)
        if type(fields) is dict and own is not None:
            pairs = [(name, own[name]) for name in fields if name in own]
            return self._fields(class_name(kind) + "(", pairs, ")", most, depth, "=")
        pairs = [(n, v) for n, v in (own or {}).items() if type(n) is str and not n.startswith("_") and type(v) in SIMPLE][:FIELDS]
        return self._fields("<" + _name(kind) + (" " if pairs else ""), pairs, ">", most, depth, "=")

    def _fields(self, begin, pairs, end, most, depth, between):
        if not depth:
            return begin + "…" + end
        parts, room = [], most
        for name, value in pairs:
            part = name + between + self._show(value, max(room, 40), depth - 1)
            room -= len(part)
            parts.append(part)
            if room < 0:
                parts.append("…")
                break
        return begin + ", ".join(parts) + end


_module = type.__dict__["__module__"].__get__


def class_body_of(kind, name):
    for owner in class_mro(kind):
        if name in class_body(owner):
            return class_body(owner)[name]
    return None


def _dictionary(value):
    """The fields of an object, without asking it."""
    descriptor = class_body_of(type(value), "__dict__")
    fields = descriptor.__get__(value) if type(descriptor) is type(_GETSET) else None
    return fields if type(fields) is dict or type(fields) is collections.OrderedDict else None


class _Plain:
    pass


_GETSET = class_body(_Plain)["__dict__"]


def _is_numpy_scalar(kind):
    return any(one.__name__ == "generic" for one in class_mro(kind))
