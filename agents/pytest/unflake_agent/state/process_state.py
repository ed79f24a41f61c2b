"""State of the process that is in no object: directory, variables, signals, descriptors, threads. PYTEST_DONT_REWRITE

Each group reads values by path; what differs is a cell. `write` puts a value back, MISSING for what was not there.
"""

import _signal
import _socket
import _thread
import atexit
import gc
import locale
import os
import random
import signal
import sys
import threading
import time

from ..common.introspect import MISSING, is_a, module_globals, show
from .special_shapes import short_state

LOCALES = [
    name
    for name in ("LC_COLLATE", "LC_CTYPE", "LC_MONETARY", "LC_NUMERIC", "LC_TIME", "LC_MESSAGES")
    if hasattr(locale, name)
]
DECIMAL = "prec", "rounding", "Emin", "Emax", "capitals", "clamp"


class Group:
    kind = ""
    prefix = "\0"  # With which all paths of the group begin, where it can get new ones.
    settles = False  # Whether what was put back is not quite what was there, and is to count as that.

    def kind_of(self, path):
        return self.kind

    def may_have(self, path):
        return path.startswith(self.prefix)

    def read_one(self, path):
        return self.read().get(path, MISSING)

    def fixed(self, path, old, new):
        return None

    def text(self, path, value):
        return show(value)


class Variables(Group):
    kind = "environment variable"
    prefix = "os.environ["

    def __init__(self):
        self._data = object.__getattribute__(os.environ, "__dict__")["_data"]
        self._put, self._remove, self._decode = os.putenv, os.unsetenv, os.fsdecode
        self._keys = {}

    def read(self):
        values = {}
        for key, value in list(self._data.items()):
            path = "os.environ[%r]" % self._decode(key)
            self._keys[path] = key
            values[path] = value
        values.pop("os.environ['PYTEST_CURRENT_TEST']", None)
        return values

    def text(self, path, value):
        return show(self._decode(value))

    def write(self, path, old):
        key = self._keys.get(path)
        if old is not MISSING:
            self._data[key] = old
            self._put(key, old)
        elif key in self._data:
            del self._data[key]
            self._remove(key)


class Settings(Group):
    """Single settings of the process and the interpreter, each with a way to read and one to write it."""

    kind = "setting of the process"
    kinds = {"cwd": "working directory", "random.getstate()": "random state", "time zone": "time zone"}

    def __init__(self, variables):
        # Whether the collector is on, while it rests because of us.
        self.collecting = None
        umask, setlocale, tzset = os.umask, locale.setlocale, time.tzset

        def mask():
            now = umask(0o77)
            umask(now)
            return now

        def zone(old):
            # The variable for the time zone may be a cell of its own; it stays as it is now.
            path = "os.environ['TZ']"
            now = variables.read().get(path, MISSING)
            variables.write(path, old[0])
            tzset()
            variables.write(path, now)

        def collect(old):
            self.collecting = old

        self._table = {
            "cwd": (self._directory(os.getcwd), os.chdir),
            "umask": (mask, umask),
            "random.getstate()": (random.getstate, random.setstate),
            "sys.getrecursionlimit()": (sys.getrecursionlimit, sys.setrecursionlimit),
            "sys.getswitchinterval()": (sys.getswitchinterval, sys.setswitchinterval),
            "sys.gettrace()": (sys.gettrace, sys.settrace),
            "sys.getprofile()": (sys.getprofile, sys.setprofile),
            "gc.isenabled()": (lambda on=gc.isenabled: on() if self.collecting is None else self.collecting, collect),
            "gc.get_threshold()": (gc.get_threshold, lambda old, put=gc.set_threshold: put(*old)),
            "socket.getdefaulttimeout()": (_socket.getdefaulttimeout, _socket.setdefaulttimeout),
            "time zone": (Zone(variables).read, zone),
        }
        for name in LOCALES:
            number = getattr(locale, name)
            self._table["locale.setlocale(locale.%s)" % name] = (
                lambda number=number: setlocale(number, None),
                lambda old, number=number: setlocale(number, old),
            )

    @staticmethod
    def _directory(getcwd):
        def read():
            try:
                return getcwd()
            except OSError:
                return "a directory that is gone"

        return read

    def read(self):
        values = {path: reader() for path, (reader, _) in self._table.items()}
        decimal = sys.modules.get("decimal")
        if decimal is not None:
            try:
                context = module_globals(decimal)["getcontext"]()
                for name in DECIMAL:
                    values["decimal.getcontext().%s" % name] = getattr(context, name)
                traps = sorted(kind.__name__ for kind, on in context.traps.items() if on)
                values["decimal.getcontext().traps"] = ", ".join(traps)
            except Exception:
                pass  # A test has replaced the module.
        return values

    def read_one(self, path):
        return self._table[path][0]() if path in self._table else self.read().get(path, MISSING)

    def kind_of(self, path):
        return self.kinds.get(path, "locale" if path.startswith("locale.") else self.kind)

    def text(self, path, value):
        if path == "time zone":
            return "%s" % (value[1][0] if value[1][0] == value[1][1] else "/".join(value[1]))
        return (
            short_state(value) if path == "random.getstate()" else "0o%03o" % value if path == "umask" else show(value)
        )

    def write(self, path, old):
        if path in self._table:
            self._table[path][1](old)
            return
        context = module_globals(sys.modules["decimal"])["getcontext"]()
        name = path.rpartition(".")[2]
        if name == "traps":
            for kind in context.traps:
                context.traps[kind] = kind.__name__ in old.split(", ")
        else:
            setattr(context, name, old)


