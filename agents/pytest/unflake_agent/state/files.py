"""Files that tests leave changed, in the project and elsewhere.

The project is scanned, and the contents of its small files are stored in one file of the side
directory. Of other files, and of build directories, those count that this process wrote. All forks
of a process share its files. So what a comparison found is stored too, and is applied again where
another fork has restored it.
"""

import os
import shutil

from ..core.written_files import FileEntry
from .process_state import StateGroup
from .repr import MISSING

MAX_FILES = 5000
MAX_NAMED = 3  # Files of a new directory.
MAX_FILE = 256 << 10
MAX_BYTES = 32 << 20
# Version control, compiled files, installed packages, build directories, caches of tools.
SKIPPED_NAMES = frozenset(
    (
        ".git .hg .svn __pycache__ .venv venv .venvs node_modules target .tox .nox build dist .eggs .mypy_cache "
        ".ruff_cache .pytest_cache .hypothesis .unflake .cache .idea .coverage"
    ).split()
)


class FileState(StateGroup):
    kind = "file"

    def __init__(self, root, side, ignored, written):
        self._root, self._written = os.path.realpath(root), written
        self._ignored = {os.path.realpath(path) for path in ignored if path} | {os.path.realpath(side)}
        self._side, self._pid = side, os.getpid
        self._scandir, self._lstat, self._open = os.scandir, os.lstat, open
        self._unlink, self._rmtree, self._makedirs, self._utime = os.unlink, shutil.rmtree, os.makedirs, os.utime
        self._join, self._dirname = os.path.join, os.path.dirname
        self._sep, self._home = os.sep, os.path.realpath(os.path.expanduser("~"))
        self._remembered, self._compared, self.unknown, self._bytes = None, {}, [], 0

    # -- Remember ----------------------------------------------------------------------------------

    def remember(self):
        self._written.start()
        self._written.forget()
        self.unknown, self._bytes = [], 0
        self._remembered = self._scan()
        self._store(self._remembered.values())
        return len(self._remembered)

    def _scan(self):
        """Entries by path as it is reported: `file`, a space, and the name."""
        found, queue, complete = {}, [self._root], True
        while queue and complete:
            for one in self._list_directory(queue.pop()):
                if one.name in SKIPPED_NAMES or one.path in self._ignored or one.name.endswith(".egg-info"):
                    continue
                entry = self._entry(one.path)
                if entry is None:
                    continue
                if len(found) >= MAX_FILES:
                    complete = False
                    break
                found["file " + one.path[len(self._root) + 1 :]] = entry
                if entry.kind == "directory":
                    queue.append(one.path)
        if not complete:
            self.unknown.append("the project has more than %d files; they were not compared" % MAX_FILES)
            found = {}
        return found

    def _add_written(self, found):
        """Adds what this process wrote and the scan leaves out, as it is now; remembers what it was."""
        for path, entry in list(self._written.entries.items()):
            name = self._name(path)
            if name is None:
                continue
            if entry is not None:
                self._remembered.setdefault(name, entry)
            now = [path]
            while now:
                path = now.pop()
                entry = self._entry(path)
                if entry is None:
                    continue
                found[self._name(path)] = entry
                if entry.kind == "directory" and self._name(path) not in self._remembered:
                    now.extend(one.path for one in self._list_directory(path))

    def _name(self, path):
        """How a file that the scan leaves out is reported; None for others."""
        prefix = self._root + self._sep
        if not path.startswith(prefix):
            return "file " + ("~" + path[len(self._home) :] if path.startswith(self._home + self._sep) else path)
        inside = path[len(prefix) :]
        return None if SKIPPED_NAMES.isdisjoint(inside.split(self._sep)) else "file " + inside

    def _list_directory(self, directory):
        try:
            with self._scandir(directory) as entries:
                return list(entries)
        except OSError:
            return []

    def _entry(self, path):
        try:
            return FileEntry(path, self._lstat(path))
        except OSError:
            return None  # It was removed during the scan.

    def _store(self, entries):
        """Stores the contents of files, within the limits. Each fork has a store of its own."""
        path = self._join(self._side, "files-%d" % self._pid())
        with self._open(path, "ab") as store:
            for entry in entries:
                if entry.kind != "file" or entry.stored_at or entry.size > MAX_FILE or self._bytes + entry.size > MAX_BYTES:
                    continue
                data = self._contents(entry.path)
                if data is not None:
                    entry.stored_at = path, store.tell(), len(data)
                    store.write(data)
                    self._bytes += len(data)

    def _contents(self, path):
        try:
            with self._open(path, "rb") as file:
                return file.read(MAX_FILE + 1)
        except OSError:
            return None

    def _stored(self, stored_at):
        path, offset, length = stored_at
        with self._open(path, "rb") as store:
            store.seek(offset)
            return store.read(length)

    # -- Compare -----------------------------------------------------------------------------------

    def changes(self):
        """Differing entries by path: (before, after). Of a new or removed tree only the top."""
        now = self._compared = self._scan()
        if self._remembered is None or self.unknown:
            return {}
        self._add_written(now)
        found = {}
        for path in sorted(set(self._remembered) | set(now)):
            old, new = self._remembered.get(path, MISSING), now.get(path, MISSING)
            above = "file " + self._dirname(path[5:])
            if above in found and (found[above][0] is MISSING or found[above][1] is MISSING):
                found[path] = old, new  # Needed to recognise entries below it; dropped at the end.
            elif self._differs(old, new):
                found[path] = old, new
        self._store(pair[1] for pair in found.values() if pair[1] is not MISSING)
        return {path: pair for path, pair in found.items() if "file " + self._dirname(path[5:]) not in found}

    def _differs(self, old, new):
        if old is MISSING or new is MISSING or old.kind != new.kind:
            return True
        if old.stamp == new.stamp:
            return False
        if old.size != new.size or old.stored_at is None:
            return True
        return self._contents(new.path) != self._stored(old.stored_at)

    def check(self, path):
        """A function that returns how a file differs, or None, at the cost of one `lstat`."""
        remembered = self._remembered.get(path)
        named = self._home + path[6:] if path.startswith("file ~/") else path[5:]
        at = remembered.path if remembered is not None else self._join(self._root, named)
        remembered = remembered or self._entry(at)

        def difference():
            now = self._entry(at)
            now, old = now and (now.kind, now.stamp), remembered and (remembered.kind, remembered.stamp)
            return None if now == old else [now]

        return difference

    def describe(self, path, entry):
        if entry.kind == "directory":
            inside = sorted(name for name in self._compared if name.startswith(path + self._sep))
            parts = ["%s (%s)" % (name[len(path) + 1 :], self.describe(name, self._compared[name])) for name in inside]
            parts = [part for part in parts if not part.endswith("(directory)")]
            more = " and %d more" % (len(parts) - MAX_NAMED) if len(parts) > MAX_NAMED else ""
            return "directory with %s%s" % (", ".join(parts[:MAX_NAMED]), more) if parts else "directory"
        if entry.kind != "file":
            return entry.kind
        if entry.stored_at is not None and entry.size <= 60:
            data = self._stored(entry.stored_at)
            if data.isascii():
                return "%d bytes: %r" % (entry.size, data.decode())
        return "%d bytes" % entry.size

    def why_fixed(self, path, old, new):
        if old is MISSING:
            return None
        if old.kind != "file":
            return None if old.kind == "directory" and new is MISSING else "it is neither a file nor a directory"
        return "it is too large to copy" if old.stored_at is None else None

    # -- Restore -----------------------------------------------------------------------------------

    def restore(self, path, entry):
        """Makes a file or a tree what was remembered. `entry`: what may be there now."""
        self._apply_all(self._remembered, path, entry)

    def reapply(self, path, entry):
        """Makes it what the last comparison found."""
        self._apply_all(self._compared, path, entry)

    def _apply_all(self, entries, path, entry):
        wanted = [one for name, one in entries.items() if name == path or name.startswith(path + self._sep)]
        now = self._entry(entry.path)
        for one in [entry] + wanted:
            self._written.note(one.path)
        if now is not None and (not wanted or wanted[0].kind != now.kind):
            self._rmtree(now.path) if now.kind == "directory" else self._unlink(now.path)
        for one in sorted(wanted, key=lambda one: one.path):
            self._apply(one)

    def _apply(self, entry):
        now = self._entry(entry.path)
        if entry.kind == "directory":
            self._makedirs(entry.path, exist_ok=True)
        elif now is None or now.stamp != entry.stamp:
            if entry.stored_at is None:
                raise OSError("no copy of it was kept")
            with self._open(entry.path, "wb") as file:
                file.write(self._stored(entry.stored_at))
            self._utime(entry.path, ns=(entry.stamp[1], entry.stamp[1]))
