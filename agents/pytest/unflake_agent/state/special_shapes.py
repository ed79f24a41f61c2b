"""Shapes of what has a state that no dictionary shows: generators of random numbers, buffers, caches, counters.
PYTEST_DONT_REWRITE"""

import _random
import array
import contextvars
import functools
import gc
import itertools
import sys
import weakref
import zlib

from .shapes import Map, Shape, Through
from ..common.introspect import MISSING, class_body, module_globals, show

# Larger buffers are compared, but no copy of them is kept; much larger ones are left alone.
COPIED, COMPARED = 1 << 20, 1 << 26


def short_state(value):
    """Long states of generators in a word, so that one can be told from another."""
    return "state %08x" % zlib.crc32(repr(getattr(value, "frozen", value)).encode())


class Value(Shape):
    """A state that is one value."""

    def __init__(self, word, read=None, put=None, label=""):
        self.word, self._put, self._label = word, put, label
        if read is not None:
            self._read = read

    def keep(self, owner):
        return self._read(owner)

    def unchanged(self, kept, owner):
        return self._read(owner) == kept

    def diff(self, kept, owner):
        now = self._read(owner)
        return [] if now == kept else [(None, kept, now)]

    def label(self, key):
        return self._label

    def text(self, key, value):
        return short_state(value) if self._label else show(value)

    def write(self, node, key, old):
        self._put(node.owner, node.kept)


class Cache(Value):
    """What `functools.lru_cache` has stored. Only an empty cache can be made again."""

    def __init__(self):
        wrapper = functools._lru_cache_wrapper
        self._clear = wrapper.cache_clear
        Value.__init__(self, "cache", wrapper.cache_info, label=".cache_info()")

    def unchanged(self, kept, owner):
        now = self._read(owner)
        return now.currsize == kept.currsize and (not kept.currsize or now.misses == kept.misses)

    def diff(self, kept, owner):
        now = self._read(owner)
        return [(None, tuple(kept), tuple(now))] if not self.unchanged(kept, owner) else []

    def text(self, key, value):
        return "%d stored" % value[3]

    def fixed(self, owner, key, old, new):
        return (
            "what a cache had stored cannot be told from outside; only an empty cache can be made again"
            if old[3]
            else None
        )

    def write(self, node, key, old):
        self._clear(node.owner)


class Buffer(Value):
    """Bytes or numbers that are changed in place."""

    slow = True

    def __init__(self, word, size, read, put):
        Value.__init__(self, word, put=put)
        self._size, self._bytes = size, read

    def _read(self, owner):
        size = self._size(owner)
        if size > COMPARED:
            return size
        data = self._bytes(owner)
        return data if size <= COPIED else (size, hash(data))

    def text(self, key, value):
        return show(value) if type(value) is bytes and len(value) < 40 else short_state(value)

    def fixed(self, owner, key, old, new):
        return None if type(old) is bytes else "it is larger than 1 MB, so no copy was kept"


class Setting(Map):
    """The value of a context variable, in the context in which tests run."""

    word = "context variable"
    unset = object()

    def look(self, owner):
        value = owner.get(self.unset)
        return {} if value is self.unset else {"get": value}

    keep = look

    def label(self, key):
        return ".get()"

    def fixed(self, owner, key, old, new):
        return "a context variable that was set cannot be unset" if old is MISSING else None

    def write(self, node, key, old):
        node.owner.set(old)


class Weak(Value):
    """How much is in a weak container: its entries go away by themselves."""

    def __init__(self):
        Value.__init__(self, "weak container")

    def _read(self, owner):
        return len(object.__getattribute__(owner, "__dict__").get("data", ()))

    def text(self, key, value):
        return "%d entries" % value

    def fixed(self, owner, key, old, new):
        return "its entries last only as long as others use them"


