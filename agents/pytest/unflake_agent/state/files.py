"""Files of the project and of the temporary directory that tests leave changed.

The contents of the project's small files are stored in one file of the side directory. All forks of
a process share its files. So what a comparison found is stored too, and is applied again where
another fork has restored it.
"""

import os
import shutil
import stat
import sys
import tempfile

from .process_state import StateGroup
from .repr import MISSING

MAX_FILES = 5000
MAX_TEMPORARY = 5000
MAX_FILE = 256 << 10
MAX_BYTES = 32 << 20
# Version control, compiled files, installed packages, build directories, caches of tools.
SKIPPED_NAMES = frozenset(
    (
        ".git .hg .svn __pycache__ .venv venv .venvs node_modules target .tox .nox build dist .eggs .mypy_cache "
        ".ruff_cache .pytest_cache .hypothesis .unflake .cache .idea .coverage"
    ).split()
)
# Events of the audit hook that name a path which the process opens or makes.
AUDIT_EVENTS = frozenset(
    "open os.mkdir os.rename os.link os.symlink tempfile.mkstemp tempfile.mkdtemp sqlite3.connect".split()
)


class FileEntry:
    """A file or directory at one moment. `stored_at`: where its contents are stored, or None."""

    __slots__ = "path", "kind", "stamp", "size", "stored_at"

    def __init__(self, path, status):
        self.path, self.size, self.stored_at = path, status.st_size, None
        is_directory, is_file = stat.S_ISDIR(status.st_mode), stat.S_ISREG(status.st_mode)
        self.kind = "directory" if is_directory else "file" if is_file else "special"
        # A directory changes with its entries, which are reported themselves.
        self.stamp = () if self.kind == "directory" else (status.st_size, status.st_mtime_ns, status.st_ino)


class FileState(StateGroup):
    kind = "file"

    def __init__(self, root, side, ignored):
        self._root, self._temp_root = os.path.realpath(root), os.path.realpath(tempfile.gettempdir())
        self._ignored = {os.path.realpath(path) for path in ignored if path} | {os.path.realpath(side)}
        self._side, self._pid = side, os.getpid
        self._scandir, self._lstat, self._open, self._uid = os.scandir, os.lstat, open, os.getuid()
        self._unlink, self._rmtree, self._makedirs, self._utime = os.unlink, shutil.rmtree, os.makedirs, os.utime
        self._join, self._dirname = os.path.join, os.path.dirname
        self._used_temporary, self._sep = set(), os.sep
        self._remembered, self._compared, self.unknown, self._bytes = None, {}, [], 0
        self._has_hook = self._is_reading = False

    # -- Remember ----------------------------------------------------------------------------------

    def remember(self):
        self._install_hook()
        self._used_temporary.clear()
        self.unknown, self._bytes = [], 0
        self._remembered = None
        self._remembered = self._scan()
        self._store(entry for path, entry in self._remembered.items() if not path[5:].startswith(self._sep))
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
        if self._temp_root != self._root:
            self._scan_temporary(found)
        return found

    def _scan_temporary(self, found):
        """Other processes use it too: new entries count only if this process made them."""
        ones = self._list_directory(self._temp_root)
        if len(ones) > MAX_TEMPORARY:
            self.unknown.append("%s has more than %d entries; they were not compared" % (self._temp_root, MAX_TEMPORARY))
            return
        for one in ones:
            if one.path in self._ignored or (self._root + self._sep).startswith(one.path + self._sep):
                continue
            if one.name.startswith(("pytest-of-", "unflake")) or (
                self._remembered is not None and one.path not in self._used_temporary
            ):
                continue
            entry = self._entry(one.path)
            if entry is not None and one.stat(follow_symlinks=False).st_uid == self._uid:
                found["file " + one.path] = entry

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
        self._is_reading = True  # The audit hook must not take this for a test's access.
        try:
            with self._open(path, "rb") as file:
                return file.read(MAX_FILE + 1)
        except OSError:
            return None
        finally:
            self._is_reading = False

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
        found = {}
        for path in sorted(set(self._remembered) | set(now)):
            if path[5:].startswith(self._sep) and path[5:] not in self._used_temporary:
                continue
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
        at = remembered.path if remembered is not None else self._join(self._root, path[5:])

        def difference():
            now = self._entry(at)
            now, old = now and (now.kind, now.stamp), remembered and (remembered.kind, remembered.stamp)
            return None if now == old else [now]

        return difference

    def describe(self, path, entry):
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

    def _install_hook(self):
        """Records the temporary paths that this process uses. An audit hook cannot be removed."""
        if self._has_hook:
            return
        self._has_hook = True
        sep = self._sep
        prefix, used, length = self._temp_root + sep, self._used_temporary, len(self._temp_root) + 1

        def hook(event, arguments):
            if event in AUDIT_EVENTS and arguments and not self._is_reading:
                for path in arguments[:2]:
                    if type(path) is str and path.startswith(prefix):
                        used.add(path[:length] + path[length:].partition(sep)[0])

        sys.addaudithook(hook)
