"""What can be reached from the modules: remembered, compared, put back. PYTEST_DONT_REWRITE

Every object that can change is a node: how it was first reached, and a copy of the references that it held. Comparing
looks at each node again; it follows no ways but those that were there, since whatever is new is behind a reference that
has changed, and that reference is the change.
"""

import sys
import time
import types
from collections import deque

from . import noise
from .module_origins import Origins
from .shape_lookup import Plans
from .shapes import CLASS, MODULE, Attributes
from ..common.introspect import class_body, is_a, module_globals, name_of_class

SECONDS = 2.0
MOST_ENTRIES = 200_000
# Parts of the standard library whose objects are state: these are followed as the project's own are.
STATE_HOLDERS = frozenset(
    ("logging", "logging.handlers", "logging.config", "asyncio.events", "asyncio.unix_events", "mimetypes")
)
CONTAINERS = dict, list, set, deque
REPLACEABLE = type, types.FunctionType, types.BuiltinFunctionType


class Node:
    __slots__ = "shape", "owner", "kept", "parent", "key"

    def __init__(self, shape, owner, parent, key):
        self.shape, self.owner, self.parent, self.key = shape, owner, parent, key
        self.kept = None


class Change:
    """A reference that is not what it was."""

    __slots__ = "node", "key", "old", "new"

    def __init__(self, node, key, old, new):
        self.node, self.key, self.old, self.new = node, key, old, new


