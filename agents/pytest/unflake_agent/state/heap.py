"""All objects that modules lead to: remembers, compares and restores their references.

Every mutable object is a node: how it was first reached, and a copy of the references that it held.
A comparison visits the known nodes only: whatever is new is behind a changed reference, and that
reference is the change.
"""

import functools
import logging
import sys
import time
import types
from collections import deque

from ..common.introspect import class_body, is_subclass, module_globals
from . import noise
from .module_origins import ModuleOrigins
from .repr import MISSING, class_path
from .shape_lookup import ShapeLookup
from .shapes import CLASS, MODULE, AttributeShape

MAX_SECONDS = 2.0
MAX_ENTRIES = 200_000
# Modules of the standard library whose objects are followed as deeply as the project's.
STATEFUL_MODULES = frozenset(
    ("logging", "logging.handlers", "logging.config", "asyncio.events", "asyncio.unix_events", "mimetypes")
)
FOLLOWED = "project", "installed"
CONTAINERS = dict, list, set, deque
# Attributes of a logger that follow from its name, or are computed.
LOGGER_LINKS = "parent", "manager", "_cache"
# An object that was replaced is named by its parts if no more than these differ.
MAX_INSIDE = 12
REPLACEABLE = type, types.FunctionType, types.BuiltinFunctionType


class Node:
    __slots__ = "shape", "owner", "saved", "parent", "key"

    def __init__(self, shape, owner, parent, key):
        self.shape, self.owner, self.parent, self.key = shape, owner, parent, key
        self.saved = None


class Change:
    """A reference that differs from what was remembered."""

    __slots__ = "node", "key", "old", "new", "label"

    def __init__(self, node, key, old, new):
        self.node, self.key, self.old, self.new = node, key, old, new


