"""Shapes of objects with state outside of dictionaries: random generators, buffers, caches."""

import _random
import array
import contextvars
import functools
import gc
import itertools
import sys
import weakref
import zlib

from ..common.introspect import class_body, module_globals
from .repr import MISSING, describe
from .shapes import MappingShape, Shape, PassThroughShape

# In bytes. Larger buffers are compared but not copied; even larger ones only by their size.
MAX_COPIED, MAX_COMPARED = 1 << 20, 1 << 26
# Shorter ones are shown as a whole.
SHORT = 40


def state_digest(value):
    """A short text that tells one long state from another."""
    return "state %08x" % zlib.crc32(repr(getattr(value, "frozen", value)).encode())


class ValueShape(Shape):
    """An object whose state is one value."""

    def __init__(self, kind, read=None, write=None, label=""):
        self.kind, self._write, self._label = kind, write, label
        if read is not None:
            self._read = read

    def snapshot(self, owner):
        return self._read(owner)

    def is_unchanged(self, saved, owner):
        return self._read(owner) == saved

    def diff(self, saved, owner):
        now = self._read(owner)
        return [] if now == saved else [(None, saved, now)]

    def label(self, key):
        return self._label

    def describe(self, key, value):
        return state_digest(value) if self._label else describe(value)

    def restore(self, node, key, old):
        self._write(node.owner, node.saved)


class LruCacheShape(ValueShape):
    """What `functools.lru_cache` has stored. Only an empty cache can be restored."""

    def __init__(self):
        wrapper = functools._lru_cache_wrapper
        self._clear = wrapper.cache_clear
        ValueShape.__init__(self, "cache", wrapper.cache_info, label=".cache_info()")

    def is_unchanged(self, saved, owner):
        now = self._read(owner)
        return now.currsize == saved.currsize and (not saved.currsize or now.misses == saved.misses)

    def diff(self, saved, owner):
        now = self._read(owner)
        return [(None, tuple(saved), tuple(now))] if not self.is_unchanged(saved, owner) else []

    def describe(self, key, value):
        return "%d stored" % value[3]

    def why_fixed(self, owner, key, old, new):
        if not old[3]:
            return None
        return "the contents of a cache cannot be read; only an empty cache can be restored"

    def restore(self, node, key, old):
        self._clear(node.owner)


class BufferShape(ValueShape):
    """Bytes or numbers that change in place."""

    is_slow = True

    def __init__(self, kind, size, read, write, elements):
        """`elements`: the values that bytes of an owner stand for, and a function for the index of one."""
        ValueShape.__init__(self, kind, write=write)
        self._size, self._bytes, self._elements = size, read, elements

    def _read(self, owner):
        size = self._size(owner)
        if size > MAX_COMPARED:
            return size
        data = self._bytes(owner)
        return data if size <= MAX_COPIED else (size, hash(data))

    def describe(self, key, value):
        return describe(value) if type(value) is bytes and len(value) < SHORT else state_digest(value)

    def describe_change(self, owner, key, old, new):
        texts = ValueShape.describe_change(self, owner, key, old, new)
        if type(old) is not bytes or type(new) is not bytes or len(old) != len(new) or len(old) < SHORT:
            return texts
        try:
            return self._first_difference(owner, old, new)
        except Exception:
            return texts  # Types of elements that this NumPy cannot read from bytes.

    def _first_difference(self, owner, old, new):
        (one, index_of), (other, _) = self._elements(owner, old), self._elements(owner, new)
        size = len(old) // len(one)
        changed = [at for at in range(len(one)) if old[at * size : (at + 1) * size] != new[at * size : (at + 1) * size]]
        first = "[%s] = " % index_of(changed[0])
        count = " (%d of %d elements differ)" % (len(changed), len(one)) if len(changed) > 1 else ""
        return first + describe(one[changed[0]]), first + describe(other[changed[0]]) + count

    def why_fixed(self, owner, key, old, new):
        return None if type(old) is bytes else "it is larger than 1 MB, so no copy was kept"


class ContextVariableShape(MappingShape):
    """The value of a context variable, or its default, in the context in which tests run."""

    kind = "context variable"

    def mapping(self, owner):
        try:
            return {"get": owner.get()}
        except LookupError:
            return {}

    snapshot = mapping

    def label(self, key):
        return ".get()"

    def why_fixed(self, owner, key, old, new):
        return "a context variable without a default cannot be unset" if old is MISSING else None

    def restore(self, node, key, old):
        node.owner.set(old)


class WeakContainerShape(ValueShape):
    """The size of a weak container: its entries disappear by themselves."""

    def __init__(self):
        ValueShape.__init__(self, "weak container")

    def _read(self, owner):
        return len(object.__getattribute__(owner, "__dict__").get("data", ()))

    def describe(self, key, value):
        return "%d entries" % value

    def why_fixed(self, owner, key, old, new):
        return "its entries are weak references"


