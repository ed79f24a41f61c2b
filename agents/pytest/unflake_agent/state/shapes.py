"""Reads, compares and restores the parts of objects without running any code of the project.

A shape handles one part of one kind of object: the entries of a dictionary, the attributes of an
instance, the body of a class. `snapshot` copies the references of that part, `diff` finds changes,
`restore` undoes one.
"""

import collections
import functools
import gc
import types
from operator import is_

from ..common.introspect import class_attribute, class_body, module_globals
from .repr import MISSING, describe, describe_key, hashable_key, is_same

FUNCTION_ATTRIBUTES = "__code__", "__defaults__", "__kwdefaults__"
DICT_ITER = dict.__dict__["__iter__"]
HEAP_TYPE, IMMUTABLE_TYPE = 1 << 9, 1 << 8
class_flags = type.__dict__["__flags__"].__get__


class Shape:
    kind = ""
    can_change = True  # Otherwise it only leads to other objects.
    is_slow = False  # Whether reading one may take long.

    def children(self, owner, saved):
        return ()

    def still_contains(self, owner, key, value):
        """Whether `key` still leads to the child `value`."""
        return True

    def label(self, key):
        return ""

    def why_fixed(self, owner, key, old, new):
        """Why a change cannot be undone; None if it can."""
        return None

    def describe(self, key, value):
        return describe(value)

    def describe_change(self, owner, key, old, new):
        """Texts for both values; None for one that is missing."""
        return tuple(None if value is MISSING else self.describe(key, value) for value in (old, new))


class MappingShape(Shape):
    """Values by name or key. `mapping` returns the current ones as a mapping."""

    def snapshot(self, owner):
        return self.mapping(owner).copy()

    def children(self, owner, saved):
        return saved.items()

    def is_unchanged(self, saved, owner):
        now = self.mapping(owner)
        return len(now) == len(saved) and all(map(is_, now.values(), saved.values())) and all(map(is_, now, saved))

    def still_contains(self, owner, key, value):
        return self.mapping(owner).get(key) is value

    def diff(self, saved, owner):
        now = self.snapshot(owner)
        old = {hashable_key(key): (key, value) for key, value in saved.items()}
        new = {hashable_key(key): (key, value) for key, value in now.items()}
        found = []
        for one, (key, value) in old.items():
            after = new.get(one, (key, MISSING))[1]
            if not is_same(value, after):
                found.append((key, value, after))
        found.extend((key, MISSING, value) for one, (key, value) in new.items() if one not in old)
        return found


class AttributeShape(MappingShape):
    """The `__dict__` of a module or an instance."""

    def __init__(self, mapping, kind):
        self.mapping, self.kind = mapping, kind

    def label(self, key):
        if type(key) is str and key.isidentifier():
            return "." + key
        return ".__dict__[%s]" % describe_key(key)

    def restore(self, node, key, old):
        if old is MISSING:
            self.mapping(node.owner).pop(key, None)
        else:
            self.mapping(node.owner)[key] = old


class DictShape(MappingShape):
    """The entries of a dictionary, through methods of its base: a subclass may override them."""

    kind = "dictionary entry"

    def __init__(self, base):
        self._base = base

    def snapshot(self, owner):
        kind = type(owner)
        if kind is dict:
            return owner.copy()
        if self._base is dict and class_attribute(kind, "__iter__") is DICT_ITER:
            return dict.copy(owner)
        # `dict.copy` would call the `__iter__` of the subclass.
        if not all(type(hashable_key(key)) is tuple for key in dict.keys(owner)):
            raise TypeError("keys that would have to be hashed")
        return dict(zip(dict.keys(owner), dict.values(owner)))

    def is_unchanged(self, saved, owner):
        return (
            dict.__len__(owner) == len(saved)
            and all(map(is_, dict.values(owner), saved.values()))
            and all(map(is_, dict.keys(owner), saved))
        )

    def still_contains(self, owner, key, value):
        return dict.get(owner, key) is value

    def label(self, key):
        return "[%s]" % describe_key(key)

    def restore(self, node, key, old):
        owner, base = node.owner, self._base
        was_there = dict.__contains__(owner, key)
        # An equal key is another entry if it is another object: it may have attributes of its own.
        if was_there and type(hashable_key(key)) is not tuple and not any(one is key for one in dict.keys(owner)):
            if old is MISSING:
                return
            base.__delitem__(owner, key)
            was_there = False
        if old is MISSING:
            if was_there:
                base.__delitem__(owner, key)
            return
        base.__setitem__(owner, key, old)
        if not was_there and base is dict:  # An entry that comes back gets its old position.
            now = self.snapshot(owner)
            dict.clear(owner)
            for one in node.saved:
                if one in now:
                    dict.__setitem__(owner, one, now.pop(one))
            dict.update(owner, now)


