"""Remembers the state of the process, compares it later, restores parts of it and watches writes.

A snapshot is references and shallow copies in this process, which forks inherit. No text is made
before a comparison finds a difference.
"""

import gc
import json
import logging
import os
import sys
import time
import types
import warnings

from ..common.introspect import class_body, is_subclass
from .class_links import ClassLink
from .descriptors import OpenDescriptors
from .files import FileState
from .fixtures import ActiveFixtures
from .heap import Heap
from .native_registries import ChildVariables, CodecErrorHandlers, CodecSearches, LibrarySettings
from .native_shapes import unseen_native_code
from .object_paths import ObjectPaths, cell_of
from .process_state import (
    EnvironmentVariables,
    ExitCallbacks,
    InterpreterSettings,
    LoadedModules,
    RunningThreads,
    SignalHandlers,
)
from .repr import MISSING, hashable_key, is_same
from .shapes import MODULE
from .write_watch import WriteWatch

FORMAT = 1
MAX_CELLS = 5000
MAX_WATCHED = 1000  # Elements of a new container.


class StateSnapshot:
    def __init__(self, session, side, agent_descriptors, ignored_directories, written_files):
        root = str(session.config.rootpath)
        self._side = side
        self._heap = Heap()
        variables = EnvironmentVariables()
        self._modules, self._settings = LoadedModules(self._heap.had_attribute), InterpreterSettings(variables)
        self._fixtures = ActiveFixtures(session)
        self._groups = [
            variables,
            self._settings,
            SignalHandlers(),
            self._modules,
            RunningThreads(),
            OpenDescriptors(agent_descriptors),
            ExitCallbacks(),
            CodecErrorHandlers(),
            CodecSearches(),
            ChildVariables(),
            LibrarySettings(),
            self._fixtures,  # The last: its values are roots of the heap.
        ]
        self._files = FileState(root, side, ignored_directories, written_files)
        self._watch = WriteWatch(root, self._heap.origins)
        self._saved = None  # For each group, values by path.
        self._active = None  # The set-ups that were done when the state was last remembered or extended.
        self._set_up = SetUpChanges()
        self._cells = {}  # Of the last comparison, by path.
        self._kept_classes = []
        self._comparisons = 0
        self._clock, self._open, self._join, self._getpid = time.perf_counter, open, os.path.join, os.getpid
        self._dump = json.JSONEncoder().encode
        self._is_gc_enabled, self._enable_gc, self._disable_gc = gc.isenabled, gc.enable, gc.disable
        self._log_manager = logging.root.manager

    def execute(self, order):
        """The event that answers an order, and its fields; None if there is none."""
        # A collection would run finalizers, and take longer than everything else.
        self._settings.collector_enabled = self._is_gc_enabled()
        self._disable_gc()
        try:
            return self._execute(order)
        finally:
            if self._settings.collector_enabled:
                self._enable_gc()
            self._settings.collector_enabled = None

    def _execute(self, order):
        kind = order["order"]
        if kind != "remember" and self._saved is None:
            return "problem", {"kind": "internal", "place": None, "text": "%s before anything was remembered" % kind}
        if kind == "remember":
            return "remembered", self._remember()
        if kind == "compare":
            return "changed", {"path": self._compare()}
        if kind == "restore":
            return "restored", self._restore(order["cells"])
        self._watch.start(self._checks(order["cells"]))
        return None

    def stop_watch(self):
        """The writes to watched cells, as fields of `written` events."""
        return self._watch.finish()

    # -- Remember ----------------------------------------------------------------------------------

    def _remember(self):
        begin = self._clock()
        self._cells, self._kept_classes = {}, []
        files = self._files.remember()
        self._saved = [group.read() for group in self._groups]
        self._heap.remember(self._saved[-1])
        self._active, self._set_up = self._fixtures.active(), SetUpChanges()
        cells = files + len(self._heap.nodes) + sum(map(len, self._saved))
        return {"cells": cells, "seconds": round(self._clock() - begin, 6)}

    def body_starts(self):
        """Called before the body of a test: adds what its shared set-up has made, as it is now.

        Such objects did not exist when the state was remembered. Without this, a change inside of one
        would be reported as the object itself.
        """
        active = self._fixtures.active() if self._saved is not None else self._active
        if active == self._active:
            return
        self._active = active
        was_enabled = self._is_gc_enabled()
        self._disable_gc()
        try:
            values = [group.read() for group in self._groups]
            self._set_up.record(values, self._heap.compare())
            self._heap.extend(values[-1])
            if self._watch.is_active():
                self._watch.add(self._checks(self._watch.cells()))
        finally:
            if was_enabled:
                self._enable_gc()

    def before_fork(self):
        self._before_fork = self._saved and [group.read() for group in self._groups]

    def after_fork_in_child(self):
        """Accepts what differs only because of the fork: the connection, random state."""
        if self._saved is None:
            return
        self._watch.stop()
        for group, saved, before in zip(self._groups, self._saved, self._before_fork):
            now = group.read()
            for path in set(now) | set(before):
                in_parent, in_child = before.get(path, MISSING), now.get(path, MISSING)
                if not is_same(in_parent, in_child) and is_same(in_parent, saved.get(path, MISSING)):
                    _assign(saved, path, in_child)

    # -- Compare -----------------------------------------------------------------------------------

    def _compare(self):
        """Writes the differences to a file; its path."""
        begin = self._clock()
        self._cells, cells = {}, []
        made_by_set_up = []
        changed_modules = set()
        for number, (group, saved) in enumerate(zip(self._groups, self._saved)):
            for path, old, new in _differences(saved, group.read()):
                if group is self._modules:
                    changed_modules.add(path[13:-2])
                found = _cell_of_group(group, path, old, new), GroupCell(group, saved, path, old)
                if self._set_up.has_value(number, path, new):
                    made_by_set_up.append(found)
                else:
                    self._add(cells, *found)
        self._compare_heap(cells, changed_modules, made_by_set_up)
        for cell, restorer in made_by_set_up:
            self._add(cells, dict(cell, set_up=True), restorer)
        for path, (old, new) in self._files.changes().items():
            self._add(cells, _cell_of_group(self._files, path, old, new), FileCell(self._files, path, old, new))
        unknown = self._heap.unknown + self._files.unknown + unseen_native_code(self._heap)
        if len(cells) > MAX_CELLS:
            unknown.append("%d more cells have changed" % (len(cells) - MAX_CELLS))
            del cells[MAX_CELLS:]
        self._comparisons += 1
        path = self._join(self._side, "state-%d-%d.json" % (self._getpid(), self._comparisons))
        seconds = round(self._clock() - begin, 6)
        with self._open(path, "w", encoding="utf-8") as file:
            file.write(self._dump({"format": FORMAT, "cells": cells, "unknown": unknown, "seconds": seconds}))
        return path

    def _compare_heap(self, cells, changed_modules, made_by_set_up):
        changes = self._heap.compare()
        paths = ObjectPaths(self._heap, sys.modules)
        for change in changes:
            if self._is_effect_of_import(change, changed_modules):
                continue
            cell, restorer = cell_of(change, paths.cell(change)), HeapCell(self._heap, change)
            if self._set_up.has_change(change):
                made_by_set_up.append((cell, restorer))
                continue
            inside = []
            for one in self._heap.inside(change):
                self._add(inside, cell_of(one, cell["path"] + one.label), HeapCell(self._heap, one))
            if inside:
                cell["inside"] = inside
            self._add(cells, cell, restorer)
        for change in changes:
            change.new = None  # Keeping the new object alive would itself be a change.
        # A class that a test made is alive until the garbage collector runs, which the agent brings nearer.
        links = [change.key.reference() for change in changes if type(change.key) is ClassLink]
        self._kept_classes = [one for one in links if one is not None]

    def _is_effect_of_import(self, change, changed_modules):
        """Whether a package got an attribute, or a class a subclass, by an import, which is reported."""
        if type(change.key) is ClassLink:
            linked = change.key.reference()
            return linked is None or class_body(linked).get("__module__") in changed_modules
        if change.node.shape is not MODULE or "%s.%s" % (change.node.key, change.key) not in changed_modules:
            return False
        return any(is_subclass(type(one), types.ModuleType) for one in (change.old, change.new))

    def _add(self, cells, cell, restorer):
        for field in ("path", "before", "after"):
            if cell[field] is not None:  # File names need not be valid Unicode.
                cell[field] = cell[field].encode("utf-8", "backslashreplace").decode()
        path, number = cell["path"], 2
        while cell["path"] in self._cells:
            cell["path"], number = "%s (%d)" % (path, number), number + 1
        if cell["fixed"] is None:
            del cell["fixed"]
        restorer.why_fixed = cell.get("fixed")
        self._cells[cell["path"]] = restorer
        cells.append(cell)

    # -- Restore -----------------------------------------------------------------------------------

    def _restore(self, paths):
        failed = []
        wanted = dict.fromkeys(paths)
        for path, cell in self._cells.items():
            if type(cell) is FileCell and path not in wanted:
                try:
                    cell.reapply()  # Another fork of this process may have restored the file.
                except Exception as error:
                    failed.append({"cell": path, "why": "it has changed since the comparison: %s" % error})
        for path in wanted:
            why = self._restore_cell(path)
            if why is not None:
                failed.append({"cell": path, "why": why})
        self._clear_derived_caches()
        return {"failed": failed} if failed else {}

    def _restore_cell(self, path):
        """Why it cannot be restored; None if it has been."""
        cell = self._cells.get(path)
        if cell is None:
            return "no comparison in this process reported it"
        if cell.why_fixed is not None:
            return cell.why_fixed
        try:
            cell.restore()
        except Exception as error:
            return "%s: %s" % (type(error).__name__, error)
        return None

    def _clear_derived_caches(self):
        """Clears what the standard library computes from state that may have been restored."""
        for clear in (getattr(self._log_manager, "_clear_cache", None), getattr(warnings, "_filters_mutated", None)):
            try:
                clear()
            except Exception:
                pass

    # -- Watch -------------------------------------------------------------------------------------

    def _checks(self, paths):
        """By path: functions that say whether a cell differs, reading as little as possible."""
        wanted, checks = set(paths), {}
        for group, saved in zip(self._groups, self._saved):
            for path in wanted & (set(saved) | set(filter(group.may_have, wanted))):
                checks[path] = [_group_check(group, path, saved.get(path, MISSING))]
        for path in wanted:
            if path.startswith("file ") and path not in checks:
                checks[path] = [self._files.check(path)]
        # What is inside of a fixture is part of the heap.
        rest = {path for path in wanted if path not in checks or path.startswith(self._fixtures.prefix)}
        if rest:
            self._heap.links = None
            paths_of_heap = ObjectPaths(self._heap, sys.modules)
            for path, nodes in _containers(self._heap, paths_of_heap, rest).items():
                checks.setdefault(path, []).extend(self._heap_check(path, node, name) for node, name in nodes)
        return checks

    def _heap_check(self, path, node, name):
        changes_of, parts_of, label = self._heap.changes_of, self._heap.inside, node.shape.label

        def difference():
            for change in changes_of(node):
                changed = name + label(change.key)
                if changed == path:
                    return _values(change)
                if path.startswith(changed):
                    parts = [part for part in parts_of(change) if changed + part.label == path]
                    return [value for part in parts for value in _values(part)]
            return None

        return difference


