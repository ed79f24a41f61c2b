"""The heap on random objects: every change is found and restored, and no object's code runs."""

import collections
import gc
import random
import sys
import types

import pytest
from unflake_agent.state import heap as heap_module
from unflake_agent.state.object_paths import ObjectPaths, cell_of

# Special methods that were called while `ARMED` is not empty, which is a bug of the agent.
CALLED = []
ARMED = []


def raising_method(name):
    def method(self, *args, **kwargs):
        if ARMED:
            CALLED.append(name)
            raise RuntimeError(name + " was called")
        return getattr(object, name, lambda self: True)(self, *args)

    return method


SPECIAL_METHODS = "__eq__", "__hash__", "__repr__", "__getattribute__", "__setattr__", "__delattr__"
RAISING_METHODS = {name: raising_method(name) for name in SPECIAL_METHODS}
RAISING_METHODS.update((name, raising_method(name)) for name in ("__bool__", "__len__", "__iter__", "__getattr__", "__str__", "__del__"))


class RaisingMeta(type):
    def __getattribute__(cls, name):
        if ARMED:
            CALLED.append("Meta." + name)
            raise RuntimeError
        return type.__getattribute__(cls, name)

    def __eq__(cls, other):
        if ARMED:
            CALLED.append("Meta.__eq__")
        return cls is other

    def __hash__(cls):
        if ARMED:
            CALLED.append("Meta.__hash__")
        return id(cls)

    def __setattr__(cls, name, value):
        raise RuntimeError("no")

    def __instancecheck__(cls, one):
        CALLED.append("Meta.__instancecheck__")


class LyingObject:
    @property
    def __class__(self):
        if ARMED:
            CALLED.append("__class__")
        return dict

    @property
    def __dict__(self):
        if ARMED:
            CALLED.append("__dict__")
        raise RuntimeError


class LazyModule(types.ModuleType):
    def __getattr__(self, name):
        CALLED.append("module." + name)
        raise AttributeError(name)


