"""Which shapes an object has, by its type alone. PYTEST_DONT_REWRITE"""

import _thread
import functools
import types

from . import noise
from .shapes import CLASS, HEAP_TYPE, Attributes, Slots, class_flags, plain_shapes
from ..common.introspect import ATOMS, class_body, class_mro, is_a
from .special_shapes import numpy_shapes, special_shapes

NOTHING = ()
# Of these, the shapes by base say all there is.
COMPLETE = types.FunctionType, types.MethodType, property, staticmethod, classmethod, functools.partial
READERS = types.GetSetDescriptorType, types.MemberDescriptorType


class Plans:
    def __init__(self):
        self._fixed = special_shapes() + plain_shapes(functools)
        self._bases = self._fixed
        self._local = Attributes(
            lambda owner, look=_thread._local.__getattribute__: look(owner, "__dict__"), "thread-local attribute"
        )
        # By the id of a type, since to hash a type may run code of its metaclass. The type is kept with it.
        self.known = {id(kind): (kind, NOTHING) for kind in ATOMS}

    def renew(self):
        """NumPy may have been imported since."""
        bases = numpy_shapes() + self._fixed
        if len(bases) != len(self._bases):
            self._bases = bases
            self.known = {id(kind): (kind, NOTHING) for kind in ATOMS}

    def of(self, kind):
        known = self.known.get(id(kind))
        if known is None:
            known = self.known[id(kind)] = kind, self._make(kind)
        return known[1]

    def _make(self, kind):
        if is_a(kind, type):
            return CLASS
        module = class_body(kind).get("__module__")
        top = module.partition(".")[0] if type(module) is str else ""
        if top in noise.OURS or top in noise.OPAQUE:
            return NOTHING
        shapes = []
        for base, known in self._bases:
            if is_a(kind, base):
                shapes.extend(known)
                if base in COMPLETE or base.__module__ == "weakref":
                    return tuple(shapes)
                break
        if is_a(kind, _thread._local):
            return tuple(shapes) + (self._local,)
        slots = {}
        look = None
        for base in class_mro(kind):
            body = class_body(base)
            if look is None and type(body.get("__dict__")) in READERS:
                look = body["__dict__"].__get__
            if class_flags(base) & HEAP_TYPE and "__slots__" in body:
                slots.update((name, one) for name, one in body.items() if type(one) is types.MemberDescriptorType)
        slots.pop("__dict__", None)
        if slots:
            shapes.append(Slots(slots))
        if look is not None:
            shapes.append(Attributes(look, "attribute"))
        return tuple(shapes)
