"""Finds what the names in a line of code refer to, without running anything.

`random.choice(names)` has the chains `random.choice` and `names`. Chains are read from the bytecode
once. Before the line runs they are resolved: from a name through modules, classes and the
attributes that instances have themselves.
"""

import builtins
import dis
import types

from ..common.introspect import class_attribute, instance_dict_getter, is_subclass, module_globals

LOAD_NAMES = "LOAD_NAME", "LOAD_GLOBAL", "LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR"
BIND_NAMES = "STORE_NAME", "STORE_GLOBAL", "STORE_FAST", "STORE_DEREF", "DELETE_FAST", "DELETE_NAME"
LOAD_ATTRIBUTES = "LOAD_ATTR", "LOAD_METHOD"
# Instructions between a name and its use that do not end a chain.
NEUTRAL = frozenset(("CACHE", "PUSH_NULL", "PRECALL", "EXTENDED_ARG", "NOP", "COPY", "NOT_TAKEN"))
ITERATE = frozenset("GET_ITER UNPACK_SEQUENCE UNPACK_EX LIST_EXTEND BUILD_TUPLE_UNPACK BUILD_LIST_UNPACK".split())
MISSING = object()
BUILTINS = vars(builtins)


class LineMentions:
    """What a line of code mentions."""

    __slots__ = "names", "self_attributes", "chains", "attributes", "iterates"

    def __init__(self):
        self.names = set()  # Variables that it reads or binds.
        self.self_attributes = set()
        self.chains = []  # (names, whether it iterates over the result)
        self.attributes = []  # Of objects that no name leads to.
        self.iterates = False  # Over an object that no name leads to.


def lines_of(code):
    """What each line mentions, by line number."""
    lines, starts, current, chain = {}, dict(dis.findlinestarts(code)), None, None
    for one in dis.get_instructions(code):
        number = starts.get(one.offset)
        if number is not None:
            current, chain = lines.setdefault(number, LineMentions()), None
        if current is None or one.opname in NEUTRAL:
            continue
        name = one.opname
        if name.startswith(LOAD_NAMES):
            found = one.argval if type(one.argval) is tuple else (one.argval,)
            for root in found:
                chain = [[root], False]
                current.chains.append(chain)
                current.names.add(root)
        elif name.startswith(BIND_NAMES):
            current.names.update(one.argval if type(one.argval) is tuple else (one.argval,))
            chain = None
        elif name.startswith(LOAD_ATTRIBUTES) or name == "STORE_ATTR":
            if chain is not None and chain[0] == ["self"]:
                current.self_attributes.add(one.argval)
            if chain is not None:
                chain[0].append(one.argval)
            else:
                current.attributes.append(one.argval)
        elif name in ITERATE:
            if chain is not None:
                chain[1] = True
            else:
                current.iterates = True
            chain = None
        else:
            chain = None
    return lines


def resolve(frame, names, chain):
    """The object at each step of a chain; MISSING where finding it would run code."""
    value = names.get(chain[0], MISSING)
    if value is MISSING:
        value = frame.f_globals.get(chain[0], MISSING)
    if value is MISSING:
        value = BUILTINS.get(chain[0], MISSING)
    steps = [value]
    for name in chain[1:]:
        if value is not MISSING:
            value = attribute(value, name)
        steps.append(value)
    return steps


def attribute(value, name):
    cls = type(value)
    if is_subclass(cls, types.ModuleType):
        return module_globals(value).get(name, MISSING)
    if is_subclass(cls, type):
        return class_attribute(value, name, MISSING)
    found = class_attribute(cls, name, MISSING)
    if found is MISSING or not hasattr(type(found), "__set__"):
        get = instance_dict_getter(cls)
        names = get(value) if get is not None else None
        own = names.get(name, MISSING) if type(names) is dict else MISSING
        if own is not MISSING:
            return own
    return found