class CountShape(ValueShape):
    """`itertools.count`. It is restored by replacing it with a new one in its container."""

    def __init__(self):
        ValueShape.__init__(self, "counter")

    def _read(self, owner):
        if any(type(part) not in (int, float) and part is not itertools.count for part in gc.get_referents(owner)):
            return None  # Numbers of the project's own types would run their own repr.
        return repr(owner)

    def why_fixed(self, owner, key, old, new):
        return None

    def restore(self, node, key, old):
        parent, numbers = node.parent, node.saved[6:-1].split(", ")
        new = itertools.count(*(int(one) if one.lstrip("-").isdigit() else float(one) for one in numbers))
        if not parent.shape.can_change or type(parent.saved) not in (dict, list):
            raise TypeError("its container cannot be changed")
        parent.shape.restore(parent, node.key, new)
        parent.saved[node.key] = node.owner = new


def special_shapes():
    """(base class, shapes) pairs of the standard library."""
    wrapper = functools._lru_cache_wrapper
    generator = _random.Random
    return (
        (wrapper, (LruCacheShape(),)),
        (generator, (ValueShape("random state", generator.getstate, generator.setstate, ".getstate()"),)),
        (contextvars.ContextVar, (ContextVariableShape(),)),
        (itertools.count, (CountShape(),)),
        (bytearray, (BufferShape("bytearray", bytearray.__len__, bytes, _fill_bytearray, lambda owner, data: (data, str)),)),
        (array.array, (BufferShape("array", _size_of_array, array.array.tobytes, _fill_array, _elements_of_array),)),
        (weakref.WeakValueDictionary, (WeakContainerShape(),)),
        (weakref.WeakKeyDictionary, (WeakContainerShape(),)),
        (weakref.WeakSet, (WeakContainerShape(),)),
    )


def _fill_bytearray(owner, old):
    bytearray.__setitem__(owner, slice(None), old)


def _size_of_array(owner):
    return len(owner) * owner.itemsize


def _elements_of_array(owner, data):
    return array.array(owner.typecode, data), str


def _fill_array(owner, old):
    del owner[:]
    owner.frombytes(old)


def numpy_shapes():
    """The same for NumPy; empty as long as it is not imported."""
    numpy, chance = sys.modules.get("numpy"), sys.modules.get("numpy.random")
    try:
        names = module_globals(numpy)
        found = [(names["ndarray"], (_array_shape(names["ndarray"]),))]
        if chance is None:
            return tuple(found)  # NumPy 2 imports it on demand.
        names = module_globals(chance)
        state = names["RandomState"]
        shape = _NumpyStateShape(
            lambda owner: state.get_state(owner, legacy=False),
            lambda owner, old: state.set_state(owner, old.value),
            ".get_state()",
        )
        found.append((state, (shape,)))
        descriptor = class_body(names["BitGenerator"]).get("state")
        for name in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"):
            if name in names:
                state_of = class_body(names[name]).get("state", descriptor)
                found.append((names[name], (_bit_generator_shape(state_of),)))
        bit_generator = class_body(names["Generator"])["bit_generator"].__get__
        found.append((names["Generator"], (_attribute_shape(".bit_generator", bit_generator),)))
        return tuple(found)
    except (TypeError, KeyError, AttributeError):
        return ()


def _bit_generator_shape(state):
    return _NumpyStateShape(state.__get__, lambda owner, old: state.__set__(owner, old.value), ".state")


def _attribute_shape(label, part):
    return PassThroughShape(lambda owner: [(label, part(owner))], str)


class _NumpyStateShape(ValueShape):
    """A random generator of NumPy. Its state is a dictionary that contains arrays."""

    def __init__(self, read, write, label):
        ValueShape.__init__(self, "random state", write=write, label=label)
        self._state = read

    def _read(self, owner):
        return _NumpyState(self._state(owner))


class _NumpyState:
    """Compares such dictionaries."""

    is_state = True

    def __init__(self, value):
        self.value = value
        self.frozen = _frozen(value)

    def __eq__(self, other):
        return self.frozen == other.frozen

    def __ne__(self, other):
        return self.frozen != other.frozen


def _frozen(value):
    if type(value) is dict:
        return {key: _frozen(one) for key, one in value.items()}
    return value.tobytes() if hasattr(value, "tobytes") else value


def _array_shape(kind):
    body = class_body(kind)
    size, flags, objects = body["nbytes"].__get__, body["flags"].__get__, body["dtype"].__get__

    def write(owner, old):
        new = module_globals(sys.modules["numpy"])["frombuffer"](old, dtype=objects(owner))
        kind.__setitem__(owner, Ellipsis, new.reshape(body["shape"].__get__(owner)))

    def read(owner):
        if objects(owner).hasobject or not flags(owner).writeable:
            return b""
        return kind.tobytes(owner)

    def elements(owner, data):
        values = module_globals(sys.modules["numpy"])["frombuffer"](data, dtype=objects(owner))

        def index_of(flat):
            index = []
            for length in reversed(body["shape"].__get__(owner)):
                flat, at = divmod(flat, length)
                index.insert(0, str(at))
            return ", ".join(index)

        return kind.tolist(values), index_of

    return BufferShape("array", size, read, write, elements)
