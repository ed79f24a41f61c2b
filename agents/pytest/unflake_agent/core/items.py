"""Provides a fresh pytest item for every run of a test: the collected one first, then clones.

A clone is the item as it was before its first run. Attributes of a custom item that are changed in
place, such as a list of its own, are shared by its clones.
"""

import operator

# Attributes in which pytest, depending on its version, keeps what one run leaves on an item.
RUN_ATTRIBUTES = "_instance", "_testcase", "_request", "funcargs", "_excinfo", "_prepare_exc", "_explicit_tearDown"
LISTS = "own_markers", "user_properties", "_report_sections"
STASHES = "stash", "_store"
# Lists that are empty before the first run, unless a plugin filled them.
GROWING_LISTS = "user_properties", "_report_sections"
CHANGED_BY_RUN = frozenset(RUN_ATTRIBUTES + ("_obj",))
# What a snapshot has a copy of, because a run changes it in place.
COPIED = frozenset(LISTS + STASHES + ("keywords", "dtest"))
NOTHING = object()
# In place of a snapshot: the item can be snapshotted again, a run has changed nothing else.
RESETTABLE = object()
# Beyond this a line is not one of a file.
MAX_LINE = 2**31


class ItemPool:
    """The collected tests by number."""

    def __init__(self, items):
        self._items = items
        self._snapshots = {}
        self._slots = {}

    def __len__(self):
        return len(self._items)

    def take(self, n):
        """An item for test `n` on which no run has left anything."""
        snapshot = self._snapshots.get(n)
        if snapshot is None:
            self._snapshots[n] = self._snapshot(self._items[n])
            return self._items[n]
        if snapshot is RESETTABLE:
            snapshot = self._snapshot(self._items[n])
            for name in GROWING_LISTS:
                if name in snapshot:
                    snapshot[name] = []
            for name in STASHES:
                if name in snapshot:
                    snapshot[name] = snapshot[name][0], {}
        return self._clone(self._items[n], snapshot)

    def release(self, n):
        """Test `n` is not expected to run again soon. Drops its snapshot if it can be made again.

        Snapshots of every test of a large suite would slow down each garbage collection.
        """
        snapshot = self._snapshots.get(n)
        if snapshot is not None and snapshot is not RESETTABLE and self._is_resettable(self._items[n], snapshot):
            self._snapshots[n] = RESETTABLE

    def _is_resettable(self, item, snapshot):
        now = item.__dict__
        # Nearly always few differ: one pass by identity is all that most tests pay for.
        for name in [name for name, value in now.items() if snapshot.get(name, NOTHING) is not value]:
            if name not in CHANGED_BY_RUN and not (name in COPIED and name in snapshot):
                return False
        for name in GROWING_LISTS:
            if snapshot.get(name):
                return False
        for name in STASHES:
            if name in snapshot and snapshot[name][1]:
                return False
        if len(snapshot.get("own_markers", ())) != len(now.get("own_markers", ())):
            return False
        keywords = snapshot.get("keywords")
        if type(keywords) is tuple and len(keywords[1]) != len(now["keywords"]._markers):
            return False
        return "dtest" not in snapshot

    def _snapshot(self, item):
        """The item's attributes, with copies of all that a run changes in place."""
        parts = item.__dict__.copy()
        names, values_of = self._slots_of(type(item))
        try:
            parts.update(zip(names, values_of(item)))
        except AttributeError:
            parts.update((name, getattr(item, name)) for name in names if hasattr(item, name))
        for name in LISTS:
            if name in parts:
                parts[name] = list(parts[name])
        for name in STASHES:
            if name in parts:
                parts[name] = parts[name], dict(_contents(parts[name]))
        keywords = parts.get("keywords")
        if hasattr(keywords, "_markers"):
            parts["keywords"] = keywords, dict(keywords._markers)
        if "dtest" in parts and hasattr(parts["dtest"], "globs"):
            parts["dtest"] = parts["dtest"], dict(parts["dtest"].globs)  # A doctest clears them.
        return parts

    def _clone(self, item, snapshot):
        clone = object.__new__(type(item))
        parts = {name: value for name, value in snapshot.items() if name not in RUN_ATTRIBUTES}
        for name in LISTS:
            if name in parts:
                parts[name] = list(parts[name])
        stashes = {}
        for name in STASHES:
            if name in parts:
                stash, contents = parts[name]
                if id(stash) not in stashes:  # From pytest 7 on both names mean the same stash.
                    stashes[id(stash)] = type(stash)()
                    _contents(stashes[id(stash)]).update(contents)
                parts[name] = stashes[id(stash)]
        if type(parts.get("keywords")) is tuple:
            keywords, markers = parts["keywords"]
            parts["keywords"] = new = object.__new__(type(keywords))
            new.node, new.parent, new._markers = clone, keywords.parent, dict(markers)
        if type(parts.get("dtest")) is tuple:
            test, globs = parts["dtest"]
            parts["dtest"] = new = object.__new__(type(test))
            new.__dict__.update(test.__dict__, globs=dict(globs))
        # A method is bound to the instance of one run; without it pytest looks it up by name.
        if not isinstance(getattr(parts.get("_obj"), "__self__", None), (type, type(None))):
            del parts["_obj"]
        for name in self._slots_of(type(item))[0]:
            if name in parts:
                setattr(clone, name, parts.pop(name))
        clone.__dict__.update(parts)
        if hasattr(clone, "_initrequest"):
            clone._initrequest()
        return clone

    def _slots_of(self, kind):
        """Names of the slots, and a function that returns their values in that order."""
        if kind not in self._slots:
            names = []
            for base in kind.__mro__:
                slots = base.__dict__.get("__slots__", ())
                names.extend([slots] if isinstance(slots, str) else slots)
            names = [name for name in names if name not in ("__dict__", "__weakref__")]
            # With one name `attrgetter` returns no tuple, with none it refuses.
            self._slots[kind] = names, operator.attrgetter(*names, "__class__", "__class__")
        return self._slots[kind]


