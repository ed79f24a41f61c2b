"""What tests leave behind: remembered, compared, put back, watched. PYTEST_DONT_REWRITE

All of it stays in this process and in what is forked from it: references and shallow copies, not texts.
"""

import gc
import json
import logging
import os
import sys
import time
import types
import warnings

from .descriptors import Descriptors
from .files import Files
from .heap import Heap
from .object_paths import Names, tell
from .shapes import MODULE
from .fixtures import Standing
from .process_state import AtExit, Modules, Settings, Signals, Threads, Variables
from ..common.introspect import MISSING, is_a, same
from .write_watch import Watch

FORMAT = 1
MOST_CELLS = 5000


class State:
    def __init__(self, session, side, own_descriptors, spared):
        root = str(session.config.rootpath)
        self._side = side
        self._heap = Heap(root)
        variables = Variables()
        self._modules, self._settings, self._standing = Modules(self._heap.had), Settings(variables), Standing(session)
        self._groups = [
            variables,
            self._settings,
            Signals(),
            self._modules,
            Threads(),
            Descriptors(own_descriptors),
            AtExit(),
            self._standing,
        ]
        self._files = Files(root, side, spared)
        self._watch = Watch(root, self._heap.origins)
        self._kept = None  # By group, values by path.
        self._cells = {}  # Of the last comparison, by path: how to put it back.
        self._told = 0
        self._clock, self._open, self._join, self._pid = time.perf_counter, open, os.path.join, os.getpid
        self._dump = json.JSONEncoder().encode
        self._is_collecting, self._collect, self._leave = gc.isenabled, gc.enable, gc.disable
        self._manager = logging.root.manager

    def obey(self, order):
        """The event that answers an order, and its fields; None if there is none."""
        self._settings.collecting = self._is_collecting()
        self._leave()  # A collection in between would run finalizers, and take longer than all the rest.
        try:
            return self._obey(order)
        finally:
            if self._settings.collecting:
                self._collect()
            self._settings.collecting = None

    def _obey(self, order):
        kind = order["order"]
        if kind != "remember" and self._kept is None:
            return "problem", {"kind": "internal", "place": None, "text": "%s before anything was remembered" % kind}
        if kind == "remember":
            return "remembered", self._remember()
        if kind == "compare":
            return "changed", {"path": self._compare()}
        if kind == "restore":
            return "restored", self._restore(order["cells"])
        self._watch.begin(order["cells"], self._checks(order["cells"]))
        return None

    def written(self):
        """What was seen of watched cells, until nobody watches them any more."""
        return self._watch.end()

    # -- Remembering --------------------------------------------------------------------------------------------------

    def _remember(self):
        begin = self._clock()
        self._cells = {}
        files = self._files.remember()
        self._kept = [group.read() for group in self._groups]
        self._heap.remember(self._kept[-1])
        cells = files + len(self._heap.nodes) + sum(map(len, self._kept))
        return {"cells": cells, "seconds": round(self._clock() - begin, 6)}

    def before_fork(self):
        self._before_fork = self._kept and [group.read() for group in self._groups]

    def in_child(self):
        """What is different only because this is a copy (its connection, its random state) is not a change."""
        if self._kept is None:
            return
        self._watch.forget()
        for group, kept, before in zip(self._groups, self._kept, self._before_fork):
            now = group.read()
            for path in set(now) | set(before):
                then, here = before.get(path, MISSING), now.get(path, MISSING)
                if not same(then, here) and same(then, kept.get(path, MISSING)):
                    _put(kept, path, here)

    # -- Comparing ----------------------------------------------------------------------------------------------------

    def _compare(self):
        begin = self._clock()
        self._cells, told, unknown = {}, [], []
        modules = set()
        for group, kept in zip(self._groups, self._kept):
            for path, old, new in _differences(kept, group.read()):
                if group is self._modules:
                    modules.add(path[13:-2])
                self._add(told, _cell_of_group(group, path, old, new), GroupCell(group, kept, path, old))
        self._compare_heap(told, modules)
        for path, (old, new) in self._files.changes().items():
            self._add(told, _cell_of_group(self._files, path, old, new), FileCell(self._files, path, old, new))
        unknown += self._heap.unknown + self._files.unknown
        if len(told) > MOST_CELLS:
            unknown.append("%d more cells have changed" % (len(told) - MOST_CELLS))
            del told[MOST_CELLS:]
        self._told += 1
        path = self._join(self._side, "state-%d-%d.json" % (self._pid(), self._told))
        told = {"format": FORMAT, "cells": told, "unknown": unknown, "seconds": round(self._clock() - begin, 6)}
        with self._open(path, "w", encoding="utf-8") as file:
            file.write(self._dump(told))
        return path

    def _compare_heap(self, told, modules):
        changes = self._heap.compare()
        names = Names(self._heap, sys.modules)
        for change in changes:
            if not self._is_of_import(change, modules):
                self._add(told, tell(change, names.cell(change)), HeapCell(self._heap, change))
            change.new = None  # It is told; to keep it alive would be another change.

    def _is_of_import(self, change, modules):
        """Whether a package got an attribute because a module of it, which is told, was imported."""
        if change.node.shape is not MODULE or "%s.%s" % (change.node.key, change.key) not in modules:
            return False
        return any(is_a(type(one), types.ModuleType) for one in (change.old, change.new))

    def _add(self, told, cell, way):
        for field in ("path", "before", "after"):
            if cell[field] is not None:  # Names of files need not be Unicode.
                cell[field] = cell[field].encode("utf-8", "backslashreplace").decode()
        path, number = cell["path"], 2
        while cell["path"] in self._cells:
            cell["path"], number = "%s (%d)" % (path, number), number + 1
        if cell["fixed"] is None:
            del cell["fixed"]
        way.fixed = cell.get("fixed")
        self._cells[cell["path"]] = way
        told.append(cell)

    # -- Putting back -------------------------------------------------------------------------------------------------

    def _restore(self, paths):
        failed = []
        wanted = dict.fromkeys(paths)
        for path, way in self._cells.items():
            if type(way) is FileCell and path not in wanted:
                try:
                    way.put_again()  # Another copy of this process may have put it back.
                except Exception as error:
                    failed.append({"cell": path, "why": "it is not what it was when it was compared: %s" % error})
        for path in wanted:
            why = self._restore_one(path)
            if why is not None:
                failed.append({"cell": path, "why": why})
        self._after_restoring()
        return {"failed": failed} if failed else {}

    def _restore_one(self, path):
        way = self._cells.get(path)
        if way is None:
            return "no comparison in this process has named it"
        if way.fixed is not None:
            return way.fixed
        try:
            way.put_back()
        except Exception as error:
            return "%s: %s" % (type(error).__name__, error)
        return None

    def _after_restoring(self):
        """What the standard library computes from what may have been put back is computed anew."""
        for forget in (getattr(self._manager, "_clear_cache", None), getattr(warnings, "_filters_mutated", None)):
            try:
                forget()
            except Exception:
                pass

    # -- Watching -----------------------------------------------------------------------------------------------------

    def _checks(self, paths):
        """By path: whether a cell differs from what was remembered, each looking at as little as it can."""
        wanted, checks = set(paths), {}
        for group, kept in zip(self._groups, self._kept):
            for path in wanted & (set(kept) | set(filter(group.may_have, wanted))):
                checks[path] = [
                    lambda path=path, group=group, kept=kept: not same(group.read_one(path), kept.get(path, MISSING))
                ]
        for path in wanted:
            if path.startswith("file ") and path not in checks:
                checks[path] = [self._files.check(path)]
        rest = wanted - set(checks)
        if rest:
            self._heap.links = None
            names = Names(self._heap, sys.modules)
            for path, nodes in _containers(self._heap, names, rest).items():
                checks[path] = [self._heap_check(path, node, name) for node, name in nodes]
        return checks

    def _heap_check(self, path, node, name):
        changes_of, label = self._heap.changes_of, node.shape.label

        def differs():
            return any(name + label(change.key) == path for change in changes_of(node))

        return differs


