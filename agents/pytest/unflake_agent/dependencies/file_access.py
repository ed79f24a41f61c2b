"""Records uses of files, directories and variables: by audit events, else by wrapped functions."""

import os
import sys
from functools import wraps

from ..common.after_import import after_import
from ..common.boundary import check, failing
from ..common.paths import path_kind

# Events that change names, with the number of paths: cached links are no longer valid after them.
CHANGING_EVENTS = {
    "os.rename": 2, "os.link": 2, "os.symlink": 2, "os.remove": 1, "os.mkdir": 1, "os.rmdir": 1, "os.truncate": 1,
    "os.chmod": 1, "os.chown": 1, "os.utime": 1, "os.setxattr": 1, "os.removexattr": 1,
}  # fmt: skip
WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Packages with native code that opens files past Python.
NATIVE_OPENERS = frozenset(
    "lxml h5py netCDF4 tables cv2 osgeo rasterio fiona pyarrow polars duckdb pyogrio shapely xmlsec av soundfile torch "
    "tensorflow onnxruntime sentencepiece lmdb plyvel rocksdb bsddb3 pygit2 _gdbm _dbm".split()
)
SQLITE_ATTACH = 24  # The code of ATTACH for an authorizer, which sqlite3 does not name.
IGNORED_VARIABLES = frozenset(["PYTEST_CURRENT_TEST", "PYTEST_VERSION"])