class Zone:
    """What the C library takes for the time zone: the variable as it was when it was last looked at, and the names."""

    def __init__(self, variables):
        self._variables, self._localtime = variables, time.localtime

    def read(self):
        now = time.tzname, time.timezone, time.altzone, self._localtime(0).tm_gmtoff
        return (self._variables.read().get("os.environ['TZ']", MISSING),) + now


class Signals(Group):
    kind = "signal handler"

    def __init__(self):
        self._get, self._set = _signal.getsignal, _signal.signal
        self._numbers = {"signal.getsignal(signal.%s)" % one.name: int(one) for one in signal.Signals}
        for name in ("SIGKILL", "SIGSTOP"):
            self._numbers.pop("signal.getsignal(signal.%s)" % name, None)

    def read(self):
        return {path: self._get(number) for path, number in self._numbers.items()}

    def read_one(self, path):
        return self._get(self._numbers[path])

    def text(self, path, value):
        return {0: "the system's default", 1: "ignored"}.get(value) if type(value) is int else show(value)

    def fixed(self, path, old, new):
        return "a handler of native code was there" if old is None else None

    def write(self, path, old):
        self._set(self._numbers[path], old)


class Modules(Group):
    """Entries of `sys.modules`. An import also makes the module an attribute of its package: both go together."""

    kind = "module"
    prefix = "sys.modules["

    def __init__(self, had):
        self._modules, self._had = sys.modules, had

    def read(self):
        found = dict.copy(self._modules)
        return {
            "sys.modules[%r]" % name: one
            for name, one in found.items()
            if type(name) is str and not name.startswith("unflake_agent")
        }

    def read_one(self, path):
        return self._modules.get(path[13:-2], MISSING)

    def write(self, path, old):
        name = path[13:-2]
        now = self._modules.pop(name, MISSING) if old is MISSING else self._modules.get(name, MISSING)
        if old is not MISSING:
            self._modules[name] = old
        package, _, attribute = name.rpartition(".")
        package = self._modules.get(package)
        if package is None or not is_a(type(package), type(sys)):
            return
        names = module_globals(package)
        if old is MISSING:
            if names.get(attribute, MISSING) is now and not self._had(package, attribute):
                names.pop(attribute, None)
        elif names.get(attribute, now) is now or is_a(type(names[attribute]), type(sys)):
            names[attribute] = old


class Threads(Group):
    kind = "thread"
    prefix = "thread "

    def __init__(self):
        self._enumerate, self._count = threading.enumerate, _thread._count

    def read(self):
        found = {}
        for thread in self._enumerate():
            names = object.__getattribute__(thread, "__dict__")
            name = names.get("_name", names.get("name", "?"))
            path, number = "thread %s" % show(name), 2
            while path in found:
                path, number = "thread %s (%d)" % (show(name), number), number + 1
            found[path] = thread, names.get("_target")
        return found

    def text(self, path, value):
        return "running" if value[1] is None else "running " + show(value[1])

    def fixed(self, path, old, new):
        return "a thread that ended cannot go on" if new is MISSING else "a thread cannot be stopped from outside"


class AtExit(Group):
    kind = "callbacks at exit"

    def __init__(self):
        self._count = getattr(atexit, "_ncallbacks", lambda: 0)

    def read(self):
        return {"atexit": self._count()}

    def fixed(self, path, old, new):
        return "which callbacks they are cannot be seen"