class ClassShape(MappingShape):
    """The attributes of a class."""

    kind = "class attribute"

    def __init__(self):
        self.mapping = class_body

    def label(self, key):
        return "." + key

    def why_fixed(self, owner, key, old, new):
        if not class_flags(owner) & HEAP_TYPE or class_flags(owner) & IMMUTABLE_TYPE:
            return "the class is built in"
        return None

    def restore(self, node, key, old):
        if old is not MISSING:
            type.__setattr__(node.owner, key, old)
        elif key in class_body(node.owner):
            type.__delattr__(node.owner, key)


class SlotShape(MappingShape):
    """The slots of the instances of one class."""

    kind = "attribute"

    def __init__(self, descriptors):
        self._descriptors = descriptors  # By name.

    def mapping(self, owner):
        values = {}
        for name, descriptor in self._descriptors.items():
            try:
                values[name] = descriptor.__get__(owner)
            except AttributeError:
                pass
        return values

    snapshot = mapping

    def label(self, key):
        return "." + key

    def restore(self, node, key, old):
        if old is not MISSING:
            self._descriptors[key].__set__(node.owner, old)
        elif key in self.mapping(node.owner):
            self._descriptors[key].__delete__(node.owner)


class FunctionShape(MappingShape):
    """Code, defaults and attributes of a function; leads to the variables of its closure."""

    kind = "function"

    def mapping(self, owner):
        values = {
            "__code__": owner.__code__,
            "__defaults__": owner.__defaults__,
            "__kwdefaults__": owner.__kwdefaults__,
        }
        values.update(owner.__dict__)
        return values

    snapshot = mapping

    def children(self, owner, saved):
        if not owner.__closure__:
            return saved.items()
        closure = zip(((name,) for name in owner.__code__.co_freevars), owner.__closure__)
        return list(saved.items()) + list(closure)

    def still_contains(self, owner, key, value):
        return type(key) is tuple or self.mapping(owner).get(key) is value

    def label(self, key):
        if type(key) is tuple:
            return ".__closure__[%r]" % key
        return "." + key if type(key) is str else ".__dict__[%s]" % describe_key(key)

    def restore(self, node, key, old):
        if key in FUNCTION_ATTRIBUTES:
            setattr(node.owner, key, old)
        elif old is MISSING:
            node.owner.__dict__.pop(key, None)
        else:
            node.owner.__dict__[key] = old


class ClosureCellShape(MappingShape):
    """A variable of a closure."""

    kind = "closure variable"

    def mapping(self, owner):
        try:
            return {"cell_contents": owner.cell_contents}
        except ValueError:
            return {}

    snapshot = mapping

    def restore(self, node, key, old):
        if old is MISSING:
            del node.owner.cell_contents
        else:
            node.owner.cell_contents = old