class FileAccess:
    def __init__(self, recorder, names, children, code):
        self._note, self._names, self._recorder = recorder.note, names, recorder
        self._listdir, self._frame = os.listdir, sys._getframe
        self._connect_code = None  # Of the function through which connections of SQLite are made.
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
        for event in CHANGING_EVENTS:
            handlers[event] = self._change(CHANGING_EVENTS[event])
        handlers.update(children.handlers())
        handlers.update(code.handlers())
        self._handlers = handlers

    def install(self):
        sys.addaudithook(self._hook())
        self._wrap_stat()
        self._wrap_environ()
        after_import("sqlite3.dbapi2", self._watch_connections)

    def _hook(self):
        get, note = self._handlers.get, self._note

        def hook(event, arguments):
            handler = get(event)
            if handler is not None and not failing:
                try:
                    handler(*arguments)
                except RecursionError:  # It is that of the watched code, and Python aborts if it is hidden.
                    raise
                except Exception as error:  # It must not surface in the watched code.
                    note("unknown", "observing %s failed: %s" % (event, error))

        return hook

    # -- Events ------------------------------------------------------------------------------------

    def _opened(self, path, mode, flags):
        if type(path) is int:
            return  # A descriptor: its file was opened before.
        directories = [None]
        path = self._decoded(path)
        if path is None or path.endswith(".pyc"):
            return  # The source counts, and is noted when its code runs.
        if mode is None and not path.startswith("/"):
            directories += self._open_directories()  # The event does not contain `dir_fd`.
        if isinstance(mode, str):
            writes, reads = any(c in mode for c in "wax+"), any(c in mode for c in "r+a")
        else:
            writes, reads = bool(flags & WRITE_FLAGS), not flags & os.O_WRONLY
        for directory in directories:
            self._file(self._names.absolute(path, directory), reads, writes)

    def _file(self, path, reads, writes):
        if writes:
            self._names.forget()
        add = self._recorder.sink()
        if path is None or add is None:
            return
        kind = path_kind(path)
        for name in self._names.of(path):
            if writes:
                add("written", name)
            if kind == "directory":
                add("looked", name)
            elif kind and reads:
                add("read", name)
            elif not kind and (reads or writes):
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
            if path and path_kind(path) == "directory":
                found.append(path)
        return found

    def _listed(self, path):
        caller = self._frame(1).f_back
        if caller is not None and caller.f_code.co_filename.startswith("<frozen importlib"):
            return  # A search for modules, which is noted by their names.
        add = self._recorder.sink()
        if add is None:
            return
        if type(path) is int:
            path = self._names.descriptor(path)
        path = self._names.absolute("." if path is None else path)
        if path is not None:
            kind = path_kind(path)
            for name in self._names.of(path):
                add("listed" if kind else "missed", name)

    def _imported(self, module, filename, *_):
        if isinstance(module, str):
            self._recorder.note_search(module)
        if filename:
            for name in self._names.of(self._names.absolute(filename)):
                self._note("extensions", name)
            top = str(module).partition(".")[0]
            if top in NATIVE_OPENERS:
                self._note("unknown", "%s opens files in native code, unobserved" % top)

    def _watch_connections(self, module):
        """Sees the databases that statements of a connection attach."""
        real = module.connect

        @wraps(real)
        def connect(*arguments, **options):
            connection = real(*arguments, **options)
            connection.set_authorizer(self._authorize)
            return connection

        self._connect_code = connect.__code__
        module.connect = connect

    def _authorize(self, action, path, *_):
        if action == SQLITE_ATTACH:
            try:
                self._database_file(path)
            except Exception as error:
                self._note("unknown", "observing ATTACH failed: %s" % error)
        return 0  # Allowed.

    def _database(self, path, *_):
        caller = self._frame(1).f_back
        if caller is None or caller.f_code is not self._connect_code:
            self._note("unknown", "which databases a connection of SQLite attaches is not seen")
        self._database_file(path)

    def _database_file(self, path):
        path = self._decoded(path)
        if not path or path == ":memory:":
            return
        if path.startswith("file:"):
            path = path[5:].partition("?")[0]
            path = path[path.find("/", 2) :] if path.startswith("//") else path
            if not path or path == ":memory:":
                return
        for suffix in ("", "-wal", "-journal"):
            self._file(self._names.absolute(path + suffix), True, not suffix)

    def _native(self, name, *_):
        if name is None or type(name) is int:
            return  # The process itself.
        shown = self._decoded(name) or repr(name)
        if "/" in shown:
            for one in self._names.of(self._names.absolute(shown)):
                self._note("extensions", one)
        self._note("unknown", "%s is native code that was loaded by hand" % shown)

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

    # -- Wrapped functions -------------------------------------------------------------------------

    def _wrap_stat(self):
        for name in ("stat", "lstat", "access", "readlink"):
            real = getattr(os, name)
            wrapper = self._wrapped(real)
            for supported in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks, os.supports_effective_ids):
                if real in supported:
                    supported.add(wrapper)
            setattr(os, name, wrapper)
            if hasattr(sys.modules.get("posix"), name):
                setattr(sys.modules["posix"], name, self._except_in_imports(real, wrapper))
            pathlib = sys.modules.get("pathlib")
            for holder in (getattr(pathlib, "_NormalAccessor", None), getattr(pathlib, "_normal_accessor", None)):
                if holder is not None and getattr(holder, name, None) is real:  # Until Python 3.10.
                    setattr(holder, name, staticmethod(wrapper) if isinstance(holder, type) else wrapper)

    def _except_in_imports(self, real, wrapper):
        """Leaves out searches for modules, which try thousands of paths and are noted by name."""
        frame = self._frame

        @wraps(real)
        def call(*arguments, **options):
            is_import = frame(1).f_code.co_filename.startswith("<frozen importlib")
            return (real if is_import else wrapper)(*arguments, **options)

        return call

    def _wrapped(self, real):
        """Calls the original and notes what it found."""
        inspected = self._inspected

        @wraps(real)
        def wrapper(path, *arguments, **options):
            try:
                found = real(path, *arguments, **options)
            except (FileNotFoundError, NotADirectoryError):
                inspected(path, options.get("dir_fd"))
                raise
            inspected(path, options.get("dir_fd"))
            return found

        return wrapper

    def _inspected(self, path, directory):
        try:
            add = self._recorder.sink()
            if type(path) is int or add is None:
                return
            path = self._names.absolute(path, None if directory is None else self._names.descriptor(directory))
            if path is None or path.endswith(".pyc"):
                return
            kind = path_kind(path)
            for name in self._names.of(path):
                add("missed" if not kind else "looked" if kind == "directory" else "read", name)
        except Exception as error:
            check(error)
            raise

    def _wrap_environ(self):
        cls = type(os.environ)
        get_item, iterate_all = cls.__getitem__, cls.__iter__

        @wraps(get_item)
        def getitem(variables, name):
            text = name.decode(errors="replace") if isinstance(name, bytes) else name
            if isinstance(text, str) and text not in IGNORED_VARIABLES:
                self._note("variables", text)
            return get_item(variables, name)

        @wraps(iterate_all)
        def iterate(variables):
            self._note("variables", "*")
            return iterate_all(variables)

        cls.__getitem__, cls.__iter__ = getitem, iterate