def _containers(heap, names, paths):
    """By path: the nodes in which it can be, with their own paths: the nearest above it, and it itself."""
    found, known = {path: [] for path in paths}, {}
    for node in heap.nodes:
        if not names.begin_of(node, paths, known):
            continue
        name = names.path(node)
        for path in paths:
            if path.startswith(name):
                found[path].append((node, name))
    for path, nodes in found.items():
        above = max((len(name) for _, name in nodes if name != path), default=0)
        found[path] = [one for one in nodes if len(one[1]) >= above]
    return found


class HeapCell:
    def __init__(self, heap, change):
        self._heap, self._change = heap, change

    def put_back(self):
        self._heap.restore(self._change)


class GroupCell:
    def __init__(self, group, kept, path, old):
        self._group, self._kept, self._path, self._old = group, kept, path, old

    def put_back(self):
        self._group.write(self._path, self._old)
        if self._group.settles:
            _put(self._kept, self._path, self._group.read_one(self._path))


class FileCell:
    def __init__(self, files, path, old, new):
        self._files, self._path, self._entry = files, path, old if old is not MISSING else new

    def put_back(self):
        self._files.put(self._path, "before", self._entry)

    def put_again(self):
        self._files.put(self._path, "after", self._entry)


def _put(values, path, value):
    if value is MISSING:
        values.pop(path, None)
    else:
        values[path] = value


def _differences(old, new):
    for path in list(old) + [path for path in new if path not in old]:
        before, after = old.get(path, MISSING), new.get(path, MISSING)
        if before is not after and (before is MISSING or after is MISSING or not same(before, after)):
            yield path, before, after


def _cell_of_group(group, path, old, new):
    return {
        "path": path,
        "kind": group.kind_of(path),
        "before": None if old is MISSING else group.text(path, old),
        "after": None if new is MISSING else group.text(path, new),
        "fixed": group.fixed(path, old, new),
    }
