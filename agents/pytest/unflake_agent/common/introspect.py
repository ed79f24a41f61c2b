"""Reads classes, modules and instances without running any code of the project.

Every lookup goes through descriptors of `type` and `ModuleType`, so no metaclass, property,
`__getattr__` or `__eq__` is called.
"""

import types

class_name = type.__dict__["__qualname__"].__get__
class_module = type.__dict__["__module__"].__get__
module_globals = types.ModuleType.__dict__["__dict__"].__get__


def class_body(cls, get=type.__dict__["__dict__"].__get__, empty=types.MappingProxyType({})):
    return get(cls) or empty  # Before 3.9 a class of native code may not have one yet.


def class_mro(cls, get=type.__dict__["__mro__"].__get__):
    return get(cls) or (cls,)


def is_subclass(cls, base):
    """Compares by identity: `in` would call the equality of a metaclass."""
    return any(one is base for one in class_mro(cls))


def class_attribute(cls, name, default=None):
    for one in class_mro(cls):
        body = class_body(one)
        if name in body:
            return body[name]
    return default


def instance_dict_getter(cls):
    """A function that returns the `__dict__` of an instance; None if instances have none."""
    for one in class_mro(cls):
        found = class_body(one).get("__dict__")
        if type(found) is types.GetSetDescriptorType:
            return found.__get__
    return None


def full_class_name(cls):
    """The qualified name, with its module unless that is `builtins`."""
    module = class_module(cls)
    return class_name(cls) if type(module) is not str or module == "builtins" else "%s.%s" % (module, class_name(cls))


def bounded(text, limit):
    return text if len(text) <= limit else text[: limit - 1] + "…"
