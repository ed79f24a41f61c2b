"""What objects are made of: read, compared and put back without running any code of theirs. PYTEST_DONT_REWRITE

A shape knows one part of one sort of object: the entries of a dictionary, the attributes of an instance, the body of a
class. `keep` copies that part, references only; `diff` tells what has become different; `write` puts it back.
"""

import collections
import types
from operator import is_

from ..common.introspect import MISSING, class_body, class_mro, module_globals, same, show, show_key, token

FEATURES = "__code__", "__defaults__", "__kwdefaults__"
ITERATE = dict.__dict__["__iter__"]
HEAP_TYPE, IMMUTABLE_TYPE = 1 << 9, 1 << 8
class_flags = type.__dict__["__flags__"].__get__
delete_of_class, set_of_class = type.__delattr__, type.__setattr__


class Shape:
    word = ""
    keeps = True  # Whether it can change at all; what cannot only leads on to what can.
    slow = False  # Whether to read one may take long.

    def children(self, owner, kept):
        return ()

    def holds(self, owner, key, value):
        """Whether the way on to a child is still what it was."""
        return True

    def label(self, key):
        return ""

    def fixed(self, owner, key, old, new):
        """Why it cannot be put back."""
        return None

    def text(self, key, value):
        return show(value)


class Map(Shape):
    """Whatever has values by name or key. `look` shows them as they are now, in a dictionary or its like."""

    def keep(self, owner):
        return self.look(owner).copy()

    def children(self, owner, kept):
        return kept.items()

    def unchanged(self, kept, owner):
        now = self.look(owner)
        return len(now) == len(kept) and all(map(is_, now.values(), kept.values())) and all(map(is_, now, kept))

    def holds(self, owner, key, value):
        return self.look(owner).get(key) is value

    def diff(self, kept, owner):
        now = self.keep(owner)
        old = {token(key): (key, value) for key, value in kept.items()}
        new = {token(key): (key, value) for key, value in now.items()}
        found = []
        for one, (key, value) in old.items():
            after = new.get(one, (key, MISSING))[1]
            if not same(value, after):
                found.append((key, value, after))
        found.extend((key, MISSING, value) for one, (key, value) in new.items() if one not in old)
        return found


class Attributes(Map):
    """The dictionary of a module, an instance, or whatever else has one."""

    def __init__(self, look, word):
        self.look, self.word = look, word

    def label(self, key):
        if type(key) is str and key.isidentifier():
            return "." + key
        return ".__dict__[%s]" % show_key(key)

    def write(self, node, key, old):
        if old is MISSING:
            self.look(node.owner).pop(key, None)
        else:
            self.look(node.owner)[key] = old


class Entries(Map):
    """What is in a dictionary. A subclass may have methods of its own, so the plain ones are used."""

    word = "dictionary entry"

    def __init__(self, base):
        self._base = base

    def keep(self, owner):
        kind = type(owner)
        if kind is dict:
            return owner.copy()
        if (
            self._base is dict
            and next(body["__iter__"] for body in map(class_body, class_mro(kind)) if "__iter__" in body) is ITERATE
        ):
            return dict.copy(owner)
        # `dict.copy` would ask a subclass that iterates in its own way for its keys.
        if not all(type(token(key)) is tuple for key in dict.keys(owner)):
            raise TypeError("keys that would have to be hashed")
        return dict(zip(dict.keys(owner), dict.values(owner)))

    def unchanged(self, kept, owner):
        return (
            dict.__len__(owner) == len(kept)
            and all(map(is_, dict.values(owner), kept.values()))
            and all(map(is_, dict.keys(owner), kept))
        )

    def holds(self, owner, key, value):
        return dict.get(owner, key) is value

    def label(self, key):
        return "[%s]" % show_key(key)

    def write(self, node, key, old):
        owner, base = node.owner, self._base
        if old is MISSING:
            if dict.__contains__(owner, key):
                base.__delitem__(owner, key)
            return
        was_there = dict.__contains__(owner, key)
        base.__setitem__(owner, key, old)
        if not was_there and base is dict:  # An entry that comes back comes back to its place.
            now = self.keep(owner)
            dict.clear(owner)
            for one in node.kept:
                if one in now:
                    dict.__setitem__(owner, one, now.pop(one))
            dict.update(owner, now)


class Body(Map):
    """The attributes of a class."""

    word = "class attribute"

    def __init__(self):
        self.look = class_body

    def label(self, key):
        return "." + key

    def fixed(self, owner, key, old, new):
        if not class_flags(owner) & HEAP_TYPE or class_flags(owner) & IMMUTABLE_TYPE:
            return "the class is built in"
        return None

    def write(self, node, key, old):
        if old is not MISSING:
            set_of_class(node.owner, key, old)
        elif key in class_body(node.owner):
            delete_of_class(node.owner, key)


class Slots(Map):
    """The slots of instances of one class."""

    word = "attribute"

    def __init__(self, descriptors):
        self._descriptors = descriptors  # By name.

    def look(self, owner):
        values = {}
        for name, descriptor in self._descriptors.items():
            try:
                values[name] = descriptor.__get__(owner)
            except AttributeError:
                pass
        return values

    keep = look

    def label(self, key):
        return "." + key

    def write(self, node, key, old):
        if old is not MISSING:
            self._descriptors[key].__set__(node.owner, old)
        elif key in self.look(node.owner):
            self._descriptors[key].__delete__(node.owner)