def _contents(stash):
    return getattr(stash, "_storage", None) if hasattr(stash, "_storage") else stash._store


def node_path(node):
    """The file of a collected node, whatever the version of pytest."""
    return str(getattr(node, "path", None) or getattr(node, "fspath", ""))


class WorkerGroups:
    """The group of xdist that a test is in. The marks of a module or class are looked at once."""

    def __init__(self):
        self._of_parents = {}

    def of(self, item):
        own = self._own(item)
        if own is None and item.parent is not None:
            own = self._of_parents.get(item.parent, self)
            if own is self:
                own = self._of_parents[item.parent] = self.of(item.parent)
        return own

    def _own(self, node):
        for mark in node.own_markers:
            if mark.name == "xdist_group":
                return str(mark.kwargs.get("name", mark.args[0] if mark.args else "default"))
        return None


def list_tests(items, truncate, ids=None):
    """Unique id and location of every test. A location that an item cannot give is left out.

    `ids`: by identity of an item, where it is not its node id.
    """
    counts = {}
    groups = WorkerGroups()
    for n, item in enumerate(items):
        name = truncate(ids.get(id(item), item.nodeid) if ids else item.nodeid)
        counts[name] = count = counts.get(name, 0) + 1
        while count > 1 and "%s (%d)" % (name, count) in counts:
            count += 1
        if count > 1:
            counts[name] = count
            name = "%s (%d)" % (name, count)
            counts[name] = 1
        listed = {"n": n, "id": name}
        try:
            file, line, _ = item.location
            listed["file"] = truncate(str(file))
            if line is not None and 0 <= line < MAX_LINE:
                listed["line"] = int(line) + 1
            group = groups.of(item)
            if group is not None:
                listed["needs"] = {"resources": {truncate(group): 1}}
        except Exception:
            pass
        yield listed
