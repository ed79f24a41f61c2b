"""Links between classes that no attribute holds: direct subclasses, and classes registered with an
abstract base class.

Links are weak: the agent must not keep a class alive. So keys are weak references with a name.
"""

import _abc
import abc
import weakref

from ..common.introspect import class_body, class_mro, is_subclass
from .repr import MISSING, describe_key
from .shapes import CLASS, HEAP_TYPE, Shape, class_flags

BASES = type.__dict__["__bases__"]


class ClassLink:
    """The key of a link: a class that may be gone by now."""

    __slots__ = "reference", "name"

    def __init__(self, linked):
        self.reference, self.name = weakref.ref(linked), describe_key(linked)


class LinkShape(Shape):
    """Classes that are linked to a class."""

    def __init__(self):
        self._keys = {}  # By the id of a class, so that a link has one key.

    def snapshot(self, owner):
        return {id(one): weakref.ref(one) for one in self._linked(owner)}

    def is_unchanged(self, saved, owner):
        now = self._linked(owner)
        return len(now) == len(saved) and all(_is_known(saved, one) for one in now)

    def diff(self, saved, owner):
        now = self._linked(owner)
        found = [(self._key(one), MISSING, None) for one in now if not _is_known(saved, one)]
        still = {id(one) for one in now}
        gone = [one for one in (link() for at, link in saved.items() if at not in still) if one is not None]
        return found + [(self._key(one), None, MISSING) for one in gone]

    def _key(self, linked):
        known = self._keys.get(id(linked))
        if known is None or known.reference() is not linked:
            known = self._keys[id(linked)] = ClassLink(linked)
        return known

    def describe(self, key, value):
        return self.kind

    def label(self, key):
        return self._label % key.name


def _is_known(saved, one):
    return id(one) in saved and saved[id(one)]() is one


class SubclassShape(LinkShape):
    """Direct subclasses. A new one gets other bases to undo it."""

    kind = "subclass"
    _label = ".__subclasses__()[%s]"

    def _linked(self, owner):
        return type.__subclasses__(owner)

    def why_fixed(self, owner, key, old, new):
        return "a class that lost its base cannot get it back" if new is MISSING else None

    def restore(self, node, key, old):
        linked = key.reference()
        if linked is None:
            return
        # A class of the same layout, made without running code of the project.
        built_in = next(one for one in class_mro(node.owner) if not class_flags(one) & HEAP_TYPE)
        instead = type("Detached", (built_in,), {})
        BASES.__set__(linked, tuple(instead if one is node.owner else one for one in BASES.__get__(linked)))


class RegisteredShape(LinkShape):
    """Classes registered with `ABCMeta.register`."""

    kind = "registered class"
    _label = ".register(%s)"

    def _linked(self, owner):
        if "_abc_impl" not in class_body(owner):
            return []
        found = (reference() for reference in _abc._get_dump(owner)[0])
        return [one for one in found if one is not None]

    def restore(self, node, key, old):
        wanted = [one for one in self._linked(node.owner) if one is not key.reference()]
        if old is not MISSING:
            wanted.append(key.reference())
        _abc._reset_registry(node.owner)
        for one in wanted:
            _abc._abc_register(node.owner, one)
        _abc._reset_caches(node.owner)


PLAIN_CLASS = CLASS + (SubclassShape(),)
ABSTRACT_CLASS = PLAIN_CLASS + (RegisteredShape(),)


def class_shapes(kind):
    """Shapes of a class, by its metaclass."""
    return ABSTRACT_CLASS if is_subclass(kind, abc.ABCMeta) else PLAIN_CLASS
