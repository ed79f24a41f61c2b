"""Tests as often as one likes: the first time the runner's own item, then distinct copies. PYTEST_DONT_REWRITE"""

# Attributes in which pytest, by version, keeps what one run of a test leaves behind on its item.
OF_ONE_RUN = "_instance", "_testcase", "_request", "funcargs", "_excinfo", "_prepare_exc", "_explicit_tearDown"
LISTS = "own_markers", "user_properties", "_report_sections"
STASHES = "stash", "_store"
# Lists that are empty before the first run, unless a plugin filled them.
GROWN = "user_properties", "_report_sections"
CHANGED = frozenset(OF_ONE_RUN + ("_obj",))
# Of a test that a run has changed in the usual way only.
USUAL = object()


class Items:
    """The collected tests by number."""

    def __init__(self, items):
        self._items = items
        self._before = {}
        self._slots = {}

    def __len__(self):
        return len(self._items)

    def take(self, n):
        """An item for test `n` on which no run has left anything."""
        before = self._before.get(n)
        if before is None:
            self._before[n] = self._look(self._items[n])
            return self._items[n]
        if before is USUAL:
            before = self._look(self._items[n])
            for name in GROWN:
                if name in before:
                    before[name] = []
            for name in STASHES:
                if name in before:
                    before[name] = before[name][0], {}
        return self._copy(self._items[n], before)

    def put_back(self, n):
        """Test `n` need not be run again soon. What it was before is forgotten where it can be told from what it is
        now: remembered for every test of a large suite, it would make each garbage collection longer."""
        before = self._before.get(n)
        if before is not None and before is not USUAL and self._is_usual(self._items[n], before):
            self._before[n] = USUAL

    def _is_usual(self, item, before):
        now = item.__dict__
        for name, was in before.items():
            if name in GROWN:
                if was:
                    return False
            elif name in STASHES:
                if was[1]:
                    return False
            elif name == "own_markers":
                if len(was) != len(now.get(name, ())):
                    return False
            elif name == "keywords":
                if type(was) is tuple and len(was[1]) != len(now[name]._markers):
                    return False
            elif name in now and now[name] is not was and name not in CHANGED:
                return False
        return "dtest" not in before and not (now.keys() - before.keys() - CHANGED)

    def _look(self, item):
        """What the item is made of before it is first run, with all that a run changes in place copied."""
        parts = dict(item.__dict__)
        for name in self._slots_of(type(item)):
            if hasattr(item, name):
                parts[name] = getattr(item, name)
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
            parts["dtest"] = parts["dtest"], dict(parts["dtest"].globs)  # A run of a doctest clears them.
        return parts

    def _copy(self, item, before):
        copy = object.__new__(type(item))
        parts = {name: value for name, value in before.items() if name not in OF_ONE_RUN}
        for name in LISTS:
            if name in parts:
                parts[name] = list(parts[name])
        stashes = {}
        for name in STASHES:
            if name in parts:
                stash, contents = parts[name]
                if id(stash) not in stashes:  # In pytest 7 and later the two names mean the same stash.
                    stashes[id(stash)] = type(stash)()
                    _contents(stashes[id(stash)]).update(contents)
                parts[name] = stashes[id(stash)]
        if type(parts.get("keywords")) is tuple:
            keywords, markers = parts["keywords"]
            parts["keywords"] = new = object.__new__(type(keywords))
            new.node, new.parent, new._markers = copy, keywords.parent, dict(markers)
        if type(parts.get("dtest")) is tuple:
            test, globs = parts["dtest"]
            parts["dtest"] = new = object.__new__(type(test))
            new.__dict__.update(test.__dict__, globs=dict(globs))
        # A method is bound to the instance of one run; without it the item finds the function again by name.
        if not isinstance(getattr(parts.get("_obj"), "__self__", None), (type, type(None))):
            del parts["_obj"]
        slots = self._slots_of(type(item))
        for name in slots:
            if name in parts:
                setattr(copy, name, parts.pop(name))
        copy.__dict__.update(parts)
        if hasattr(copy, "_initrequest"):
            copy._initrequest()
        return copy

    def _slots_of(self, kind):
        if kind not in self._slots:
            names = []
            for base in kind.__mro__:
                slots = base.__dict__.get("__slots__", ())
                names.extend([slots] if isinstance(slots, str) else slots)
            self._slots[kind] = [name for name in names if name not in ("__dict__", "__weakref__")]
        return self._slots[kind]


def _contents(stash):
    return getattr(stash, "_storage", None) if hasattr(stash, "_storage") else stash._store


def listing(items, text):
    """Name and place of every test. Names are unique; a place that an item fails to tell is left out."""
    seen = {}
    for n, item in enumerate(items):
        name = text(item.nodeid)
        seen[name] = times = seen.get(name, 0) + 1
        while times > 1 and "%s (%d)" % (name, times) in seen:
            times += 1
        if times > 1:
            seen[name] = times
            name = "%s (%d)" % (name, times)
            seen[name] = 1
        listed = {"n": n, "id": name}
        try:
            file, line, _ = item.location
            listed["file"] = text(str(file))
            if line is not None and line >= 0:
                listed["line"] = int(line) + 1
        except Exception:
            pass
        yield listed
