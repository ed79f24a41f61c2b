"""Shapes of objects whose state is in native code, and what of that is not seen."""

import itertools
import sys
import types
from importlib.machinery import EXTENSION_SUFFIXES

from ..common.introspect import class_body, is_subclass, module_globals
from .repr import describe
from .special_shapes import ValueShape

MAX_TABLES, MAX_VARIABLES = 5, 5


class DatabaseShape(ValueShape):
    """A connection of `sqlite3`: the contents of its database."""

    is_slow = True

    def __init__(self, module):
        names = module_globals(module)
        connection = names["Connection"]
        ValueShape.__init__(self, "database")
        self._connect, self._serialize, self._deserialize = names["connect"], connection.serialize, connection.deserialize
        self._rollback, self._closing = connection.rollback, connection.close

    def _read(self, owner):
        return self._serialize(owner)

    def restore(self, node, key, old):
        self._rollback(node.owner)
        self._deserialize(node.owner, old)

    def describe_change(self, owner, key, old, new):
        """The tables whose number of rows differs."""
        before, after = self._rows(old), self._rows(new)
        changed = [name for name in sorted(set(before) | set(after)) if before.get(name) != after.get(name)]
        if not changed:
            return "%d bytes" % len(old), "%d other bytes" % len(new)
        return tuple(
            ", ".join(
                "table %s: %s" % (name, "absent" if name not in rows else "%d rows" % rows[name])
                for name in changed[:MAX_TABLES]
            )
            for rows in (before, after)
        )

    def _rows(self, data):
        copy = self._connect(":memory:")
        try:
            self._deserialize(copy, data)
            names = [name for (name,) in copy.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            quoted = ['"%s"' % name.replace('"', '""') for name in names]
            return {name: copy.execute("SELECT count(*) FROM " + one).fetchone()[0] for name, one in zip(names, quoted)}
        except Exception:
            return {}  # An empty database, or one with extensions.
        finally:
            self._closing(copy)


class PositionShape(ValueShape):
    """How far an iterator over built-in values has come."""

    def __init__(self, kind):
        ValueShape.__init__(self, "iterator")
        self._left, self._set = kind.__length_hint__, kind.__setstate__
        self._total = lambda owner: len(kind.__reduce__(owner)[1][0])

    def _read(self, owner):
        return self._left(owner)

    def describe(self, key, value):
        return "%d values left" % value

    def restore(self, node, key, old):
        self._set(node.owner, self._total(node.owner) - old)
        if self._left(node.owner) != old:
            raise ValueError("an exhausted iterator cannot be set back")


class CycleShape(ValueShape):
    """`itertools.cycle`: its place in a round, where its first round is over a list or the like."""

    def __init__(self):
        ValueShape.__init__(self, "iterator")
        self._reduce, self._next = itertools.cycle.__reduce__, itertools.cycle.__next__

    def _read(self, owner):
        _, (values,), (seen, is_repeated) = self._reduce(owner)
        left, total = type(values).__length_hint__(values), len(seen)
        if not is_repeated:
            total += left
        return (total - left) % total, total

    def describe(self, key, value):
        return "at value %d of %d" % (value[0] + 1, value[1])

    def restore(self, node, key, old):
        for _ in range(old[1]):
            if self._read(node.owner)[0] == old[0]:
                return
            self._next(node.owner)


class GeneratorShape(ValueShape):
    """A generator that was started elsewhere: the line and variables at which it waits."""

    def __init__(self):
        ValueShape.__init__(self, "generator")

    def _read(self, owner):
        frame = owner.gi_frame
        if frame is None or owner.gi_running:
            return None
        variables = list(frame.f_locals.items())[:MAX_VARIABLES]
        return frame.f_lasti, frame.f_lineno, tuple((name, describe(value, 40)) for name, value in variables)

    def describe(self, key, value):
        if value is None:
            return "exhausted"
        return ", ".join(["at line %d" % value[1]] + ["%s = %s" % one for one in value[2]])

    def why_fixed(self, owner, key, old, new):
        return "a generator cannot be set back"


def native_shapes():
    """(base class, shapes) pairs; those of modules only if these are imported."""
    found = [(types.GeneratorType, (GeneratorShape(),))]
    for values in ([], (), range(0)):
        kind = type(iter(values))
        found.append((kind, (PositionShape(kind),)))
    # From 3.14 on the place of a cycle cannot be read; 3.12 and 3.13 warn.
    if sys.version_info < (3, 12):
        found.append((itertools.cycle, (CycleShape(),)))
    return tuple(found)


def database_shapes():
    """Before 3.11 the contents of a database cannot be read without its own settings."""
    module = sys.modules.get("sqlite3")
    try:
        return ((module_globals(module)["Connection"], (DatabaseShape(module),)),)
    except (TypeError, KeyError, AttributeError):
        return ()


def unseen_native_code(heap):
    """Packages with native code that globals of the project belong to, as an entry of `unknown`."""
    suffixes = tuple(EXTENSION_SUFFIXES)
    native = {"ctypes"}
    for name, module in list(sys.modules.items()):
        file = module_globals(module).get("__file__") if type(module) is types.ModuleType else None
        if type(file) is str and file.endswith(suffixes) and heap.origins.of_module(name, module) != "standard":
            native.add(name.partition(".")[0])
    used = set()
    for root in heap.roots.values():
        if heap.origins.of_module(root.key, root.owner) == "project":
            used.update(map(_package_of, module_globals(root.owner).values()))
    found = sorted(native & used)
    return ["state inside of native code is not compared: %s" % ", ".join(found)] if found else []


def _package_of(value):
    if is_subclass(type(value), types.ModuleType):
        name = module_globals(value).get("__name__")
    elif type(value) is types.BuiltinFunctionType:
        name = value.__module__
    else:
        name = class_body(value if is_subclass(type(value), type) else type(value)).get("__module__")
    return name.partition(".")[0] if type(name) is str else None
