"""What a person would write to reach an object. PYTEST_DONT_REWRITE"""

import ast
import os
import types

from .shapes import CLASS, MODULE
from ..common.introspect import MISSING, class_body, class_name, is_a, module_globals

LONGEST_SOURCE = 1 << 20
LONGEST_PATH = 500
WRAPPERS = staticmethod, classmethod


class Names:
    """Paths to the nodes of a heap, as the heap is now."""

    def __init__(self, heap, modules):
        self._heap, self._modules = heap, modules
        self._globals = None
        self._imported = {}

    def path(self, node):
        parts = []
        while True:
            direct = self._direct(node)
            if direct is not None:
                parts.append(direct)
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
        return path if len(path) <= LONGEST_PATH else "%s…%s" % (path[: LONGEST_PATH // 2], path[-LONGEST_PATH // 2 :])

    def begin_of(self, node, paths, known):
        """Whether the path to a node can be how one of these begins: soon said, without finding the best of its names.
        What was said of nodes before is in `known`."""
        way = []
        while id(node) not in known:
            way.append(node)
            direct = self._direct(node)
            if direct is not None or node.parent is None:
                starts = [direct if direct is not None else str(node.key)]
            elif node.parent.shape is MODULE:
                starts = [
                    root.key + root.shape.label(name) for root, name in self._places(node.parent, node.key, node.owner)
                ]
            else:
                node = node.parent
                continue
            known[id(node)] = any(path.startswith(start) for path in paths for start in starts)
        for one in way:
            known[id(one)] = known[id(node)]
        return known[id(node)]

    def _direct(self, node):
        """The name of what knows its own name."""
        owner = node.owner
        if node.shape is MODULE:
            return node.key
        if node.shape is CLASS[0]:
            return self._qualified(class_body(owner).get("__module__"), class_name(owner), owner)
        if type(owner) is types.FunctionType:
            return self._qualified(owner.__module__, owner.__qualname__, owner)
        return self._of_logging(node) if type(node.kept) is dict else None

    def _of_logging(self, node):
        logging = self._modules.get("logging")
        names = module_globals(logging) if type(logging) is types.ModuleType else {}
        if node.owner is names.get("root"):
            return "logging.getLogger()"
        for kind in ("Logger", "Manager"):
            if is_a(type(names.get(kind)), type) and is_a(type(node.owner), names[kind]):
                name = node.kept.get("name")
                return (
                    "logging.root.manager"
                    if kind == "Manager"
                    else "logging.getLogger(%r)" % name
                    if type(name) is str
                    else None
                )
        return None

    def _qualified(self, module, name, wanted):
        """`module.name`, if that is where one finds it."""
        if type(module) is not str or type(name) is not str or type(self._modules.get(module)) is not types.ModuleType:
            return None
        at = self._modules[module]
        for part in name.split("."):
            names = (
                module_globals(at) if type(at) is types.ModuleType else class_body(at) if is_a(type(at), type) else {}
            )
            at = names.get(part)
        if type(at) in WRAPPERS:
            at = at.__func__
        elif type(at) is property:
            at = at.fget
        return "%s.%s" % (module, name) if at is wanted else None

    def _best_global(self, parent, key, value):
        """Many modules may have imported what one has made."""
        places = self._places(parent, key, value)
        if len(places) > 1:
            places = sorted(places, key=self._rank)
        root, name = places[0]
        return root.key + root.shape.label(name)

    def _places(self, parent, key, value):
        if self._globals is None:
            self._globals = {}
            for root in self._heap.roots.values():
                for name, one in module_globals(root.owner).items():
                    if id(one) in self._heap.of and type(name) is str:
                        self._globals.setdefault(id(one), []).append((root, name))
        return self._globals.get(id(value)) or [(parent, key)]

    def _rank(self, place):
        root, name = place
        last = root.key.rpartition(".")[2]
        is_test = last.startswith("test_") or last.endswith("_test") or last == "conftest"
        origin = self._heap.origins.of_module(root.key, root.owner)
        native = origin == "standard" and root.key.startswith("_")  # People know `warnings`, and not `_warnings`.
        return native, self._is_imported(root.owner, name), is_test, origin != "project", len(root.key), root.key, name

    def _is_imported(self, module, name):
        """Whether a module has this global from another, as its source says."""
        file = module_globals(module).get("__file__")
        if type(file) is not str or not file.endswith(".py"):
            return False
        if file not in self._imported:
            self._imported[file] = _imports(file)
        return name in self._imported[file] or "*" in self._imported[file]


def _imports(file, open=open, size=os.path.getsize, parse=ast.parse, walk=ast.walk, kind=ast.ImportFrom):
    """Names that a source takes from other modules; `*` among them where it takes all."""
    try:
        if size(file) > LONGEST_SOURCE:
            return frozenset()
        with open(file, "rb") as source:
            tree = parse(source.read())
    except Exception:
        return frozenset()
    found = (alias for node in walk(tree) if isinstance(node, kind) for alias in node.names)
    return frozenset(alias.asname or alias.name for alias in found)


def tell(change, path):
    """A change of the heap as a cell."""
    shape, key = change.node.shape, change.key
    word = shape.word
    if word == "function":
        word = "function default" if key in ("__defaults__", "__kwdefaults__") else "function attribute"
    return {
        "path": path,
        "kind": word,
        "before": None if change.old is MISSING else shape.text(key, change.old),
        "after": None if change.new is MISSING else shape.text(key, change.new),
        "fixed": shape.fixed(change.node.owner, key, change.old, change.new),
    }