def _values(change):
    """What a change left, by values that are the same each time: a list as a whole is a new copy.

    What is put into a new container is part of it.
    """
    new = change.new
    if type(new) is list:
        return new if change.key is None else [new] + new[:MAX_WATCHED]
    if type(new) is set:
        return [new, len(new)] + list(new)[:MAX_WATCHED]
    if type(new) is dict:
        return [new, len(new)] + [one for pair in list(new.items())[:MAX_WATCHED] for one in pair]
    return [new]


def _group_check(group, path, old):
    def difference():
        now = group.read_one(path)
        return None if is_same(now, old) else [now]

    return difference


class SetUpChanges:
    """What shared set-up had changed when the body of a test began."""

    def __init__(self):
        self._values, self._changes = [], {}

    def record(self, values, changes):
        self._values = values
        self._changes = {(id(one.node), hashable_key(one.key)): one.new for one in changes}

    def has_value(self, group, path, now):
        return bool(self._values) and is_same(self._values[group].get(path, MISSING), now)

    def has_change(self, change):
        key = id(change.node), hashable_key(change.key)
        return key in self._changes and is_same(self._changes[key], change.new)


def _containers(heap, object_paths, wanted):
    """By path: the nodes that lead to it, with their own paths. One of them may be replaced later."""
    found, known = {path: [] for path in wanted}, {}
    for node in heap.nodes:
        if not object_paths.may_start(node, wanted, known):
            continue
        name = object_paths.path(node)
        for path in wanted:
            if path.startswith(name):
                found[path].append((node, name))
    return found


