"""What files were before this process wrote to them, recorded by an audit hook right before each write.

Forks share all files, and compared sessions must find the same ones. They share ports, too: the journal
names those that were chosen and bound. unflake watches the project
itself; what is written elsewhere, such as in the home directory, is in a journal that it reads
after a session. Writes of other programs that tests start are not seen.
"""

import io
import json
import os
import stat
import sys
import threading

from ..common.boundary import guarded

MAX_FILE = 16 << 20
MAX_BYTES = 64 << 20
MAX_TREE = 1000
JOURNAL = "written-files"
# Compiled files, caches of tools, version control; kernel interfaces.
IGNORED_NAMES = frozenset("__pycache__ .pytest_cache .hypothesis .mypy_cache .ruff_cache .unflake .git .hg .svn".split())
IGNORED_ROOTS = "/dev/", "/proc/", "/sys/"
DATABASE_FILES = "", "-journal", "-wal", "-shm"
# Arguments that are paths which an operation changes, each with that of its directory's descriptor.
PATH_ARGUMENTS = {
    "os.mkdir": ((0, 2),),
    "os.remove": ((0, 1),),
    "os.rmdir": ((0, 1),),
    "os.rename": ((0, 2), (1, 3)),
    "os.link": ((1, 3),),
    "os.symlink": ((1, 2),),
    "os.truncate": ((0, None),),
    "os.chmod": ((0, 2),),
    "os.utime": ((0, 3),),
    "shutil.rmtree": ((0, 1),),
}
MOVES_TREE = frozenset(("os.rename", "shutil.rmtree"))
EVENTS = frozenset(("open", "socket.bind", "sqlite3.connect", "tempfile.mkstemp", "tempfile.mkdtemp", *PATH_ARGUMENTS))


class FileEntry:
    """A file or directory at one moment. `stored_at`: where its contents are stored, or None."""

    __slots__ = "path", "kind", "stamp", "size", "stored_at", "mode"

    def __init__(self, path, status):
        self.path, self.size, self.mode, self.stored_at = path, status.st_size, stat.S_IMODE(status.st_mode), None
        is_directory, is_file = stat.S_ISDIR(status.st_mode), stat.S_ISREG(status.st_mode)
        self.kind = "directory" if is_directory else "file" if is_file else "special"
        # A directory changes with its entries, which are reported themselves.
        self.stamp = () if self.kind == "directory" else (status.st_size, status.st_mtime_ns, status.st_ino)


