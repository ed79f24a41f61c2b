"""Texts, keys and equality of arbitrary objects, by their types alone.

No code of the objects runs. `describe` and `describe_key` contain no addresses, so they are the
same in every process that does the same.
"""

import datetime
import enum
import types

from ..common.introspect import bounded, class_body, class_name, is_subclass, module_globals
from ..common.value_text import enum_name

MAX_LENGTH, MAX_KEY_LENGTH = 200, 80
MISSING = type("Missing", (), {"__slots__": (), "__repr__": lambda self: "missing"})()
# Exact types whose own repr and equality run no code of the project.
ATOMS = bool, int, float, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented), range
ATOM_IDS = frozenset(map(id, ATOMS))
TEXTS, NUMBERS = (str, bytes), (int, float)
DATES = datetime.date, datetime.timedelta
CONTAINERS = dict, list, set, tuple, frozenset
BRACKETS = {id(list): "[]", id(tuple): "()", id(set): "{}", id(frozenset): "{}", id(dict): "{}"}


def class_path(cls):
    module = class_body(cls).get("__module__")
    name = class_name(cls)
    return name if type(module) is not str or module == "builtins" else "%s.%s" % (module, name)


def describe(value, limit=MAX_LENGTH):
    """A text of at most `limit` characters."""
    try:
        text = _describe(value, limit, 3)
    except Exception:
        text = "<%s>" % class_path(type(value))
    return bounded(text, limit)


def _describe(value, limit, depth):
    kind = type(value)
    if id(kind) in ATOM_IDS:
        if kind is str or kind is bytes:
            return repr(value) if len(value) <= limit else repr(value[:limit]) + "…"
        if kind is int and value.bit_length() > 1000:
            return "<int of %d bits>" % value.bit_length()
        return repr(value)
    if id(kind) in BRACKETS:
        return _describe_container(kind, value, limit, depth)
    if is_subclass(kind, type):
        return "<class %s>" % class_path(value)
    if kind is types.FunctionType:
        return "<function %s.%s>" % (value.__module__, value.__qualname__)
    if kind is types.BuiltinFunctionType or kind is types.MethodWrapperType:
        return "<built-in %s>" % value.__name__
    if kind is types.MethodType and type(value.__func__) is types.FunctionType:
        return "<method %s of %s>" % (value.__func__.__qualname__, class_path(type(value.__self__)))
    if is_subclass(kind, types.ModuleType):
        name = module_globals(value).get("__name__")
        return "<module %s>" % (name if type(name) is str else "?")
    if is_subclass(kind, enum.Enum):
        return "%s.%s" % (class_path(kind), enum_name(value))
    for base in CONTAINERS:
        if is_subclass(kind, base):
            return "%s(%s)" % (class_path(kind), _describe_container(base, value, limit, depth))
    for base in TEXTS + NUMBERS:
        if is_subclass(kind, base):
            text = base.__getitem__(value, slice(0, limit)) if base in TEXTS else value
            return "%s(%s)" % (class_path(kind), base.__repr__(text))
    if any(kind is one for one in DATES):
        return "<%s %s>" % (class_path(kind), kind.__str__(value))
    return "<%s>" % class_path(kind)


def _describe_container(kind, value, limit, depth):
    brackets = BRACKETS[id(kind)]
    length = kind.__len__(value)
    if not length:
        return brackets if kind not in (set, frozenset) else kind.__name__ + "()"
    if not depth:
        return brackets[0] + "…" + brackets[1]
    parts, room = [], limit
    values = kind.items(value) if kind is dict else kind.__iter__(value)
    for one in values:
        if room < 0:
            break
        if kind is dict:
            part = "%s: %s" % (_describe(one[0], limit, depth - 1), _describe(one[1], limit, depth - 1))
        else:
            part = _describe(one, limit, depth - 1)
        parts.append(part)
        room -= len(part) + 2
    if kind is set or kind is frozenset:
        parts.sort()
    if len(parts) < length:
        parts.append("…")
    elif kind is tuple and length == 1:
        parts.append("")
    return brackets[0] + ", ".join(parts).rstrip(" ") + brackets[1]


def describe_key(key):
    """A key or an element as part of a path."""
    kind = type(key)
    if is_subclass(kind, type):
        return class_path(key)
    if kind is types.FunctionType:
        return "%s.%s" % (key.__module__, key.__qualname__)
    return describe(key, MAX_KEY_LENGTH)


def is_same(old, new):
    """Whether two values are one object, or equal values of exact built-in types."""
    pairs = [(old, new)]
    while pairs:
        one, other = pairs.pop()
        if one is other:
            continue
        kind = type(one)
        if type(other) is not kind:
            return False
        if id(kind) in ATOM_IDS:
            if one != other and (one == one or other == other):  # NaN is not equal to itself.
                return False
        elif kind is tuple:
            if len(one) != len(other) or len(pairs) > 10_000:
                return False
            pairs.extend(zip(one, other))
        elif kind is frozenset:
            if not all(id(type(part)) in ATOM_IDS for half in (one, other) for part in half) or one != other:
                return False
        else:
            return False
    return True


def hashable_key(key):
    """Replaces a key in a dictionary of the agent: its own hash and equality are not called."""
    kind = type(key)
    if id(kind) in ATOM_IDS or (
        (kind is tuple or kind is frozenset) and all(id(type(part)) in ATOM_IDS for part in key)
    ):
        return kind, key
    return id(key)
