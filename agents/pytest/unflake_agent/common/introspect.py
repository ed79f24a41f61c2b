"""Objects in words, without asking them: what they are to a reader is said by their types alone. PYTEST_DONT_REWRITE"""

import types

MOST = 200
MISSING = type("Missing", (), {"__slots__": (), "__repr__": lambda self: "missing"})()
# Exact types whose values are what they are: their own repr and comparison run no code of the project.
ATOMS = bool, int, float, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented), range
ATOM_IDS = frozenset(map(id, ATOMS))
BRACKETS = {id(list): "[]", id(tuple): "()", id(set): "{}", id(frozenset): "{}", id(dict): "{}"}

class_name = type.__dict__["__qualname__"].__get__
module_globals = types.ModuleType.__dict__["__dict__"].__get__


def class_body(kind, look=type.__dict__["__dict__"].__get__, empty=types.MappingProxyType({})):
    return look(kind) or empty  # Before 3.9, a class of native code may have none yet.


def class_mro(kind, look=type.__dict__["__mro__"].__get__):
    return look(kind) or (kind,)


def is_a(kind, base):
    """Whether `kind` has `base` among its bases. Not by `in`, which compares with the metaclass's own equality."""
    return any(one is base for one in class_mro(kind))


def dictionary(kind):
    """How to get at the attributes of instances without asking them; None if they have none."""
    for one in class_mro(kind):
        found = class_body(one).get("__dict__")
        if type(found) is types.GetSetDescriptorType:
            return found.__get__
    return None


def name_of_class(kind):
    module = class_body(kind).get("__module__")
    name = class_name(kind)
    return name if type(module) is not str or module == "builtins" else "%s.%s" % (module, name)


def show(value, most=MOST):
    """A short text for a value that may be anything."""
    try:
        text = _show(value, most, 3)
    except Exception:
        text = "<%s>" % name_of_class(type(value))
    return text if len(text) <= most else text[: most - 1] + "…"


def _show(value, most, depth):
    kind = type(value)
    if id(kind) in ATOM_IDS:
        if kind is str or kind is bytes:
            return repr(value) if len(value) <= most else repr(value[:most]) + "…"
        if kind is int and value.bit_length() > 1000:
            return "<int of %d bits>" % value.bit_length()
        return repr(value)
    if id(kind) in BRACKETS:
        return _show_container(kind, value, most, depth)
    if is_a(kind, type):
        return "<class %s>" % name_of_class(value)
    if kind is types.FunctionType:
        return "<function %s.%s>" % (value.__module__, value.__qualname__)
    if kind is types.BuiltinFunctionType or kind is types.MethodWrapperType:
        return "<built-in %s>" % value.__name__
    if kind is types.MethodType and type(value.__func__) is types.FunctionType:
        return "<method %s of %s>" % (value.__func__.__qualname__, name_of_class(type(value.__self__)))
    if is_a(kind, types.ModuleType):
        name = module_globals(value).get("__name__")
        return "<module %s>" % (name if type(name) is str else "?")
    if is_a(kind, dict) or is_a(kind, list) or is_a(kind, set):
        base = dict if is_a(kind, dict) else list if is_a(kind, list) else set
        return "%s(%s)" % (name_of_class(kind), _show_container(base, value, most, depth))
    return "<%s>" % name_of_class(kind)


def _show_container(kind, value, most, depth):
    brackets = BRACKETS[id(kind)]
    length = kind.__len__(value)
    if not length:
        return brackets if kind not in (set, frozenset) else kind.__name__ + "()"
    if not depth:
        return brackets[0] + "…" + brackets[1]
    parts, room = [], most
    values = kind.items(value) if kind is dict else kind.__iter__(value)
    for one in values:
        if room < 0:
            break
        if kind is dict:
            part = "%s: %s" % (_show(one[0], most, depth - 1), _show(one[1], most, depth - 1))
        else:
            part = _show(one, most, depth - 1)
        parts.append(part)
        room -= len(part) + 2
    if kind is set or kind is frozenset:
        parts.sort()
    if len(parts) < length:
        parts.append("…")
    elif kind is tuple and length == 1:
        parts.append("")
    return brackets[0] + ", ".join(parts).rstrip(" ") + brackets[1]


def show_key(key):
    """A key or an element as part of a path: the same in every process."""
    kind = type(key)
    if is_a(kind, type):
        return name_of_class(key)
    if kind is types.FunctionType:
        return "%s.%s" % (key.__module__, key.__qualname__)
    return show(key, 80)


def same(old, new):
    """Whether two values are the same to whoever uses them: one object, or equal values of exact built-in types."""
    pairs = [(old, new)]
    while pairs:
        one, other = pairs.pop()
        if one is other:
            continue
        kind = type(one)
        if type(other) is not kind:
            return False
        if id(kind) in ATOM_IDS:
            if one != other and (one == one or other == other):  # Nothing is equal to NaN, itself included.
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


def token(key):
    """Something that stands for a key in a dictionary of ours, made without its own hash and equality."""
    kind = type(key)
    if id(kind) in ATOM_IDS or (
        (kind is tuple or kind is frozenset) and all(id(type(part)) in ATOM_IDS for part in key)
    ):
        return kind, key
    return id(key)
