"""What the names in a line of code lead to, found without running anything. PYTEST_DONT_REWRITE

`random.choice(names)` has the chains `random.choice` and `names`. Chains are read from the bytecode once, and followed when the line is
about to run: from a name through modules, classes and what objects have by themselves.
"""

import builtins
import dis
import types

from ..common.introspect import class_body, class_mro, is_a, module_globals

NAMES = "LOAD_NAME", "LOAD_GLOBAL", "LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR"
BINDS = "STORE_NAME", "STORE_GLOBAL", "STORE_FAST", "STORE_DEREF", "DELETE_FAST", "DELETE_NAME"
ATTRIBUTES = "LOAD_ATTR", "LOAD_METHOD"
# Between a name and what is done with it.
SILENT = frozenset(("CACHE", "PUSH_NULL", "PRECALL", "EXTENDED_ARG", "NOP", "COPY", "NOT_TAKEN"))
TAKES_ITEMS = frozenset("GET_ITER UNPACK_SEQUENCE UNPACK_EX LIST_EXTEND BUILD_TUPLE_UNPACK BUILD_LIST_UNPACK".split())
MISSING = object()
MODULES, BUILTINS = types.ModuleType, vars(builtins)


class Line:
    """What a line of code mentions."""

    __slots__ = "names", "own", "chains", "attributes", "iterates"

    def __init__(self):
        self.names = set()  # Variables that it reads or binds,
        self.own = set()  # and attributes of `self`.
        self.chains = []  # (names, whether its items are taken)
        self.attributes = []  # Asked of something that no name leads to.
        self.iterates = False  # Takes the items of something that no name leads to.


def lines_of(code):
    """By number, what each line mentions."""
    lines, starts, current, chain = {}, dict(dis.findlinestarts(code)), None, None
    for one in dis.get_instructions(code):
        number = starts.get(one.offset)
        if number is not None:
            current, chain = lines.setdefault(number, Line()), None
        if current is None or one.opname in SILENT:
            continue
        name = one.opname
        if name.startswith(NAMES):
            found = one.argval if type(one.argval) is tuple else (one.argval,)
            for root in found:
                chain = [[root], False]
                current.chains.append(chain)
                current.names.add(root)
        elif name.startswith(BINDS):
            current.names.update(one.argval if type(one.argval) is tuple else (one.argval,))
            chain = None
        elif name.startswith(ATTRIBUTES) or name == "STORE_ATTR":
            if chain is not None and chain[0] == ["self"]:
                current.own.add(one.argval)
            if chain is not None:
                chain[0].append(one.argval)
            else:
                current.attributes.append(one.argval)
        elif name in TAKES_ITEMS:
            if chain is not None:
                chain[1] = True
            else:
                current.iterates = True
            chain = None
        else:
            chain = None
    return lines


def follow(frame, names, chain):
    """What a chain leads to, one after the other; MISSING where that cannot be known without asking."""
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
    """What an object has under this name, without asking it."""
    kind = type(value)
    if is_a(kind, MODULES):
        return module_globals(value).get(name, MISSING)
    if is_a(kind, type):
        return in_class(value, name)
    found = in_class(kind, name)
    if found is MISSING or not hasattr(type(found), "__set__"):
        own = instance_names(value).get(name, MISSING)
        if own is not MISSING:
            return own
    return found


def in_class(kind, name):
    for one in class_mro(kind):
        found = class_body(one).get(name, MISSING)
        if found is not MISSING:
            return found
    return MISSING


def instance_names(value, nothing={}):
    for kind in class_mro(type(value)):
        found = class_body(kind).get("__dict__")
        if type(found) is types.GetSetDescriptorType:
            names = found.__get__(value)
            return names if type(names) is dict else nothing
    return nothing