class WrittenFiles:
    """`roots`: directories whose files unflake restores itself."""

    def __init__(self, side, roots, ignored):
        self._side = os.path.realpath(side)
        self._roots = tuple(os.path.realpath(root) + os.sep for root in roots)
        self._ignored = IGNORED_ROOTS + tuple(os.path.realpath(one) + os.sep for one in [side] + list(ignored) if one)
        self.entries = {}  # By path: what was there before the first write; None: nothing.
        self._drawn = set()  # Names that `tempfile` has drawn at random: no other session uses them.
        self._journaled, self._bytes, self._copies = set(), 0, 0
        self._busy = set()  # Threads inside of the hook.
        # Tests may replace these.
        self._lstat, self._open, self._os_open, self._write, self._close = os.lstat, io.open, os.open, os.write, os.close
        self._readlink, self._scandir, self._path_only = os.readlink, os.scandir, getattr(os, "O_PATH", 0) | os.O_CLOEXEC
        self._join, self._split, self._dirname, self._fsdecode = os.path.join, os.path.split, os.path.dirname, os.fsdecode
        self._getcwd, self._getpid, self._thread, self._dumps = os.getcwd, os.getpid, threading.get_ident, json.dumps
        self._sep, self._flags = os.sep, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
        self._is_started = False

    def start(self):
        """From now on writes are recorded. An audit hook cannot be removed."""
        if not self._is_started:
            self._is_started = True
            record = self._hook

            def hook(event, arguments):
                if event in EVENTS:
                    record(event, arguments)

            sys.addaudithook(hook)

    def begin_run(self):
        """What is written from here on is journaled again: unflake may have restored files."""
        self._journaled.clear()

    def forget(self):
        """What is there now is what was there before."""
        self.entries = {}

    def note(self, path):
        """The agent itself is about to write to a file."""
        self._journal(path, self._describe(path))

    @guarded
    def _hook(self, event, arguments):
        if event == "open":
            if len(arguments) == 3 and type(arguments[2]) is int and arguments[2] & self._writing:
                self._record_all(event, [(arguments[0], None)])
        elif event in PATH_ARGUMENTS:
            found = [(arguments[at], fd) for at, fd in PATH_ARGUMENTS[event] if at < len(arguments)]
            self._record_all(event, [(path, arguments[fd] if fd and fd < len(arguments) else None) for path, fd in found])
        elif event == "sqlite3.connect" and arguments:
            self._record_all(event, [(name, None) for name in self._database(arguments[0])])
        elif event == "socket.bind" and len(arguments) == 2:
            try:
                self._record_address(arguments[1])
            except Exception:
                pass  # A test has replaced what this needs, or there is no space left.
        elif event in ("tempfile.mkstemp", "tempfile.mkdtemp") and arguments and type(arguments[0]) is str:
            self._drawn.add(arguments[0])

    def _record_address(self, address):
        if type(address) is tuple and len(address) > 1 and type(address[1]) is int and address[1] > 0:
            port = address[1]
            if ("port", port) not in self._journaled:
                self._journaled.add(("port", port))
                self._append({"port": port})
        elif type(address) in (str, bytes) and address[:1] not in ("", "\0", b"", b"\0"):
            self._record_all("socket.bind", [(address, None)])

    def _database(self, name):
        name = self._text(name)
        if not name or name.startswith(":memory:"):
            return []
        if name.startswith("file:"):
            name = name[5:].partition("?")[0]
        return [name + end for end in DATABASE_FILES]

    def _text(self, path):
        if type(path) is int:
            return None
        try:
            return self._fsdecode(path)
        except TypeError:
            return None

    def _record_all(self, event, paths):
        thread = self._thread()
        if thread in self._busy:
            return
        self._busy.add(thread)
        try:
            for path, directory in paths:
                path = self._absolute(path, directory)
                if path is not None:
                    self._record(path, event in MOVES_TREE)
        except Exception:
            pass  # The operation itself fails for the same reason, or a test has replaced what this needs.
        finally:
            self._busy.discard(thread)

    def _absolute(self, path, directory):
        path = self._text(path)
        if path is None or path.endswith(".pyc"):
            return None
        if not path.startswith(self._sep):
            within = self._readlink("/proc/self/fd/%d" % directory) if type(directory) is int and directory >= 0 else None
            path = self._join(within or self._getcwd(), path)
        if path.startswith(IGNORED_ROOTS) or self._is_drawn(path):
            return None
        above, name = self._split(path.rstrip(self._sep))
        path = self._join(self._resolved(above), name)
        if (path + self._sep).startswith(self._ignored) or not IGNORED_NAMES.isdisjoint(path.split(self._sep)):
            return None
        return path

    def _resolved(self, directory):
        """Its path without links. `os.path.realpath` would call functions that tests replace."""
        descriptor = self._os_open(directory, self._path_only)
        try:
            return self._readlink("/proc/self/fd/%d" % descriptor)
        finally:
            self._close(descriptor)

    def _is_drawn(self, path):
        while len(path) > 1:
            if path in self._drawn:
                return True
            path = self._dirname(path)
        return False

    def _record(self, path, is_tree):
        above = path
        while len(above) > 1:
            if above in self.entries and (above == path or self.entries[above] is None):
                if above in self._journaled or above.startswith(self._roots):
                    return
            above = self._dirname(above)
        entry = self._describe(path)
        if entry is not None and entry.kind == "directory":
            if not is_tree:
                return  # It is there, and stays.
            for one in self._below(path):
                self._keep(one, self._describe(one))
        self._keep(path, entry)

    def _below(self, path):
        found, queue = [], [path]
        while queue and len(found) < MAX_TREE:
            with self._scandir(queue.pop()) as entries:
                for one in entries:
                    found.append(one.path)
                    if one.is_dir(follow_symlinks=False):
                        queue.append(one.path)
        return found

    def _keep(self, path, entry):
        self.entries.setdefault(path, entry)
        self._journal(path, entry)

    def _describe(self, path):
        """What is at a path, with a copy of its contents where that is not too large."""
        try:
            entry = FileEntry(path, self._lstat(path))
        except OSError:
            return None
        if entry.kind == "file" and entry.size <= MAX_FILE and self._bytes + entry.size <= MAX_BYTES:
            self._copies += 1
            copy = "%s/written-%d-%d" % (self._side, self._getpid(), self._copies)
            try:
                with self._open(path, "rb") as source, self._open(copy, "wb") as target:
                    data = source.read(MAX_FILE + 1)
                    target.write(data)
            except OSError:
                return entry
            self._bytes += len(data)
            entry.stored_at = copy, 0, len(data)
        return entry

    def _journal(self, path, entry):
        if path in self._journaled or path.startswith(self._roots):
            return
        self._journaled.add(path)
        line = {"path": path, "kind": "absent" if entry is None else entry.kind}
        if entry is not None:
            line.update(copy=entry.stored_at and entry.stored_at[0], mode=entry.mode)
            if entry.kind != "directory":
                line["modified"] = entry.stamp[1]
        self._append(line)

    def _append(self, line):
        try:
            data = (self._dumps(line) + "\n").encode()
        except UnicodeEncodeError:
            return
        descriptor = self._os_open(self._join(self._side, JOURNAL), self._flags, 0o600)
        try:
            self._write(descriptor, data)
        finally:
            self._close(descriptor)
