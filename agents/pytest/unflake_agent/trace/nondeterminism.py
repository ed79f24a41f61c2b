"""Finds lines that use a source of nondeterminism: randomness, time, threads, the network, …

`SOURCES` says which names of which modules are such a source, and of what kind. Uses go to the file
`reaches` of a trace.
"""

import os
import sys
import types

from ..common.introspect import class_module, class_name, is_subclass, module_globals
from .name_chains import MISSING, attribute, resolve

# How often a line is inspected: its names may refer to other objects later.
INSPECTIONS_PER_ATTEMPT, INSPECTIONS_PER_PROCESS = 2, 10
NUMBER_TYPE_IDS = frozenset(map(id, (int, float, bool, complex, type(None))))


def _words(text):
    return frozenset(text.split())


# By module or package: causes, as `unflake-model` names them, each with names of that module; `*`
# means all other names. A method is named with or without its class.
SOURCES = {
    "random": {None: _words("seed getstate setstate"), "randomness": "*"},
    "secrets": {None: _words("compare_digest"), "randomness": "*"},
    "uuid": {"randomness": _words("uuid1 uuid4")},
    "numpy.random": {None: _words("seed get_state set_state"), "randomness": "*"},
    "faker": {"randomness": "*"},
    "time": {
        "async-wait": _words("sleep"),
        "time": _words(
            "time time_ns monotonic monotonic_ns perf_counter perf_counter_ns process_time process_time_ns thread_time",
        )
        | _words("thread_time_ns localtime gmtime ctime strftime clock_gettime clock_gettime_ns"),
    },
    "datetime": {"time": _words("now utcnow today")},
    "threading": {
        "async-wait": _words("Event.wait Condition.wait Condition.wait_for Thread.join Barrier.wait Timer"),
        "race": _words("start start_new_thread acquire lock RLock Lock Condition Semaphore BoundedSemaphore Event.set notify notify_all"),
    },
    "queue": {"async-wait": _words("get get_nowait put put_nowait join empty qsize full")},
    "asyncio": {
        "async-wait": _words("sleep wait_for wait as_completed timeout timeout_at Event.wait Queue.get call_later call_at"),
        "race": _words("gather create_task ensure_future to_thread run_in_executor Lock.acquire TaskGroup Task call_soon"),
        "network": _words("open_connection start_server open_unix_connection"),
    },
    "select": {"async-wait": "*"},
    "selectors": {"async-wait": "*"},
    "subprocess": {"async-wait": _words("wait communicate poll")},
    "concurrent.futures": {
        "async-wait": _words("result exception wait as_completed"),
        "race": _words("submit map ThreadPoolExecutor ProcessPoolExecutor shutdown"),
    },
    "multiprocessing": {"environment": _words("cpu_count"), "race": "*"},
    "socket": {
        "environment": _words("gethostname getfqdn"),
        None: _words("htons ntohs htonl ntohl inet_aton inet_ntoa inet_pton inet_ntop"),
        "network": "*",
    },
    "ssl": {"network": "*"},
    "urllib.request": {None: _words("quote unquote pathname2url url2pathname"), "network": "*"},
    "http.client": {"network": "*"},
    "http.server": {"network": "*"},
    "socketserver": {"network": "*"},
    "smtplib": {"network": "*"},
    "ftplib": {"network": "*"},
    "requests": {"network": "*"},
    "urllib3": {"network": "*"},
    "httpx": {"network": "*"},
    "aiohttp": {"network": "*"},
    "websockets": {"network": "*"},
    "io": {
        "io": _words("open open_code FileIO TextIOWrapper.read TextIOWrapper.readline TextIOWrapper.write BufferedReader.read")
    },
    "builtins": {"unordered-collection": _words("hash id set.pop")},
    "os": {
        "randomness": _words("urandom getrandom"),
        "unordered-collection": _words("listdir scandir walk fwalk"),
        "environment": _words("getenv getenvb environ environb cpu_count process_cpu_count getlogin uname getcwd getuid getpid getppid"),
        "resource": _words("getloadavg times"),
        "race": _words("fork kill wait waitpid"),
        "io": _words("open read write stat lstat remove unlink rename replace mkdir makedirs rmdir removedirs utime link symlink")
        | _words("truncate access chmod fsync readlink mkfifo"),
    },
    "genericpath": {"io": _words("exists isfile isdir getmtime getatime getctime getsize")},
    "posixpath": {"io": _words("exists isfile isdir lexists islink ismount"), "environment": _words("expanduser expandvars")},
    "shutil": {"environment": _words("which get_terminal_size disk_usage"), "io": "*"},
    "tempfile": {"io": "*"},
    "pathlib": {
        "unordered-collection": _words("iterdir glob rglob walk"),
        "environment": _words("home cwd expanduser"),
        "io": _words("read_text read_bytes write_text write_bytes open exists is_file is_dir stat lstat unlink mkdir rmdir touch")
        | _words("rename replace symlink_to hardlink_to chmod"),
    },
    "glob": {"unordered-collection": _words("glob iglob")},
    "platform": {"environment": "*"},
    "locale": {"environment": "*"},
    "getpass": {"environment": "*"},
    "sys": {"environment": _words("argv"), "resource": _words("getrefcount getsizeof getallocatedblocks")},
    "gc": {"resource": "*"},
    "weakref": {"resource": _words("ReferenceType ref WeakValueDictionary WeakKeyDictionary WeakSet")},
    "resource": {"resource": "*"},
    "psutil": {"resource": "*"},
    "tracemalloc": {"resource": "*"},
    "numpy": {"floating-point": _words("sum mean std var dot matmul einsum prod ndarray.sum ndarray.mean ndarray.std ndarray.dot")},
}
ALIASES = {"posix": "os", "_pydatetime": "datetime", "pathlib._local": "pathlib", "_weakrefset": "weakref", "_thread": "threading"}
ENVIRON_TYPE = type(os.environ)
# Every use of these objects counts, whatever it does with them.
LOCK_TYPES = _words("threading.lock threading.RLock threading.Condition threading.Semaphore threading.BoundedSemaphore")
# Callables that iterate over an argument, so that its order matters.
CONSUMERS = _words(
    "list tuple enumerate iter next zip map filter reversed dict.fromkeys str.join deque deque.extend list.extend bytes.join"
)


