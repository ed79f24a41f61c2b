"""Names objects by the expression that a person would write to reach them."""

import ast
import os
import types

from ..common.introspect import bounded, class_body, class_name, is_subclass, module_globals
from .repr import MAX_LENGTH, MISSING, class_path, describe
from .shapes import MODULE

MAX_SOURCE = 1 << 20
MAX_PATH = 500
MAX_NAMED = 3
# Of a new instance so many attributes are shown, with so many characters of each value.
MAX_ATTRIBUTES, MAX_ATTRIBUTE = 4, 60
WRAPPERS = staticmethod, classmethod


class ObjectPaths:
    """Paths to the nodes of a heap in its current state."""

    def __init__(self, heap, modules):
        self._heap, self._modules = heap, modules
        self._globals = None
        self._imported = {}

    def path(self, node):
        parts = []
        while True:
            own_path = self._own_path(node)
            if own_path is not None:
                parts.append(own_path)
                break
            parent, key = node.parent, node.key
            if self._heap.links is not None:
                parent, key = self._heap.links.get(id(node.owner), (parent, key))
            if parent is None:
                parts.append(str(key))
                break
            if parent.shape is MODULE:
                parts.append(self._best_global(parent, key, node.owner))
                break
            parts.append(parent.shape.label(key))
            node = parent
        return "".join(reversed(parts))

    def cell(self, change):
        path = self.path(change.node) + change.node.shape.label(change.key)
        return path if len(path) <= MAX_PATH else "%s…%s" % (path[: MAX_PATH // 2], path[-MAX_PATH // 2 :])

    def may_start(self, node, paths, known):
        """Whether one of `paths` may begin with the path of a node. Cheap: it tries all candidates.

        `known` caches answers by node.
        """
        visited = []
        while id(node) not in known:
            visited.append(node)
            own_path = self._own_path(node)
            if own_path is not None or node.parent is None:
                starts = [own_path if own_path is not None else str(node.key)]
            elif node.parent.shape is MODULE:
                starts = [
                    root.key + root.shape.label(name) for root, name in self._globals_with(node.parent, node.key, node.owner)
                ]
            else:
                node = node.parent
                continue
            known[id(node)] = any(path.startswith(start) for path in paths for start in starts)
        for one in visited:
            known[id(one)] = known[id(node)]
        return known[id(node)]

    def _own_path(self, node):
        """The path of an object that knows its own name: a module, class, function or logger."""
        owner = node.owner
        if node.shape is MODULE:
            return node.key
        if is_subclass(type(owner), type):
            return self._qualified(class_body(owner).get("__module__"), class_name(owner), owner)
        if type(owner) is types.FunctionType:
            return self._qualified(owner.__module__, owner.__qualname__, owner)
        return self._logging_path(node) if type(node.saved) is dict else None

    def _logging_path(self, node):
        logging = self._modules.get("logging")
        names = module_globals(logging) if type(logging) is types.ModuleType else {}
        if node.owner is names.get("root"):
            return "logging.getLogger()"
        for kind in ("Logger", "Manager"):
            if is_subclass(type(names.get(kind)), type) and is_subclass(type(node.owner), names[kind]):
                if kind == "Manager":
                    return "logging.root.manager"
                name = node.saved.get("name")
                return "logging.getLogger(%r)" % name if type(name) is str else None
        return None

    def _qualified(self, module, name, wanted):
        """`module.name`, if that leads to the wanted object."""
        if type(module) is not str or type(name) is not str or type(self._modules.get(module)) is not types.ModuleType:
            return None
        at = self._modules[module]
        for part in name.split("."):
            if type(at) is types.ModuleType:
                at = module_globals(at).get(part)
            else:
                at = class_body(at).get(part) if is_subclass(type(at), type) else None
        if type(at) in WRAPPERS:
            at = at.__func__
        elif type(at) is property:
            at = at.fget
        return "%s.%s" % (module, name) if at is wanted else None

    def _best_global(self, parent, key, value):
        """The best global for an object: several modules may have imported it."""
        candidates = self._globals_with(parent, key, value)
        if len(candidates) > 1:
            candidates = sorted(candidates, key=self._rank)
        root, name = candidates[0]
        return root.key + root.shape.label(name)

    def _globals_with(self, parent, key, value):
        if self._globals is None:
            self._globals = {}
            for root in self._heap.roots.values():
                for name, one in module_globals(root.owner).items():
                    if id(one) in self._heap.nodes_by_id and type(name) is str:
                        self._globals.setdefault(id(one), []).append((root, name))
        return self._globals.get(id(value)) or [(parent, key)]

    def _rank(self, candidate):
        root, name = candidate
        last = root.key.rpartition(".")[2]
        is_test = last.startswith("test_") or last.endswith("_test") or last == "conftest"
        origin = self._heap.origins.of_module(root.key, root.owner)
        native = origin == "standard" and root.key.startswith("_")  # `warnings`, not `_warnings`.
        return native, self._is_imported(root.owner, name), is_test, origin != "project", len(root.key), root.key, name

    def _is_imported(self, module, name):
        """Whether the source of a module imports this global from another."""
        file = module_globals(module).get("__file__")
        if type(file) is not str or not file.endswith(".py"):
            return False
        if file not in self._imported:
            self._imported[file] = _imported_names(file)
        return name in self._imported[file] or "*" in self._imported[file]


def _imported_names(file, open=open, size=os.path.getsize, parse=ast.parse, walk=ast.walk, kind=ast.ImportFrom):
    """The names that a source file imports from other modules, which may include `*`."""
    try:
        if size(file) > MAX_SOURCE:
            return frozenset()
        with open(file, "rb") as source:
            tree = parse(source.read())
    except Exception:
        return frozenset()
    found = (alias for node in walk(tree) if isinstance(node, kind) for alias in node.names)
    return frozenset(alias.asname or alias.name for alias in found)


def cell_of(change, path):
    """A change of the heap as a cell of the protocol."""
    shape, key = change.node.shape, change.key
    kind = shape.kind
    if kind == "function":
        kind = "function default" if key in ("__defaults__", "__kwdefaults__") else "function attribute"
    before, after = shape.describe_change(change.node.owner, key, change.old, change.new)
    if change.old is None or change.old is MISSING:
        after = _with_attributes(change.new, after)
    if before is not None and before == after:
        before, after = _told_apart(change.old, change.new, before)
    return {
        "path": path,
        "kind": kind,
        "before": before,
        "after": after,
        "fixed": shape.why_fixed(change.node.owner, key, change.old, change.new),
    }


def _with_attributes(value, text):
    """The text of an instance that only names its class, with its attributes."""
    if text is None or text != "<%s>" % class_path(type(value)):
        return text
    try:
        names = object.__getattribute__(value, "__dict__")
    except AttributeError:
        names = {}
    if type(names) is not dict or not names:
        return text
    parts = ["%s = %s" % (name, describe(one, MAX_ATTRIBUTE)) for name, one in list(names.items())[:MAX_ATTRIBUTES]]
    return bounded("%s with %s" % (text, ", ".join(parts)), MAX_LENGTH)


def _told_apart(old, new, text):
    """Texts for two values that read alike."""
    if type(old) is not list or type(new) is not list:
        return text, bounded("another " + text, MAX_LENGTH)
    lost = [describe(one) for one in old if not any(one is other for other in new)]
    added = [describe(one) for one in new if not any(one is other for other in old)]
    both = (("without %s", lost), ("with %s", added))
    changes = [word % ", ".join(texts[:MAX_NAMED]) for word, texts in both if texts]
    return "%d elements" % len(old), bounded(", ".join(["%d elements" % len(new)] + changes), MAX_LENGTH)
