"""Finds the shapes of an object by its type alone."""

import _thread
import functools
import types

from ..common.introspect import class_body, class_mro, class_name, is_subclass
from . import noise
from .class_links import class_shapes
from .native_shapes import database_shapes, native_shapes
from .repr import ATOMS
from .shapes import HEAP_TYPE, TUPLE, AttributeShape, PassThroughShape, SlotShape, class_flags, container_shapes
from .special_shapes import numpy_shapes, special_shapes

NOTHING = ()
# Of these types the shape of the base class covers everything.
COMPLETE = types.FunctionType, types.MethodType, property, staticmethod, classmethod, functools.partial
# Marks hold the values of parametrized tests, which tests may change in place.
MARKS = "_pytest.mark.structures"
MARK_SHAPES = {
    "Mark": (PassThroughShape(lambda owner: [(".args", owner.args), (".kwargs", owner.kwargs)], str),),
    "MarkDecorator": (PassThroughShape(lambda owner: [(".mark", owner.mark)], str),),
    "ParameterSet": (TUPLE,),
}
READERS = types.GetSetDescriptorType, types.MemberDescriptorType


class ShapeLookup:
    def __init__(self):
        self._permanent = special_shapes() + native_shapes() + container_shapes()
        self._bases = self._permanent
        self._local = AttributeShape(
            lambda owner, get=_thread._local.__getattribute__: get(owner, "__dict__"), "thread-local attribute"
        )
        # By the id of a type, since hashing a type may run code of its metaclass. Keeping the type
        # keeps its id unique.
        self.known = {id(kind): (kind, NOTHING) for kind in ATOMS}

    def refresh(self):
        """Adds the shapes of NumPy and databases if these have been imported since."""
        bases = numpy_shapes() + database_shapes() + self._permanent
        if len(bases) != len(self._bases):
            self._bases = bases
            self.known = {id(kind): (kind, NOTHING) for kind in ATOMS}

    def of(self, kind):
        known = self.known.get(id(kind))
        if known is None:
            known = self.known[id(kind)] = kind, self._find(kind)
        return known[1]

    def _find(self, kind):
        if is_subclass(kind, type):
            return class_shapes(kind)
        module = class_body(kind).get("__module__")
        top = module.partition(".")[0] if type(module) is str else ""
        if module == MARKS:
            return MARK_SHAPES.get(class_name(kind), NOTHING)
        if top in noise.RUNNER_PACKAGES or top in noise.OPAQUE_MODULES:
            return NOTHING
        shapes = []
        for base, known in self._bases:
            if is_subclass(kind, base):
                shapes.extend(known)
                if base in COMPLETE or base.__module__ == "weakref":
                    return tuple(shapes)
                break
        if is_subclass(kind, _thread._local):
            return tuple(shapes) + (self._local,)
        slots = {}
        get_dict = None
        for base in class_mro(kind):
            body = class_body(base)
            if get_dict is None and type(body.get("__dict__")) in READERS:
                get_dict = body["__dict__"].__get__
            if class_flags(base) & HEAP_TYPE and "__slots__" in body:
                slots.update((name, one) for name, one in body.items() if type(one) is types.MemberDescriptorType)
        slots.pop("__dict__", None)
        if slots:
            shapes.append(SlotShape(slots))
        if get_dict is not None:
            shapes.append(AttributeShape(get_dict, "attribute"))
        return tuple(shapes)