class NondeterminismRecorder:
    def __init__(self):
        self._process = None
        self._in_process, self._found = {}, {}

    def begin(self, process):
        self._process = process
        self._in_attempt = {}

    def before(self, frame, mentions, place):
        """Inspects a line that is about to run."""
        count = self._in_attempt.get(place, 0)
        if count == INSPECTIONS_PER_ATTEMPT or mentions is None:
            return
        self._in_attempt[place] = count + 1
        known = self._found.get(place, ())
        if not count:
            for cause, what in known:
                self._process.reaches.append(place, cause, what)
        if self._in_process.get(place, 0) == INSPECTIONS_PER_PROCESS:
            return
        self._in_process[place] = self._in_process.get(place, 0) + 1
        try:
            for use in self._find(frame, mentions):
                if use not in self._found.get(place, ()):
                    self._found.setdefault(place, []).append(use)
                    self._process.reaches.append(place, *use)
        except RuntimeError:
            pass  # Another thread changed what was inspected.

    def _find(self, frame, line):
        names, values, called = frame.f_locals, [], set()
        for chain, iterates in line.chains:
            steps = resolve(frame, names, chain)
            for step in steps:
                if type(step) is ENVIRON_TYPE:
                    yield "environment", "os.environ"
            value = steps[-1]
            if value is MISSING:
                yield from _not_loaded_yet(chain, steps)
            if value is MISSING or chain[-1] == "pop" and type(steps[-2:][0]) is set and not order_varies(steps[-2]):
                continue
            values.append((value, iterates))
            key = ("sys", "argv") if value is sys.argv else callable_key(value)
            if key is not None:
                called.add("%s.%s" % key if key[0] not in ("builtins", "collections") else key[1])
                yield from _causes(*key)
            full_name = "%s.%s" % class_key(type(value))
            if full_name in LOCK_TYPES:
                yield "race", full_name
        for name in line.attributes:
            for value, _ in values:
                found = attribute(value, name)
                key = callable_key(found) if found is not MISSING else None
                if key is not None:
                    called.add(key[1] if key[0] == "builtins" else "%s.%s" % key)
                    yield from _causes(*key)
        if "sorted" not in called and "set.pop" not in called:
            yield from _unordered(line, values, called)


