"""Files of the project and of the temporary directory that tests leave changed. PYTEST_DONT_REWRITE

Contents of the project's small files are kept in one file of the side directory. Files are shared by all copies of
a process: so what a comparison saw is kept as well, and is made again where another copy has put it back.
"""

import os
import shutil
import stat
import sys
import tempfile

from .process_state import Group
from ..common.introspect import MISSING

MOST_FILES = 5000
MOST_TEMPORARY = 5000
LARGEST = 256 << 10
MOST_BYTES = 32 << 20
# Not the project's own: version control, compiled files, installed packages, build directories, caches of tools.
SKIPPED = frozenset(
    (
        ".git",
        ".hg",
        ".svn",
        "__pycache__",
        ".venv",
        "venv",
        ".venvs",
        "node_modules",
        "target",
        ".tox",
        ".nox",
        "build",
        "dist",
    )
    + (
        ".eggs",
        ".mypy_cache",
        ".ruff_cache",
        ".pytest_cache",
        ".hypothesis",
        ".unflake",
        ".cache",
        ".idea",
        ".coverage",
    )
)


class Entry:
    """One file or directory as it was seen: `place` is where its contents are kept, None if they are not."""

    __slots__ = "path", "kind", "stamp", "size", "place"

    def __init__(self, path, status):
        self.path, self.size, self.place = path, status.st_size, None
        self.kind = (
            "directory" if stat.S_ISDIR(status.st_mode) else "file" if stat.S_ISREG(status.st_mode) else "special"
        )
        # A directory changes with what is in it, which is told.
        self.stamp = () if self.kind == "directory" else (status.st_size, status.st_mtime_ns, status.st_ino)


