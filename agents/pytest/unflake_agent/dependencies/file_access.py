"""Files, directories, variables and programs that code touches: by audit events, and where there are none by standing in
front of functions. PYTEST_DONT_REWRITE"""

import os
import sys
from functools import wraps

from ..common.paths import kind

# Events that change a name: their paths are written, and what was known of links is no longer so.
CHANGES = {
    "os.rename": 2, "os.link": 2, "os.symlink": 2, "os.remove": 1, "os.mkdir": 1, "os.rmdir": 1, "os.truncate": 1,
    "os.chmod": 1, "os.chown": 1, "os.utime": 1, "os.setxattr": 1, "os.removexattr": 1,
}  # fmt: skip
WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Native code of others that opens files by itself. What does it through Python's `open` is not here.
OPENERS = frozenset(
    "lxml h5py netCDF4 tables cv2 osgeo rasterio fiona pyarrow polars duckdb pyogrio shapely xmlsec av soundfile torch "
    "tensorflow onnxruntime sentencepiece lmdb plyvel rocksdb bsddb3 pygit2 _gdbm _dbm".split()
)
UNTOLD_VARIABLES = frozenset(["PYTEST_CURRENT_TEST", "PYTEST_VERSION"])


class Touched:
    def __init__(self, recorder, names, children, code):
        self._note, self._names, self._recorder = recorder.note, names, recorder
        self._listdir, self._frame = os.listdir, sys._getframe
        handlers = {
            "open": self._opened,
            "os.listdir": self._listed,
            "os.scandir": self._listed,
            "import": self._imported,
            "exec": code.executed,
            "sqlite3.connect": self._database,
            "sqlite3.load_extension": self._native,
            "ctypes.dlopen": self._native,
            "cpython.PyInterpreterState_New": self._interpreter,
        }
        for event in CHANGES:
            handlers[event] = self._change(CHANGES[event])
        handlers.update(children.handlers())
        handlers.update(code.handlers())
        self._handlers = handlers

    def install(self):
        sys.addaudithook(self._hook())
        self._stand_before_stat()
        self._stand_before_variables()

    def _hook(self):
        get, note = self._handlers.get, self._note

        def unflake(event, arguments):
            handler = get(event)
            if handler is not None:
                try:
                    handler(*arguments)
                except Exception as error:  # It would be an error of what is watched.
                    note("unknown", "the watch over %s failed: %s" % (event, error))

        return unflake

    # -- Events -------------------------------------------------------------------------------------------------------

    def _opened(self, path, mode, flags):
        if type(path) is int:
            return  # It was opened before.
        directories = [None]
        path = self._decoded(path)
        if path is None or path.endswith(".pyc"):
            return  # The source counts, and is told when its code runs.
        if mode is None and not path.startswith("/"):
            directories += self._open_directories()  # The event does not tell `dir_fd`.
        if isinstance(mode, str):
            writes, reads = any(c in mode for c in "wax+"), any(c in mode for c in "r+a")
        else:
            writes, reads = bool(flags & WRITE), not flags & os.O_WRONLY
        for directory in directories:
            self._file(self._names.absolute(path, directory), reads, writes)

    def _file(self, path, reads, writes):
        if writes:
            self._names.forget()
        add = self._recorder.sink()
        if path is None or add is None:
            return
        there = kind(path)
        for name in self._names.of(path):
            if writes:
                add("written", name)
            if there == "directory":
                add("looked", name)
            elif there and reads:
                add("read", name)
            elif not there and (reads or writes):
                add("missed", name)

    def _decoded(self, path):
        try:
            return os.fsdecode(path)
        except TypeError:
            return None

    def _open_directories(self):
        found = []
        for number in self._listdir("/proc/self/fd"):
            path = self._names.descriptor(int(number))
            if path and kind(path) == "directory":
                found.append(path)
        return found

    def _listed(self, path):
        caller = self._frame(1).f_back
        if caller is not None and caller.f_code.co_filename.startswith("<frozen importlib"):
            return  # A search for modules: told by the names that were looked for.
        add = self._recorder.sink()
        if add is None:
            return
        if type(path) is int:
            path = self._names.descriptor(path)
        path = self._names.absolute("." if path is None else path)
        if path is not None:
            there = kind(path)
            for name in self._names.of(path):
                add("listed" if there else "missed", name)

    def _imported(self, module, filename, *_):
        if isinstance(module, str):
            self._recorder.search(module)
        if filename:
            for name in self._names.of(self._names.absolute(filename)):
                self._note("extensions", name)
            top = str(module).partition(".")[0]
            if top in OPENERS:
                self._note("unknown", "%s opens files by itself, unseen" % top)

    def _database(self, path, *_):
        path = self._decoded(path)
        if not path or path == ":memory:":
            return
        if path.startswith("file:"):
            path = path[5:].partition("?")[0]
            path = path[path.find("/", 2) :] if path.startswith("//") else path
            if not path or path == ":memory:":
                return
        for ending in ("", "-wal", "-journal"):
            self._file(self._names.absolute(path + ending), True, not ending)

    def _native(self, name, *_):
        if name is None or type(name) is int:
            return  # The process itself.
        text = self._decoded(name) or repr(name)
        if "/" in text:
            for one in self._names.of(self._names.absolute(text)):
                self._note("extensions", one)
        self._note("unknown", "%s is native code that was loaded by hand" % text)

    def _interpreter(self, *_):
        self._note("unknown", "an interpreter inside the process was started")

    def _change(self, paths):
        def changed(*arguments):
            self._names.forget()
            for path in arguments[:paths]:
                if type(path) is not int:
                    path = self._names.absolute(path)
                    if path is not None:
                        for name in self._names.of(path):
                            self._note("written", name)

        return changed

    # -- In front of functions ----------------------------------------------------------------------------------------

    def _stand_before_stat(self):
        for name in ("stat", "lstat", "access", "readlink"):
            real = getattr(os, name)
            watched = self._looking(real)
            for kept in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks, os.supports_effective_ids):
                if real in kept:
                    kept.add(watched)
            setattr(os, name, watched)
            if hasattr(sys.modules.get("posix"), name):
                setattr(sys.modules["posix"], name, self._but_for_imports(real, watched))
            pathlib = sys.modules.get("pathlib")
            for holder in (getattr(pathlib, "_NormalAccessor", None), getattr(pathlib, "_normal_accessor", None)):
                if holder is not None and getattr(holder, name, None) is real:  # Until Python 3.10 it keeps its own.
                    setattr(holder, name, staticmethod(watched) if isinstance(holder, type) else watched)

    def _but_for_imports(self, real, watched):
        """The search for modules goes this way. It is told by names, not by the thousands of paths that are tried."""
        frame = self._frame

        @wraps(real)
        def by_this_name(*arguments, **options):
            importing = frame(1).f_code.co_filename.startswith("<frozen importlib")
            return (real if importing else watched)(*arguments, **options)

        return by_this_name

    def _looking(self, real):
        """Does what the real one does, and notes what it found."""
        look = self._looked

        @wraps(real)
        def watched(path, *arguments, **options):
            try:
                found = real(path, *arguments, **options)
            except (FileNotFoundError, NotADirectoryError):
                look(path, options.get("dir_fd"), False)
                raise
            look(path, options.get("dir_fd"), found is not False)
            return found

        return watched

    def _looked(self, path, directory, there):
        add = self._recorder.sink()
        if type(path) is int or add is None:
            return
        path = self._names.absolute(path, None if directory is None else self._names.descriptor(directory))
        if path is None or path.endswith(".pyc"):
            return
        there = kind(path)
        for name in self._names.of(path):
            add("missed" if not there else "looked" if there == "directory" else "read", name)

    def _stand_before_variables(self):
        kind = type(os.environ)
        item, every = kind.__getitem__, kind.__iter__

        @wraps(item)
        def getitem(variables, name):
            told = name.decode(errors="replace") if isinstance(name, bytes) else name
            if isinstance(told, str) and told not in UNTOLD_VARIABLES:
                self._note("variables", told)
            return item(variables, name)

        @wraps(every)
        def iterate(variables):
            self._note("variables", "*")
            return every(variables)

        kind.__getitem__, kind.__iter__ = getitem, iterate