class Counter(Value):
    """`itertools.count`: another one that begins where it was takes its place."""

    def __init__(self):
        Value.__init__(self, "counter")

    def _read(self, owner):
        if any(type(part) not in (int, float) and part is not itertools.count for part in gc.get_referents(owner)):
            return None  # Numbers of the project's own have a repr of their own.
        return repr(owner)

    def fixed(self, owner, key, old, new):
        return None

    def write(self, node, key, old):
        parent, numbers = node.parent, node.kept[6:-1].split(", ")
        new = itertools.count(*(int(one) if one.lstrip("-").isdigit() else float(one) for one in numbers))
        if not parent.shape.keeps or type(parent.kept) not in (dict, list):
            raise TypeError("what holds it cannot hold another")
        parent.shape.write(parent, node.key, new)
        parent.kept[node.key] = node.owner = new


def special_shapes():
    """Shapes by base, of what is there whatever has been imported."""
    wrapper = functools._lru_cache_wrapper
    generator = _random.Random
    return (
        (wrapper, (Cache(),)),
        (generator, (Value("random state", generator.getstate, generator.setstate, ".getstate()"),)),
        (contextvars.ContextVar, (Setting(),)),
        (itertools.count, (Counter(),)),
        (
            bytearray,
            (
                Buffer(
                    "bytearray",
                    bytearray.__len__,
                    bytes,
                    lambda owner, old: bytearray.__setitem__(owner, slice(None), old),
                ),
            ),
        ),
        (array.array, (Buffer("array", lambda owner: len(owner) * owner.itemsize, array.array.tobytes, _fill_array),)),
        (weakref.WeakValueDictionary, (Weak(),)),
        (weakref.WeakKeyDictionary, (Weak(),)),
        (weakref.WeakSet, (Weak(),)),
    )


def _fill_array(owner, old):
    del owner[:]
    owner.frombytes(old)


def numpy_shapes():
    """The same for NumPy, where it has been imported."""
    numpy, chance = sys.modules.get("numpy"), sys.modules.get("numpy.random")
    try:
        names = module_globals(numpy)
        found = [(names["ndarray"], (_array_shape(names["ndarray"]),))]
        if chance is None:
            return tuple(found)  # NumPy 2 imports it when somebody asks for it.
        names = module_globals(chance)
        state = names["RandomState"]
        found.append(
            (
                state,
                (
                    _Numbers(
                        lambda owner: state.get_state(owner, legacy=False),
                        lambda owner, old: state.set_state(owner, old.value),
                        ".get_state()",
                    ),
                ),
            )
        )
        descriptor = (
            class_body(names["BitGenerator"])["state"] if "state" in class_body(names["BitGenerator"]) else None
        )
        for name in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"):
            if name in names:
                state_of = class_body(names[name]).get("state", descriptor)
                found.append((names[name], (_bits(state_of),)))
        bits = class_body(names["Generator"])["bit_generator"].__get__
        found.append((names["Generator"], (_leads_to(".bit_generator", bits),)))
        return tuple(found)
    except (TypeError, KeyError, AttributeError):
        return ()


def _bits(state):
    return _Numbers(state.__get__, lambda owner, old: state.__set__(owner, old.value), ".state")


def _leads_to(label, part):
    return Through(lambda owner: [(label, part(owner))], str)


class _Numbers(Value):
    """A generator of NumPy's. Its state is a dictionary with arrays in it."""

    def __init__(self, read, put, label):
        Value.__init__(self, "random state", put=put, label=label)
        self._state = read

    def _read(self, owner):
        return _Same(self._state(owner))


class _Same:
    """Compares dictionaries that have arrays in them."""

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

    def put(owner, old):
        new = module_globals(sys.modules["numpy"])["frombuffer"](old, dtype=objects(owner))
        kind.__setitem__(owner, Ellipsis, new.reshape(body["shape"].__get__(owner)))

    def read(owner):
        if objects(owner).hasobject or not flags(owner).writeable:
            return b""
        return kind.tobytes(owner)

    return Buffer("array", size, read, put)