class Heap:
    def __init__(self, root):
        self.origins = Origins(root)
        self._plans = Plans()
        self._clock, self._modules = time.perf_counter, sys.modules
        self.nodes, self.of, self.roots, self.others, self.unknown = [], {}, {}, [], []
        # Of the last comparison, where something was taken out: what can still be reached, and how.
        self.links = None

    # -- Remembering --------------------------------------------------------------------------------------------------

    def remember(self, others):
        """`others` are objects by name that no module need lead to."""
        self.nodes, self.of, self.roots, self.unknown, self.links = [], {}, {}, [], None
        self._deadline = self._clock() + SECONDS
        self._plans.renew()
        for special in self.origins.special_objects():
            self.of[id(special)] = ()
        self._walk(self._modules_first_ours() + self._others(others))

    def had(self, module, name):
        """Whether a module had this attribute when that was remembered."""
        node = self.roots.get(id(module_globals(module)))
        return node is not None and name in (node.kept or ())

    def _modules_first_ours(self):
        """Nodes of the modules: the project's, then what is installed, then the standard library's."""
        found = []
        for name, module in list(self._modules.items()):
            if type(name) is not str or id(module) in self.of or module is None:
                continue
            if not is_a(type(module), types.ModuleType):
                shapes = self._plans.of(type(module))
                found.extend((1, Node(shape, module, None, name)) for shape in shapes)
                continue
            own = module_globals(module).get("__name__")
            if type(own) is str and own != name and self._modules.get(own) is module:
                name = own
            self.of[id(module)] = self.of[id(module_globals(module))] = ()
            origin = self.origins.of_module(name, module)
            if origin != "ours":
                node = Node(MODULE, module, None, name)
                self.roots[id(module_globals(module))] = node
                found.append(({"project": 0, "installed": 1}.get(origin, 2), node))
        found.sort(key=lambda one: one[0])
        return [node for _, node in found]

    def _others(self, others):
        self.others = []
        for name, value in others.items():
            if id(value) not in self.of:
                made = [Node(shape, value, None, name) for shape in self._plans.of(type(value))]
                self.of[id(value)] = made
                self.others.extend(made)
        return self.others

    def _walk(self, first):
        queue, count = deque(first), 0
        nodes, of, plan_of, plans = self.nodes, self.of, self._plans.of, self._plans.known
        while queue:
            node = queue.popleft()
            shape, owner = node.shape, node.owner
            try:
                kept = node.kept = shape.keep(owner)
            except Exception:
                continue  # It does not let itself be read; nothing of it is compared.
            count += 1
            if (shape.slow or not count % 512) and self._clock() > self._deadline:
                self.unknown.append(
                    "there is too much to look at: %d objects in %g s, not what lies deeper" % (count, SECONDS)
                )
                return
            if shape.keeps:
                nodes.append(node)
                if type(kept) in (dict, list) and len(kept) > MOST_ENTRIES:
                    self.unknown.append("%s of %d entries was not followed" % (shape.word, len(kept)))
                    continue
            depth = self._depth(node)
            if depth == "none":
                continue
            for key, value in shape.children(owner, kept):
                kind = type(value)
                known = plans.get(id(kind))
                shapes = known[1] if known is not None else plan_of(kind)
                if not shapes or id(value) in of:
                    continue
                if depth == "classes" and shapes is not CLASS:
                    continue
                if depth == "shallow" and shapes is not CLASS and not any(kind is one for one in CONTAINERS):
                    continue
                if kind is types.FunctionType and self.origins.of_function(value) not in ("project", "installed"):
                    continue
                if shapes is CLASS and self.origins.of_class(value) == "ours":
                    continue
                if type(key) is str and self._is_noise(node, key):
                    continue
                made = [Node(one, value, node, key) for one in shapes]
                of[id(value)] = made
                queue.extend(made)
                if made[-1].shape.__class__ is Attributes:
                    try:
                        of[id(made[-1].shape.look(value))] = made  # Seen as the object's, wherever else it is met.
                    except Exception:
                        pass

    def _depth(self, node):
        """How far to follow what a node holds: all the way, containers and classes only, classes only, or not at all."""
        parent = node.parent
        if node.shape is MODULE:
            if self.origins.of_module(node.key, node.owner) != "standard" or node.key in STATE_HOLDERS:
                return "deep"
            return "classes" if node.key in noise.CACHES else "shallow"
        if node.shape is CLASS[0] and self.origins.of_class(node.owner) not in ("project", "installed"):
            return "none"
        if parent is not None and parent.shape is MODULE and self._depth(parent) != "deep":
            return "none"
        return "deep"

    # -- Comparing ----------------------------------------------------------------------------------------------------

    def compare(self):
        """What has changed in what can still be reached."""
        changes, where = [], []
        for node in self.nodes:
            found = self.changes_of(node)
            if found:
                where.append(node)
                changes.extend(found)
        self.links = None
        if not all(map(self._is_in_place, where)):
            self.links = self._reach()
            changes = [change for change in changes if id(change.node.owner) in self.links]
        return changes

    def changes_of(self, node):
        try:
            if node.shape.unchanged(node.kept, node.owner):
                return ()
            found = (Change(node, *found) for found in node.shape.diff(node.kept, node.owner))
            return [change for change in found if not self._is_noise(node, change.key) and not _is_cached(change)]
        except Exception:
            return ()  # It was changed while it was read, or does not let itself be read any more.

    def _is_noise(self, node, key):
        if type(key) is not str:
            return False
        if node.shape is MODULE:
            return key in noise.NAMES or "%s.%s" % (node.key, key) in noise.CELLS
        if node.shape is CLASS[0]:
            return key in noise.NAMES or "%s.%s" % (name_of_class(node.owner), key) in noise.CELLS
        if type(node.owner) is types.FunctionType:
            return key in noise.NAMES
        if key in noise.LOGGER_NAMES and class_body(type(node.owner)).get("__module__") == "logging":
            return True
        return False

    def _is_in_place(self, node):
        """Whether the way on which it was reached is still there."""
        while node.parent is not None:
            try:
                if not node.parent.shape.holds(node.parent.owner, node.key, node.owner):
                    return False
            except Exception:
                return False
            node = node.parent
        return True

    def _reach(self):
        """By id of an object that was remembered: the node and key by which it is reached now."""
        links, queue = {}, deque()
        for node in list(self.roots.values()) + self.others:
            links[id(node.owner)] = None, node.key
            queue.append(node)
        while queue:
            node = queue.popleft()
            try:
                now = list(node.shape.children(node.owner, node.shape.keep(node.owner)))
            except Exception:
                continue
            for key, value in now:
                nodes = self.of.get(id(value))
                if nodes and id(value) not in links and nodes[0].owner is value:
                    links[id(value)] = node, key
                    queue.extend(nodes)
        return links

    # -- Putting back -------------------------------------------------------------------------------------------------

    def restore(self, change):
        """Puts a reference back; and what it refers to, where nothing else did when it was compared, with all below."""
        change.node.shape.write(change.node, change.key, change.old)
        if self.links is None:
            return
        seen, stack = set(), [change.old]
        while stack:
            value = stack.pop()
            nodes = self.of.get(id(value))
            if not nodes or id(value) in seen or id(value) in self.links or nodes[0].owner is not value:
                if type(value) is list and value is change.node.kept:
                    stack.extend(value)
                continue
            seen.add(id(value))
            for node in nodes:
                for found in self.changes_of(node) if node.shape.keeps else ():
                    node.shape.write(node, found.key, found.old)
                if node.kept is not None:
                    stack.extend(child for _, child in node.shape.children(node.owner, node.kept))


def _is_cached(change):
    """Whether it is in a module that keeps what it computed, and no function or class that was put in another's place."""
    if change.node.shape is not MODULE or change.node.key not in noise.CACHES:
        return False
    return not any(is_a(type(one), kind) for one in (change.old, change.new) for kind in REPLACEABLE)
