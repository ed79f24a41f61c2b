"""What lines reach for that need not be the same in every run: a table of names, and who uses them. PYTEST_DONT_REWRITE"""

import os
import sys
import types

from ..common.introspect import class_name, is_a, module_globals
from .name_chains import MISSING, attribute, follow, in_class

# Each line is looked at so often in an attempt, and in a process, because names come to stand for other things.
VISITS, OF_ALL = 2, 10
class_module = type.__dict__["__module__"].__get__
NUMBERS = frozenset(map(id, (int, float, bool, complex, type(None))))


def _words(text):
    return frozenset(text.split())


# By module, or by package: causes (as `unflake-model` names them), each with names of that module; * for all others. A method
# is named with its class or without.
TABLE = {
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
ENVIRONMENT = type(os.environ)
# Objects that are reached for by being used, whatever is done with them.
LOCKS = _words("threading.lock threading.RLock threading.Condition threading.Semaphore threading.BoundedSemaphore")
# Callables that take the items of what they are given in its order.
CONSUMERS = _words(
    "list tuple enumerate iter next zip map filter reversed dict.fromkeys str.join deque deque.extend list.extend bytes.join"
)


class Reaches:
    def __init__(self):
        self._part = None
        self._all, self._found = {}, {}

    def begin(self, part):
        self._part = part
        self._visits = {}

    def at(self, frame, mentioned, place):
        """A line is about to run."""
        visits = self._visits.get(place, 0)
        if visits == VISITS or mentioned is None:
            return
        self._visits[place] = visits + 1
        known = self._found.get(place, ())
        if not visits:
            for cause, what in known:
                self._part.reaches.line(place, cause, what)
        if self._all.get(place, 0) == OF_ALL:
            return
        self._all[place] = self._all.get(place, 0) + 1
        try:
            for reach in self._look(frame, mentioned):
                if reach not in self._found.get(place, ()):
                    self._found.setdefault(place, []).append(reach)
                    self._part.reaches.line(place, *reach)
        except RuntimeError:
            pass  # A thread has changed what was looked at.

    def _look(self, frame, line):
        names, values, called = frame.f_locals, [], set()
        for chain, takes_items in line.chains:
            steps = follow(frame, names, chain)
            for step in steps:
                if type(step) is ENVIRONMENT:
                    yield "environment", "os.environ"
            value = steps[-1]
            if value is MISSING:
                yield from _unloaded(chain, steps)
            if value is MISSING or chain[-1] == "pop" and type(steps[-2:][0]) is set and not varies(steps[-2]):
                continue
            values.append((value, takes_items))
            name = ("sys", "argv") if value is sys.argv else name_of(value)
            if name is not None:
                called.add("%s.%s" % name if name[0] not in ("builtins", "collections") else name[1])
                yield from _causes(*name)
            kind = class_of(type(value))
            if "%s.%s" % kind in LOCKS:
                yield "race", "%s.%s" % kind
        for asked in line.attributes:
            for value, _ in values:
                found = in_class(value, asked) if is_a(type(value), type) else attribute(value, asked)
                name = name_of(found) if found is not MISSING else None
                if name is not None:
                    called.add(name[1] if name[0] == "builtins" else "%s.%s" % name)
                    yield from _causes(*name)
        if "sorted" not in called and "set.pop" not in called:
            yield from _unordered(line, values, called)


def _unloaded(chain, steps):
    """A module that loads its parts when they are first asked for does not have them yet."""
    # By identity: objects of the project may have an `==` of their own.
    last = next(at for at, step in enumerate(steps) if step is MISSING) - 1
    if last >= 0 and is_a(type(steps[last]), types.ModuleType):
        module = ".".join([module_globals(steps[last]).get("__name__", "?"), *chain[last + 1 : -1]])
        yield from _causes(_module(module), chain[-1])


def _unordered(line, values, called):
    """Whether the order of a set is made to matter."""
    consumed = bool(called & CONSUMERS) or "join" in line.attributes
    made = bool(called & {"set", "frozenset"}) and (consumed or line.iterates)
    for value, takes_items in values:
        kind = type(value)
        if (kind is set or kind is frozenset) and (takes_items or consumed) and varies(value):
            yield "unordered-collection", "the order of a %s" % kind.__name__
        elif made and kind in (list, tuple, dict) and varies(value):
            yield "unordered-collection", "the order of a set"


def varies(values):
    """Whether a set of these may have another order in another process: numbers have the same hash everywhere."""
    if len(values) < 2:
        return False
    for value, _ in zip(list(values), range(4)):
        if id(type(value)) not in NUMBERS:
            return True
    return False


def class_of(kind):
    return _module(class_module(kind)), class_name(kind)


def name_of(value):
    """Module and qualified name of something that can be called, or None."""
    kind = type(value)
    if kind is types.MethodType:
        value, kind = value.__func__, type(value.__func__)
    if kind is staticmethod or kind is classmethod:
        value = value.__func__
        kind = type(value)
    if kind is types.FunctionType:
        return _module(value.__module__), value.__qualname__
    if kind is types.BuiltinFunctionType:
        owner = value.__self__
        if owner is None or is_a(type(owner), types.ModuleType):
            return _module(value.__module__), value.__name__
        module, name = class_of(owner if is_a(type(owner), type) else type(owner))
        return module, "%s.%s" % (name, value.__name__)
    if kind is types.MethodDescriptorType or kind is types.ClassMethodDescriptorType:
        module, name = class_of(value.__objclass__)
        return module, "%s.%s" % (name, value.__name__)
    if class_name(kind) == "cython_function_or_method":
        return _module(value.__module__), value.__qualname__
    if is_a(kind, type):
        return None if is_a(value, BaseException) else class_of(value)
    if class_of(kind) == ("weakref", "ReferenceType"):
        return "weakref", "ref"
    return None


def _module(name):
    if type(name) is not str:
        return "builtins"
    return ALIASES.get(name) or name.lstrip("_")


def _causes(module, name):
    short = name.rpartition(".")[2]
    package = module
    while package:
        causes = TABLE.get(package)
        if causes is not None:
            for cause, names in causes.items():
                if names == "*" or name in names or short in names:
                    if cause is not None:
                        shown = short if module == "random" and name.startswith("Random.") else name
                        yield cause, shown if module == "builtins" else "%s.%s" % (package, shown)
                    return
            return
        package = package.rpartition(".")[0]