class Function(Map):
    """Defaults and attributes of a function, and a way on to the variables that it closes over."""

    word = "function"

    def look(self, owner):
        values = {
            "__code__": owner.__code__,
            "__defaults__": owner.__defaults__,
            "__kwdefaults__": owner.__kwdefaults__,
        }
        values.update(owner.__dict__)
        return values

    keep = look

    def children(self, owner, kept):
        if not owner.__closure__:
            return kept.items()
        closure = zip(((name,) for name in owner.__code__.co_freevars), owner.__closure__)
        return list(kept.items()) + list(closure)

    def holds(self, owner, key, value):
        return type(key) is tuple or self.look(owner).get(key) is value

    def label(self, key):
        if type(key) is tuple:
            return ".__closure__[%r]" % key
        return "." + key if type(key) is str else ".__dict__[%s]" % show_key(key)

    def write(self, node, key, old):
        if key in FEATURES:
            setattr(node.owner, key, old)
        elif old is MISSING:
            node.owner.__dict__.pop(key, None)
        else:
            node.owner.__dict__[key] = old


class Variable(Map):
    """A variable in a closure."""

    word = "closure variable"

    def look(self, owner):
        try:
            return {"cell_contents": owner.cell_contents}
        except ValueError:
            return {}

    keep = look

    def write(self, node, key, old):
        if old is MISSING:
            del node.owner.cell_contents
        else:
            node.owner.cell_contents = old


class Sequence(Shape):
    """A list or a deque: as a whole where its length has changed, since what was inserted where cannot be known."""

    word = "list"

    def __init__(self, base):
        self._base, self._length, self._iterate = base, base.__len__, base.__iter__
        self.word = base.__name__

    def keep(self, owner):
        return list(self._iterate(owner))

    def children(self, owner, kept):
        return enumerate(kept)

    def unchanged(self, kept, owner):
        return self._length(owner) == len(kept) and all(map(is_, self._iterate(owner), kept))

    def holds(self, owner, key, value):
        return key < self._length(owner) and self._base.__getitem__(owner, key) is value

    def diff(self, kept, owner):
        now = self.keep(owner)
        if len(now) != len(kept):
            return [(None, kept, now)]
        found = [(at, old, new) for at, (old, new) in enumerate(zip(kept, now)) if not same(old, new)]
        return found if len(found) < 2 else [(None, kept, now)]

    def label(self, key):
        return "" if key is None else "[%d]" % key

    def write(self, node, key, old):
        if key is not None:
            self._base.__setitem__(node.owner, key, old)
        elif self._base is list:
            list.__setitem__(node.owner, slice(None), node.kept)
        else:
            collections.deque.clear(node.owner)
            collections.deque.extend(node.owner, node.kept)


class Elements(Shape):
    """What is in a set."""

    word = "set element"

    def keep(self, owner):
        return list(set.__iter__(owner))

    def children(self, owner, kept):
        return ((element, element) for element in kept)

    def unchanged(self, kept, owner):
        return set.__len__(owner) == len(kept) and all(map(is_, set.__iter__(owner), kept))

    def holds(self, owner, key, value):
        return any(one is value for one in set.__iter__(owner))

    def diff(self, kept, owner):
        old = {token(one): one for one in kept}
        new = {token(one): one for one in set.__iter__(owner)}
        found = [(one, one, MISSING) for key, one in old.items() if key not in new]
        return found + [(one, MISSING, one) for key, one in new.items() if key not in old]

    def label(self, key):
        return "{%s}" % show_key(key)

    def write(self, node, key, old):
        if old is MISSING:
            set.discard(node.owner, key)
        else:
            set.add(node.owner, key)


class Through(Shape):
    """What cannot change itself, but leads on."""

    keeps = False

    def __init__(self, parts, label):
        self._parts, self.label = parts, label

    def keep(self, owner):
        return self._parts(owner)

    def children(self, owner, kept):
        return kept


TUPLE = Through(lambda owner: list(enumerate(tuple.__iter__(owner))), lambda key: "[%d]" % key)
FROZENSET = Through(lambda owner: [(one, one) for one in frozenset.__iter__(owner)], lambda key: "{%s}" % show_key(key))
METHOD = Through(lambda owner: [(".__self__", owner.__self__), (".__func__", owner.__func__)], str)
PROPERTY = Through(lambda owner: [("", owner.fget), (".fset", owner.fset), (".fdel", owner.fdel)], str)
WRAPPER = Through(lambda owner: [("", owner.__func__)], str)
PARTIAL = Through(lambda owner: [(".func", owner.func), (".args", owner.args), (".keywords", owner.keywords)], str)


def plain_shapes(functools):
    """Shapes by exact type or base, the most special first."""
    return (
        (types.FunctionType, (Function(),)),
        (types.CellType if hasattr(types, "CellType") else type((lambda: is_).__closure__), (Variable(),)),
        (types.MethodType, (METHOD,)),
        (property, (PROPERTY,)),
        (staticmethod, (WRAPPER,)),
        (classmethod, (WRAPPER,)),
        (functools.partial, (PARTIAL,)),
        (collections.OrderedDict, (Entries(collections.OrderedDict),)),
        (dict, (Entries(dict),)),
        (list, (Sequence(list),)),
        (collections.deque, (Sequence(collections.deque),)),
        (set, (Elements(),)),
        (tuple, (TUPLE,)),
        (frozenset, (FROZENSET,)),
    )


MODULE = Attributes(module_globals, "module global")
CLASS = (Body(),)