class SequenceShape(Shape):
    """A list or a deque. If its length or several items changed, the whole list is one change."""

    kind = "list"

    def __init__(self, base):
        self._base, self._length, self._iterate = base, base.__len__, base.__iter__
        self.kind = base.__name__

    def snapshot(self, owner):
        return list(self._iterate(owner))

    def children(self, owner, saved):
        return enumerate(saved)

    def is_unchanged(self, saved, owner):
        return self._length(owner) == len(saved) and all(map(is_, self._iterate(owner), saved))

    def still_contains(self, owner, key, value):
        return key < self._length(owner) and self._base.__getitem__(owner, key) is value

    def diff(self, saved, owner):
        now = self.snapshot(owner)
        if len(now) != len(saved):
            return [(None, saved, now)]
        found = [(at, old, new) for at, (old, new) in enumerate(zip(saved, now)) if not is_same(old, new)]
        return found if len(found) < 2 else [(None, saved, now)]

    def label(self, key):
        return "" if key is None else "[%d]" % key

    def restore(self, node, key, old):
        if key is not None:
            self._base.__setitem__(node.owner, key, old)
        elif self._base is list:
            list.__setitem__(node.owner, slice(None), node.saved)
        else:
            collections.deque.clear(node.owner)
            collections.deque.extend(node.owner, node.saved)


class SetShape(Shape):
    """The elements of a set."""

    kind = "set element"

    def snapshot(self, owner):
        return list(set.__iter__(owner))

    def children(self, owner, saved):
        return ((element, element) for element in saved)

    def is_unchanged(self, saved, owner):
        return set.__len__(owner) == len(saved) and all(map(is_, set.__iter__(owner), saved))

    def still_contains(self, owner, key, value):
        return any(one is value for one in set.__iter__(owner))

    def diff(self, saved, owner):
        old = {hashable_key(one): one for one in saved}
        new = {hashable_key(one): one for one in set.__iter__(owner)}
        found = [(one, one, MISSING) for key, one in old.items() if key not in new]
        return found + [(one, MISSING, one) for key, one in new.items() if key not in old]

    def label(self, key):
        return "{%s}" % describe_key(key)

    def restore(self, node, key, old):
        if old is MISSING:
            set.discard(node.owner, key)
        else:
            set.add(node.owner, key)


class PassThroughShape(Shape):
    """An immutable object that leads to other objects."""

    can_change = False

    def __init__(self, parts, label):
        self._parts, self.label = parts, label

    def snapshot(self, owner):
        return self._parts(owner)

    def children(self, owner, saved):
        return saved


TUPLE = PassThroughShape(lambda owner: list(enumerate(tuple.__iter__(owner))), lambda key: "[%d]" % key)
FROZENSET = PassThroughShape(lambda owner: [(one, one) for one in frozenset.__iter__(owner)], lambda key: "{%s}" % describe_key(key))
METHOD = PassThroughShape(lambda owner: [(".__self__", owner.__self__), (".__func__", owner.__func__)], str)
PROPERTY = PassThroughShape(lambda owner: [("", owner.fget), (".fset", owner.fset), (".fdel", owner.fdel)], str)
WRAPPER = PassThroughShape(lambda owner: [("", owner.__func__)], str)
PROXY = PassThroughShape(lambda owner: [("", gc.get_referents(owner)[0])], str)
PARTIAL = PassThroughShape(lambda owner: [(".func", owner.func), (".args", owner.args), (".keywords", owner.keywords)], str)


def container_shapes():
    """(base class, shapes) pairs, the most specific first."""
    return (
        (types.FunctionType, (FunctionShape(),)),
        (types.CellType, (ClosureCellShape(),)),
        (types.MethodType, (METHOD,)),
        (property, (PROPERTY,)),
        (types.MappingProxyType, (PROXY,)),
        (staticmethod, (WRAPPER,)),
        (classmethod, (WRAPPER,)),
        (functools.partial, (PARTIAL,)),
        (collections.OrderedDict, (DictShape(collections.OrderedDict),)),
        (dict, (DictShape(dict),)),
        (list, (SequenceShape(list),)),
        (collections.deque, (SequenceShape(collections.deque),)),
        (set, (SetShape(),)),
        (tuple, (TUPLE,)),
        (frozenset, (FROZENSET,)),
    )


MODULE = AttributeShape(module_globals, "module global")
CLASS = (ClassShape(),)