class Files(Group):
    kind = "file"

    def __init__(self, root, side, spared):
        self._root, self._temp = os.path.realpath(root), os.path.realpath(tempfile.gettempdir())
        self._spared = {os.path.realpath(path) for path in spared if path} | {os.path.realpath(side)}
        self._side, self._pid = side, os.getpid
        self._scan, self._stat, self._open, self._user = os.scandir, os.lstat, open, os.getuid()
        self._unlink, self._tree, self._make, self._time = os.unlink, shutil.rmtree, os.makedirs, os.utime
        self._join, self._above = os.path.join, os.path.dirname
        self._touched, self._sep = set(), os.sep
        self._seen, self._now, self.unknown, self._bytes = None, {}, [], 0
        self._listening = self._reading = False

    # -- Looking ------------------------------------------------------------------------------------------------------

    def remember(self):
        self._listen()
        self._touched.clear()
        self.unknown, self._bytes = [], 0
        self._seen = None
        self._seen = self._look()
        self._keep(entry for path, entry in self._seen.items() if not path[5:].startswith(self._sep))
        return len(self._seen)

    def _look(self):
        """Entries by the name under which they are told."""
        found, queue, complete = {}, [self._root], True
        while queue and complete:
            for one in self._entries(queue.pop()):
                if one.name in SKIPPED or one.path in self._spared or one.name.endswith(".egg-info"):
                    continue
                entry = self._entry(one.path)
                if entry is None:
                    continue
                if len(found) >= MOST_FILES:
                    complete = False
                    break
                found["file " + one.path[len(self._root) + 1 :]] = entry
                if entry.kind == "directory":
                    queue.append(one.path)
        if not complete:
            self.unknown.append("the project has more than %d files; they were not compared" % MOST_FILES)
            found = {}
        if self._temp != self._root:
            self._look_at_temporary(found)
        return found

    def _look_at_temporary(self, found):
        """Others use this directory too: of what is new in it, only what this process was seen to make is its own."""
        ones = self._entries(self._temp)
        if len(ones) > MOST_TEMPORARY:
            self.unknown.append("%s has more than %d entries; they were not compared" % (self._temp, MOST_TEMPORARY))
            return
        for one in ones:
            if one.path in self._spared or (self._root + self._sep).startswith(one.path + self._sep):
                continue
            if one.name.startswith(("pytest-of-", "unflake")) or (
                self._seen is not None and one.path not in self._touched
            ):
                continue
            entry = self._entry(one.path)
            if entry is not None and one.stat(follow_symlinks=False).st_uid == self._user:
                found["file " + one.path] = entry

    def _entries(self, directory):
        try:
            with self._scan(directory) as entries:
                return list(entries)
        except OSError:
            return []

    def _entry(self, path):
        try:
            return Entry(path, self._stat(path))
        except OSError:
            return None  # Gone while we looked.

    def _keep(self, entries):
        """Stores the contents of files, unless they are too many."""
        path = self._join(self._side, "files-%d" % self._pid())  # A copy of this process adds to a file of its own.
        with self._open(path, "ab") as store:
            for entry in entries:
                if entry.kind != "file" or entry.place or entry.size > LARGEST or self._bytes + entry.size > MOST_BYTES:
                    continue
                data = self._contents(entry.path)
                if data is not None:
                    entry.place = path, store.tell(), len(data)
                    store.write(data)
                    self._bytes += len(data)

    def _contents(self, path):
        self._reading = True  # By us, not by a test.
        try:
            with self._open(path, "rb") as file:
                return file.read(LARGEST + 1)
        except OSError:
            return None
        finally:
            self._reading = False

    def _stored(self, place):
        path, offset, length = place
        with self._open(path, "rb") as store:
            store.seek(offset)
            return store.read(length)

    # -- Comparing ----------------------------------------------------------------------------------------------------

    def changes(self):
        """What differs, by path: entry before and after. Of what is new or gone as a whole, only the top."""
        now = self._now = self._look()
        if self._seen is None or self.unknown:
            return {}
        found = {}
        for path in sorted(set(self._seen) | set(now)):
            if path[5:].startswith(self._sep) and path[5:] not in self._touched:
                continue
            old, new = self._seen.get(path, MISSING), now.get(path, MISSING)
            above = "file " + self._above(path[5:])
            if above in found and (found[above][0] is MISSING or found[above][1] is MISSING):
                found[path] = old, new  # Kept for now: what is below it hides as well.
            elif self._differs(old, new):
                found[path] = old, new
        # What was seen is kept too, to be made again after another copy of this process has put it back.
        self._keep(pair[1] for pair in found.values() if pair[1] is not MISSING)
        return {path: pair for path, pair in found.items() if "file " + self._above(path[5:]) not in found}

    def _differs(self, old, new):
        if old is MISSING or new is MISSING or old.kind != new.kind:
            return True
        if old.stamp == new.stamp:
            return False
        if old.size != new.size or old.place is None:
            return True
        return self._contents(new.path) != self._stored(old.place)

    def check(self, path):
        """Whether a file is not what was remembered, at the price of one look."""
        kept = self._seen.get(path)
        at = kept.path if kept is not None else self._join(self._root, path[5:])

        def differs():
            now = self._entry(at)
            return (now and (now.kind, now.stamp)) != (kept and (kept.kind, kept.stamp))

        return differs

    def text(self, path, entry):
        if entry.kind != "file":
            return entry.kind
        if entry.place is not None and entry.size <= 60:
            data = self._stored(entry.place)
            if data.isascii():
                return "%d bytes: %r" % (entry.size, data.decode())
        return "%d bytes" % entry.size

    def fixed(self, path, old, new):
        if old is MISSING:
            return None
        if old.kind != "file":
            return None if old.kind == "directory" and new is MISSING else "it is neither a file nor a directory"
        return "it is too large for a copy to be kept" if old.place is None else None

    # -- Putting back -------------------------------------------------------------------------------------------------

    def put(self, path, was, entry):
        """Makes a file, or all that is below a directory, what `was` has seen; `entry` is what may be there instead."""
        seen = self._seen if was == "before" else self._now
        wanted = [one for name, one in seen.items() if name == path or name.startswith(path + self._sep)]
        now = self._entry(entry.path)
        if now is not None and (not wanted or wanted[0].kind != now.kind):
            self._tree(now.path) if now.kind == "directory" else self._unlink(now.path)
        for one in sorted(wanted, key=lambda one: one.path):
            self._put(one)

    def _put(self, entry):
        now = self._entry(entry.path)
        if entry.kind == "directory":
            self._make(entry.path, exist_ok=True)
        elif now is None or now.stamp != entry.stamp:
            if entry.place is None:
                raise OSError("no copy of it was kept")
            with self._open(entry.path, "wb") as file:
                file.write(self._stored(entry.place))
            self._time(entry.path, ns=(entry.stamp[1], entry.stamp[1]))

    def _listen(self):
        """Which paths of the temporary directory this process opens or makes. A hook cannot be taken away again."""
        if self._listening:
            return
        self._listening = True
        sep = self._sep
        prefix, touched, length = self._temp + sep, self._touched, len(self._temp) + 1

        def hear(event, arguments):
            if event in EVENTS and arguments and not self._reading:
                for path in arguments[:2]:
                    if type(path) is str and path.startswith(prefix):
                        touched.add(path[:length] + path[length:].partition(sep)[0])

        sys.addaudithook(hear)


EVENTS = frozenset(
    (
        "open",
        "os.mkdir",
        "os.rename",
        "os.link",
        "os.symlink",
        "tempfile.mkstemp",
        "tempfile.mkdtemp",
        "sqlite3.connect",
    )
)