class RandomModules:
    """Modules with random trees of objects, in `sys.modules`."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.made = []
        self.names = ["tree%d_%d" % (seed, number) for number in range(3)]
        for name in self.names:
            module = (LazyModule if self.random.random() < 0.3 else types.ModuleType)(name)
            self.fill(types.ModuleType.__dict__["__dict__"].__get__(module), 0)
            module.__dict__["__getattr__"] = lambda name: CALLED.append("module.__getattr__")
            sys.modules[name] = module
            self.made.append(module.__dict__)

    def fill(self, names, depth):
        for number in range(self.random.randrange(1, 6)):
            names["n%d" % number] = self.value(depth + 1)

    def value(self, depth):
        choice = self.random.choice
        leaf = choice([1, 2.5, "x", None, b"y", (1, "a"), float("nan"), True])
        if depth > 4:
            return leaf
        kinds = "leaf dict list set class instance slots function raising tuple lying deque shared"
        kind = choice(kinds.split())
        if kind == "shared" and self.made:
            return choice(self.made)
        if kind in ("leaf", "shared"):
            return leaf
        made = getattr(self, "make_" + kind)(depth)
        if kind not in ("tuple", "lying"):
            self.made.append(made)
        return made

    def make_dict(self, depth):
        base = self.random.choice(
            [dict, collections.OrderedDict, type("Odd", (dict,), {"__iter__": RAISING_METHODS["__iter__"], "keys": None})]
        )
        made = base()
        for number in range(self.random.randrange(5)):
            key = self.random.choice([number, "k%d" % number, (number, "k"), frozenset([number])])
            setter = dict.__setitem__ if base is not collections.OrderedDict else base.__setitem__
            setter(made, key, self.value(depth + 1))
        return made

    def make_list(self, depth):
        return [self.value(depth + 1) for _ in range(self.random.randrange(5))]

    def make_deque(self, depth):
        return collections.deque(self.make_list(depth))

    def make_tuple(self, depth):
        return tuple(self.make_list(depth))

    def make_set(self, depth):
        return {self.random.randrange(9) for _ in range(4)}

    def make_class(self, depth):
        meta = self.random.choice([type, RaisingMeta])
        body = {"__module__": "nowhere"}
        self.fill(body, depth)
        return meta("C", (), body)

    def make_instance(self, depth):
        made = type("I", (), {})()
        self.fill(made.__dict__, depth)
        return made

    def make_raising(self, depth):
        made = object.__new__(type("Raising", (), RAISING_METHODS))
        self.fill(object.__getattribute__(made, "__dict__"), depth)
        return made

    def make_lying(self, depth):
        return LyingObject()

    def make_slots(self, depth):
        made = type("S", (), {"__slots__": ("a", "b")})()
        made.a = self.value(depth + 1)
        return made

    def make_function(self, depth):
        kept = self.value(depth + 1)

        def function(first=self.value(depth + 1), *, second=self.value(depth + 1)):
            return kept

        self.fill(function.__dict__, depth)
        return function

    # -- Changes -----------------------------------------------------------------------------------

    def mutate(self, times):
        for _ in range(times):
            target = self.random.choice(self.made)
            new = self.random.choice([self.random.random(), {}, [1], object(), "new"])
            kind = type(target)
            if isinstance(target, type):
                if self.random.random() < 0.5:
                    type.__setattr__(target, self.random.choice(["n0", "n9"]), new)
                elif "n0" in type.__dict__["__dict__"].__get__(target):
                    type.__delattr__(target, "n0")
            elif issubclass(kind, dict):
                self.mutate_dict(target, new)
            elif kind is list or kind is collections.deque:
                self.random.choice(
                    [lambda: target.append(new), lambda: target and target.pop(), target.clear, target.reverse]
                )()
            elif kind is set:
                self.random.choice([lambda: target.add(self.random.random()), target.clear])()
            elif kind is types.FunctionType:
                target.__defaults__ = (new,)
                target.__kwdefaults__["second"] = new
                target.__closure__[0].cell_contents = new
                target.__dict__["n0"] = new
            elif hasattr(kind, "__slots__"):
                kind.b.__set__(target, new)
            else:
                self.mutate_dict(object.__getattribute__(target, "__dict__"), new)

    def mutate_dict(self, target, new):
        keys = [key for key in dict.keys(target) if not str(key).startswith("__")]
        base = collections.OrderedDict if isinstance(target, collections.OrderedDict) else dict
        if keys and self.random.random() < 0.4:
            base.__delitem__(target, self.random.choice(keys))
        else:
            base.__setitem__(target, self.random.choice(keys + ["fresh"]), new)

    # -- An independent dump -----------------------------------------------------------------------

    def dump(self):
        """All reachable objects, numbered in the order in which they are found."""
        met, lines, queue = {}, [], []

        def name(value):
            if type(value) in (int, float, str, bytes, bool, type(None)):
                return "%s %r" % (type(value).__name__, value)
            if id(value) not in met:
                met[id(value)] = len(met)
                queue.append(value)
            return "#%d" % met[id(value)]

        for module in self.names:
            name(types.ModuleType.__dict__["__dict__"].__get__(sys.modules[module]))
        while queue:
            value = queue.pop(0)
            kind = type(value)
            lines.append("%d %s" % (id(value), [(label, name(one)) for label, one in self.parts(kind, value)]))
        return lines

    def parts(self, kind, value):
        if issubclass(kind, type):
            body = type.__dict__["__dict__"].__get__(value)
            return sorted((label, one) for label, one in body.items() if label.startswith("n"))
        if issubclass(kind, dict):
            return sorted(((repr(key), one) for key, one in dict.items(value)), key=lambda pair: pair[0])
        if kind in (list, tuple, collections.deque):
            return list(enumerate(value))
        if kind is set:
            return [(one, None) for one in sorted(value)]
        if kind is types.FunctionType and value.__closure__ and value.__kwdefaults__:
            parts = [("d", value.__defaults__), ("k", value.__kwdefaults__), ("c", value.__closure__[0].cell_contents)]
            return parts + sorted(value.__dict__.items(), key=lambda pair: pair[0])
        if "__slots__" in kind.__dict__:
            return [(slot, getattr(value, slot)) for slot in "ab" if hasattr(value, slot)]
        if kind.__name__ in ("I", "Raising"):
            return sorted(object.__getattribute__(value, "__dict__").items(), key=lambda pair: pair[0])
        return []

    def remove(self):
        for name in self.names:
            sys.modules.pop(name, None)


@pytest.mark.parametrize("seed", range(50))
def test_every_change_is_found_and_restored(seed, monkeypatch):
    monkeypatch.setattr(heap_module, "MAX_SECONDS", 600)  # For busy machines.
    gc.collect()
    gc.disable()
    modules = RandomModules(seed)
    heap = heap_module.Heap()
    try:
        before = modules.dump()
        ARMED.append(1)
        heap.remember({})
        ARMED.clear()
        modules.mutate(random.Random(seed).randrange(1, 8))
        changed = modules.dump() != before
        ARMED.append(1)
        changes = heap.compare()
        names = ObjectPaths(heap, sys.modules)
        cells = [cell_of(change, names.cell(change)) for change in changes]
        assert all(len(cell["before"] or "") <= 200 and " at 0x" not in cell["path"] for cell in cells)
        assert CALLED == []
        ARMED.clear()
        assert bool(changes) == changed
        for change in changes:
            heap.restore(change)
        after = modules.dump()
        assert after == before
        ARMED.append(1)
        assert [path_of(heap, change) for change in heap.compare() if path_of(heap, change).startswith("tree")] == []
        assert CALLED == []
    finally:
        del ARMED[:], CALLED[:]
        modules.remove()
        gc.enable()


def path_of(heap, change):
    return ObjectPaths(heap, sys.modules).cell(change)


def test_the_walk_is_limited_by_cpu_time(monkeypatch):
    """A busy machine does not hide state: the time in which another process ran does not count."""
    waited = iter(range(0, 10_000_000, 10))
    monkeypatch.setattr(heap_module.time, "perf_counter", lambda: next(waited))
    monkeypatch.setattr(heap_module.time, "thread_time", lambda: 0.0)
    heap = heap_module.Heap()
    heap.remember({})
    assert heap.unknown == []
    spent = iter(range(0, 10_000_000, 10))
    monkeypatch.setattr(heap_module.time, "thread_time", lambda: next(spent))
    heap = heap_module.Heap()
    heap.remember({})
    assert "too large" in heap.unknown[0]


class EqualKey(tuple):
    """Equal to others with the same parts, and has attributes of its own."""


@pytest.mark.parametrize("is_reversed", [False, True])
def test_a_key_that_was_replaced_by_an_equal_one_comes_back(is_reversed):
    key, other = EqualKey("ab"), EqualKey("cd")
    module = types.ModuleType("registry_of_equal_keys")
    module.entries = {key: "old", other: "kept"}
    sys.modules[module.__name__] = module
    try:
        heap = heap_module.Heap()
        heap.remember({})
        del module.entries[key]
        module.entries[EqualKey("ab")] = "new"
        changes = [change for change in heap.compare() if change.node.owner is module.entries]
        assert len(changes) == 2
        for change in reversed(changes) if is_reversed else changes:
            heap.restore(change)
        assert list(module.entries.items()) == [(key, "old"), (other, "kept")]
        assert next(iter(module.entries)) is key
    finally:
        del sys.modules[module.__name__]