class HeapCell:
    def __init__(self, heap, change):
        self._heap, self._change = heap, change

    def restore(self):
        self._heap.restore(self._change)


class GroupCell:
    def __init__(self, group, saved, path, old):
        self._group, self._saved, self._path, self._old = group, saved, path, old

    def restore(self):
        self._group.restore(self._path, self._old)
        if self._group.accepts_restored:
            _assign(self._saved, self._path, self._group.read_one(self._path))


class FileCell:
    def __init__(self, files, path, old, new):
        self._files, self._path, self._entry = files, path, old if old is not MISSING else new

    def restore(self):
        self._files.restore(self._path, self._entry)

    def reapply(self):
        self._files.reapply(self._path, self._entry)


def _assign(values, path, value):
    if value is MISSING:
        values.pop(path, None)
    else:
        values[path] = value


def _differences(old, new):
    for path in list(old) + [path for path in new if path not in old]:
        before, after = old.get(path, MISSING), new.get(path, MISSING)
        if before is not after and (before is MISSING or after is MISSING or not is_same(before, after)):
            yield path, before, after


def _cell_of_group(group, path, old, new):
    return {
        "path": path,
        "kind": group.kind_of(path),
        "before": None if old is MISSING else group.describe(path, old),
        "after": None if new is MISSING else group.describe(path, new),
        "fixed": group.why_fixed(path, old, new),
    }