def _not_loaded_yet(chain, steps):
    """Recognises a part of a module that is loaded on first use, by its name."""
    # By identity: `in` and `index` would call the `==` of the project's objects.
    last = next(position for position, step in enumerate(steps) if step is MISSING) - 1
    if last >= 0 and is_subclass(type(steps[last]), types.ModuleType):
        module = ".".join([module_globals(steps[last]).get("__name__", "?"), *chain[last + 1 : -1]])
        yield from _causes(_module_key(module), chain[-1])


def _unordered(line, values, called):
    """Uses that depend on the order of a set."""
    is_consumed = bool(called & CONSUMERS) or "join" in line.attributes
    is_made = bool(called & {"set", "frozenset"}) and (is_consumed or line.iterates)
    for value, iterates in values:
        kind = type(value)
        if (kind is set or kind is frozenset) and (iterates or is_consumed) and order_varies(value):
            yield "unordered-collection", "the order of a %s" % kind.__name__
        elif is_made and kind in (list, tuple, dict) and order_varies(value):
            yield "unordered-collection", "the order of a set"


def order_varies(values):
    """Whether a set of these values may have another order in another process.

    Numbers have the same hash everywhere.
    """
    if len(values) < 2:
        return False
    for value, _ in zip(list(values), range(4)):
        if id(type(value)) not in NUMBER_TYPE_IDS:
            return True
    return False


def class_key(kind):
    return _module_key(class_module(kind)), class_name(kind)


def callable_key(value):
    """Module and qualified name of a callable, or None."""
    kind = type(value)
    if kind is types.MethodType:
        value, kind = value.__func__, type(value.__func__)
    if kind is staticmethod or kind is classmethod:
        value = value.__func__
        kind = type(value)
    if kind is types.FunctionType:
        return _module_key(value.__module__), value.__qualname__
    if kind is types.BuiltinFunctionType:
        owner = value.__self__
        if owner is None or is_subclass(type(owner), types.ModuleType):
            return _module_key(value.__module__), value.__name__
        module, name = class_key(owner if is_subclass(type(owner), type) else type(owner))
        return module, "%s.%s" % (name, value.__name__)
    if kind is types.MethodDescriptorType or kind is types.ClassMethodDescriptorType:
        module, name = class_key(value.__objclass__)
        return module, "%s.%s" % (name, value.__name__)
    if class_name(kind) == "cython_function_or_method":
        return _module_key(value.__module__), value.__qualname__
    if is_subclass(kind, type):
        return None if is_subclass(value, BaseException) else class_key(value)
    if class_key(kind) == ("weakref", "ReferenceType"):
        return "weakref", "ref"
    return None


def _module_key(name):
    if type(name) is not str:
        return "builtins"
    return ALIASES.get(name) or name.lstrip("_")


def _causes(module, name):
    short = name.rpartition(".")[2]
    package = module
    while package:
        causes = SOURCES.get(package)
        if causes is not None:
            for cause, names in causes.items():
                if names == "*" or name in names or short in names:
                    if cause is not None:
                        shown = short if module == "random" and name.startswith("Random.") else name
                        yield cause, shown if module == "builtins" else "%s.%s" % (package, shown)
                    return
            return
        package = package.rpartition(".")[0]