class Heap:
    def __init__(self):
        self.origins = ModuleOrigins()
        self._shapes = ShapeLookup()
        self._clock, self._modules = time.thread_time, sys.modules  # Time of others does not count.
        self.nodes, self.nodes_by_id, self.roots, self.extra_roots, self.unknown = [], {}, {}, [], []
        # After a comparison in which an object was detached: what is still reachable, and how.
        self.links = None

    # -- Remember ----------------------------------------------------------------------------------

    def remember(self, extra_roots):
        """`extra_roots`: further objects by name, which no module need lead to."""
        self.nodes, self.nodes_by_id, self.roots, self.unknown, self.links = [], {}, {}, [], None
        self._deadline = self._clock() + MAX_SECONDS
        self._shapes.refresh()
        for one in self.origins.reported_otherwise:
            self.nodes_by_id[id(one)] = ()
        self._walk(self._module_roots() + self._extra_roots(extra_roots))

    def extend(self, extra_roots):
        """Adds the objects that were made since, as they are now. What is known keeps its old state."""
        self._deadline = self._clock() + MAX_SECONDS
        self._shapes.refresh()
        known = self.extra_roots
        found = deque(self._module_roots() + self._extra_roots(extra_roots))
        self.extra_roots = known + self.extra_roots
        for node in list(self.nodes):
            if self.changes_of(node):
                found.extend(self._unknown_children(node, node.shape.snapshot(node.owner)))
        self._walk(found)

    def had_attribute(self, module, name):
        """Whether a module had this attribute when its state was remembered."""
        node = self.roots.get(id(module_globals(module)))
        return node is not None and name in (node.saved or ())

    def _module_roots(self):
        """Nodes of the modules: the project's, then installed ones, then the standard library's."""
        found = []
        for name, module in list(self._modules.items()):
            if type(name) is not str or id(module) in self.nodes_by_id or module is None:
                continue
            if not is_subclass(type(module), types.ModuleType):
                shapes = self._shapes.of(type(module))
                found.extend((1, Node(shape, module, None, name)) for shape in shapes)
                continue
            own = module_globals(module).get("__name__")
            if type(own) is str and own != name and self._modules.get(own) is module:
                name = own
            self.nodes_by_id[id(module)] = self.nodes_by_id[id(module_globals(module))] = ()
            origin = self.origins.of_module(name, module)
            if origin != "runner":
                node = Node(MODULE, module, None, name)
                self.roots[id(module_globals(module))] = node
                found.append(({"project": 0, "installed": 1}.get(origin, 2), node))
        found.sort(key=lambda one: one[0])
        return [node for _, node in found]

    def _extra_roots(self, extra_roots):
        self.extra_roots = []
        # An object that is also a global is named by its module.
        followed = [root for root in self.roots.values() if self._depth(root) == "deep"] if extra_roots else []
        global_ids = {id(value) for root in followed for value in module_globals(root.owner).values()}
        for name, value in extra_roots.items():
            if id(value) not in self.nodes_by_id and id(value) not in global_ids:
                made = [Node(shape, value, None, name) for shape in self._shapes.of(type(value))]
                self.nodes_by_id[id(value)] = made
                self.extra_roots.extend(made)
        return self.extra_roots

    def _walk(self, first):
        queue, count = deque(first), 0
        while queue:
            node = queue.popleft()
            shape, owner = node.shape, node.owner
            try:
                saved = node.saved = shape.snapshot(owner)
            except Exception:
                continue  # It cannot be read, so it is not compared.
            count += 1
            if (shape.is_slow or not count % 512) and self._clock() > self._deadline:
                self.unknown.append(
                    "the state is too large: %d objects compared in %g s, deeper ones skipped" % (count, MAX_SECONDS)
                )
                return
            if shape.can_change:
                self.nodes.append(node)
                if type(saved) in (dict, list) and len(saved) > MAX_ENTRIES:
                    self.unknown.append("%s of %d entries was not followed" % (shape.kind, len(saved)))
                    continue
            queue.extend(self._unknown_children(node, saved))

    def _unknown_children(self, node, saved):
        """Nodes of the objects that a node leads to and that have none yet."""
        found, depth = [], self._depth(node)
        if depth == "none":
            return found
        nodes_by_id, shapes_of, known_shapes = self.nodes_by_id, self._shapes.of, self._shapes.known
        for key, value in node.shape.children(node.owner, saved):
            kind = type(value)
            known = known_shapes.get(id(kind))
            shapes = known[1] if known is not None else shapes_of(kind)
            if not shapes or id(value) in nodes_by_id:
                continue
            is_class = shapes[0] is CLASS[0]
            if depth == "classes" and not is_class:
                continue
            if depth == "shallow" and not is_class and not any(kind is one for one in CONTAINERS):
                continue
            if kind is types.FunctionType and self.origins.of_function(value) not in FOLLOWED:
                continue
            origin = self.origins.of_class(value) if is_class else None
            if origin == "runner" or type(key) is str and self._is_noise(node, key):
                continue
            if node.shape.kind == "function" and _is_dispatch_cache(node.owner, key):
                continue
            made = [Node(one, value, node, key) for one in shapes if one.kind != "subclass" or origin in FOLLOWED]
            nodes_by_id[id(value)] = made
            found.extend(made)
            if made[-1].shape.__class__ is AttributeShape:
                try:
                    # Its `__dict__` is part of the object, wherever else it is referred to.
                    nodes_by_id[id(made[-1].shape.mapping(value))] = made
                except Exception:
                    pass
        return found

    def _depth(self, node):
        """How far to follow: "deep", "shallow" (containers and classes), "classes" or "none"."""
        parent = node.parent
        if node.shape is MODULE:
            if self.origins.of_module(node.key, node.owner) != "standard" or node.key in STATEFUL_MODULES:
                return "deep"
            return "classes" if node.key in noise.CACHING_MODULES else "shallow"
        if node.shape is CLASS[0] and self.origins.of_class(node.owner) not in FOLLOWED:
            return "deep" if class_body(node.owner).get("__module__") in STATEFUL_MODULES else "none"
        if parent is not None and parent.shape is MODULE and self._depth(parent) != "deep":
            return "none"
        return "deep"

    # -- Compare -----------------------------------------------------------------------------------

    def compare(self):
        """The changes in objects that are still reachable."""
        changes, changed_nodes = [], []
        for node in self.nodes:
            found = self.changes_of(node)
            if found:
                changed_nodes.append(node)
                changes.extend(found)
        self.links = None
        if not all(map(self._is_still_reachable, changed_nodes)):
            self.links = self._reachable()
            changes = [change for change in changes if id(change.node.owner) in self.links]
        return changes

    def changes_of(self, node):
        try:
            if node.shape.is_unchanged(node.saved, node.owner):
                return ()
            found = (Change(node, *found) for found in node.shape.diff(node.saved, node.owner))
            return [change for change in found if not self._is_noise(node, change.key) and not _is_cached_result(change)]
        except Exception:
            return ()  # It changed while it was read, or cannot be read any more.

    def _is_noise(self, node, key):
        if type(key) is not str:
            return False
        if node.shape is MODULE:
            return key in noise.ATTRIBUTES or "%s.%s" % (node.key, key) in noise.SINGLE_CELLS
        if node.shape is CLASS[0]:
            return key in noise.ATTRIBUTES or "%s.%s" % (class_path(node.owner), key) in noise.SINGLE_CELLS
        if type(node.owner) is types.FunctionType:
            return key in noise.ATTRIBUTES
        return key in noise.LOGGER_ATTRIBUTES and class_body(type(node.owner)).get("__module__") == "logging"

    def _is_still_reachable(self, node):
        """Whether the references on which it was first reached still lead to it."""
        while node.parent is not None:
            try:
                if not node.parent.shape.still_contains(node.parent.owner, node.key, node.owner):
                    return False
            except Exception:
                return False
            node = node.parent
        return True

    def _reachable(self):
        """By the id of a remembered object: the node and key through which it is reached now."""
        links, queue = {}, deque()
        for node in list(self.roots.values()) + self.extra_roots:
            links[id(node.owner)] = None, node.key
            queue.append(node)
        while queue:
            node = queue.popleft()
            try:
                now = list(node.shape.children(node.owner, node.shape.snapshot(node.owner)))
            except Exception:
                continue
            for key, value in now:
                nodes = self.nodes_by_id.get(id(value))
                if nodes and id(value) not in links and nodes[0].owner is value:
                    links[id(value)] = node, key
                    queue.extend(nodes)
        return links

    def inside(self, change):
        """Where an object was replaced by another of its kind: how the parts of the new one differ.

        A new logger is compared with an unconfigured one. Empty if there are too many
        differences to name, or none.
        """
        found, seen, queue = [], set(), deque([(_as_made(change), change.new, "")])
        while queue:
            old, new, label = queue.popleft()
            if id(new) in seen or type(old) is not type(new) or _is_replaced_as_one(new):
                return []
            seen.add(id(new))
            known = self.nodes_by_id.get(id(old)) or ()
            for shape in self._shapes.of(type(new)):
                saved = next((one.saved for one in known if one.shape is shape and one.owner is old), None)
                node = Node(shape, new, None, None)
                try:
                    node.saved = shape.snapshot(old) if saved is None else saved
                    differences = [Change(node, *one) for one in shape.diff(node.saved, new)] if shape.can_change else []
                except Exception:
                    return []
                for one in differences:
                    if change.old is MISSING and one.key in LOGGER_LINKS:
                        continue
                    one.label = label + shape.label(one.key)
                    if one.key is not None and type(one.old) is type(one.new) and self._shapes.of(type(one.new)):
                        queue.append((one.old, one.new, one.label))
                    else:
                        found.append(one)
            if len(found) + len(queue) > MAX_INSIDE:
                return []
        return [one for one in found if one.label]

    # -- Restore -----------------------------------------------------------------------------------

    def restore(self, change):
        """Restores a reference, and the objects behind it that nothing else referred to."""
        change.node.shape.restore(change.node, change.key, change.old)
        _clear_dispatch_cache(change.node)
        if self.links is None:
            return
        seen, stack = set(), [change.old]
        while stack:
            value = stack.pop()
            nodes = self.nodes_by_id.get(id(value))
            if not nodes or id(value) in seen or id(value) in self.links or nodes[0].owner is not value:
                if type(value) is list and value is change.node.saved:
                    stack.extend(value)
                continue
            seen.add(id(value))
            for node in nodes:
                for found in self.changes_of(node) if node.shape.can_change else ():
                    node.shape.restore(node, found.key, found.old)
                if node.saved is not None:
                    stack.extend(child for _, child in node.shape.children(node.owner, node.saved))


def _as_made(change):
    """The object with which a new one is compared: the old one, or for a new logger another new one."""
    if change.old is MISSING and type(change.new) is logging.Logger:
        return logging.Logger(change.new.name)
    return change.old


def _is_dispatch_cache(function, key):
    """Whether this part of a `singledispatch` function only caches what its registry says."""
    return key in (("dispatch_cache",), "_clear_cache") and function.__globals__ is module_globals(functools)


def _clear_dispatch_cache(node):
    """Clears the cache of a `singledispatch` function whose registry was restored."""
    while node is not None:
        if type(node.owner) is types.FunctionType and node.owner.__globals__ is module_globals(functools):
            clear = node.owner.__dict__.get("_clear_cache")
            if clear is not None:
                clear()
        node = node.parent


def _is_replaced_as_one(value):
    return any(is_subclass(type(value), kind) for kind in REPLACEABLE + (types.ModuleType,))


def _is_cached_result(change):
    """Whether a caching module changed a global other than a function or a class."""
    if change.node.shape is not MODULE or change.node.key not in noise.CACHING_MODULES:
        return False
    return not any(is_subclass(type(one), kind) for one in (change.old, change.new) for kind in REPLACEABLE)
