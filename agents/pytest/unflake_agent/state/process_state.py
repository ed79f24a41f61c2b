"""State of the process that is in no object: directory, variables, signals, threads, settings.

Each group reads values by path; each value that differs is a cell. `restore` writes an old value
back, MISSING for one that did not exist.
"""

import _signal
import _socket
import atexit
import gc
import locale
import os
import random
import signal
import sys
import threading
import time

from ..common.introspect import is_subclass, module_globals
from .repr import MISSING, describe
from .special_shapes import state_digest

LOCALE_CATEGORIES = [
    name
    for name in ("LC_COLLATE", "LC_CTYPE", "LC_MONETARY", "LC_NUMERIC", "LC_TIME", "LC_MESSAGES")
    if hasattr(locale, name)
]


class StateGroup:
    kind = ""
    prefix = "\0"  # Of all paths in the group, where new ones can appear.
    accepts_restored = False  # Whether a restored value may differ and then counts as the old one.

    def kind_of(self, path):
        return self.kind

    def may_have(self, path):
        return path.startswith(self.prefix)

    def read_one(self, path):
        return self.read().get(path, MISSING)

    def why_fixed(self, path, old, new):
        return None

    def describe(self, path, value):
        return describe(value)


class EnvironmentVariables(StateGroup):
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

    def describe(self, path, value):
        return describe(self._decode(value))

    def restore(self, path, old):
        key = self._keys.get(path)
        if old is not MISSING:
            self._data[key] = old
            self._put(key, old)
        elif key in self._data:
            del self._data[key]
            self._remove(key)


class InterpreterSettings(StateGroup):
    """Single settings of the process and the interpreter: for each a reader and a writer."""

    kind = "setting of the process"
    kinds = {"cwd": "working directory", "random.getstate()": "random state", "time zone": "time zone"}

    def __init__(self, variables):
        # Whether the project has the garbage collector on, while the agent has it off.
        self.collector_enabled = None
        umask, setlocale, tzset, localtime = os.umask, locale.setlocale, time.tzset, time.localtime

        def read_umask():
            now = umask(0o77)
            umask(now)
            return now

        def read_zone():
            # With the variable, which `restore_zone` passes to `tzset`.
            now = time.tzname, time.timezone, time.altzone, localtime(0).tm_gmtoff
            return (variables.read().get("os.environ['TZ']", MISSING),) + now

        def restore_zone(old):
            # The variable TZ is a cell of its own, so its current value stays.
            path = "os.environ['TZ']"
            now = variables.read().get(path, MISSING)
            variables.restore(path, old[0])
            tzset()
            variables.restore(path, now)

        def read_collecting(is_enabled=gc.isenabled):
            return is_enabled() if self.collector_enabled is None else self.collector_enabled

        def restore_collecting(old):
            self.collector_enabled = old

        self._table = {
            "cwd": (self._working_directory(os.getcwd), os.chdir),
            "umask": (read_umask, umask),
            "random.getstate()": (random.getstate, random.setstate),
            "sys.getrecursionlimit()": (sys.getrecursionlimit, sys.setrecursionlimit),
            "sys.getswitchinterval()": (sys.getswitchinterval, sys.setswitchinterval),
            "sys.gettrace()": (sys.gettrace, sys.settrace),
            "sys.getprofile()": (sys.getprofile, sys.setprofile),
            "gc.isenabled()": (read_collecting, restore_collecting),
            "gc.get_threshold()": (gc.get_threshold, lambda old, put=gc.set_threshold: put(*old)),
            "socket.getdefaulttimeout()": (_socket.getdefaulttimeout, _socket.setdefaulttimeout),
            "time zone": (read_zone, restore_zone),
        }
        for name in LOCALE_CATEGORIES:
            number = getattr(locale, name)
            self._table["locale.setlocale(locale.%s)" % name] = (
                lambda number=number: setlocale(number, None),
                lambda old, number=number: setlocale(number, old),
            )

    @staticmethod
    def _working_directory(getcwd):
        def read():
            try:
                return getcwd()
            except OSError:
                return "a directory that is gone"

        return read

    def read(self):
        return {path: reader() for path, (reader, _) in self._table.items()}

    def read_one(self, path):
        return self._table[path][0]()

    def kind_of(self, path):
        return self.kinds.get(path, "locale" if path.startswith("locale.") else self.kind)

    def describe(self, path, value):
        if path == "time zone":
            return "%s" % (value[1][0] if value[1][0] == value[1][1] else "/".join(value[1]))
        if path == "random.getstate()":
            return state_digest(value)
        return "0o%03o" % value if path == "umask" else describe(value)

    def restore(self, path, old):
        self._table[path][1](old)


class SignalHandlers(StateGroup):
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

    def describe(self, path, value):
        return {0: "the system's default", 1: "ignored"}.get(value) if type(value) is int else describe(value)

    def why_fixed(self, path, old, new):
        return "the previous handler is native code" if old is None else None

    def restore(self, path, old):
        self._set(self._numbers[path], old)


class LoadedModules(StateGroup):
    """Entries of `sys.modules`. Restoring one also restores the attribute of its package."""

    kind = "module"
    prefix = "sys.modules["

    def __init__(self, had_attribute):
        self._modules, self._had_attribute = sys.modules, had_attribute

    def read(self):
        found = dict.copy(self._modules)
        return {
            "sys.modules[%r]" % name: one
            for name, one in found.items()
            if type(name) is str and not name.startswith("unflake_agent")
        }

    def read_one(self, path):
        return self._modules.get(path[13:-2], MISSING)

    def restore(self, path, old):
        name = path[13:-2]
        now = self._modules.pop(name, MISSING) if old is MISSING else self._modules.get(name, MISSING)
        if old is not MISSING:
            self._modules[name] = old
        package, _, attribute = name.rpartition(".")
        package = self._modules.get(package)
        if package is None or not is_subclass(type(package), type(sys)):
            return
        names = module_globals(package)
        if old is MISSING:
            if names.get(attribute, MISSING) is now and not self._had_attribute(package, attribute):
                names.pop(attribute, None)
        elif names.get(attribute, now) is now or is_subclass(type(names[attribute]), type(sys)):
            names[attribute] = old


class RunningThreads(StateGroup):
    kind = "thread"
    prefix = "thread "

    def __init__(self):
        self._enumerate = threading.enumerate

    def read(self):
        found = {}
        for thread in self._enumerate():
            names = object.__getattribute__(thread, "__dict__")
            name = names.get("_name", names.get("name", "?"))
            path, number = "thread %s" % describe(name), 2
            while path in found:
                path, number = "thread %s (%d)" % (describe(name), number), number + 1
            found[path] = thread, names.get("_target")
        return found

    def describe(self, path, value):
        return "running" if value[1] is None else "running " + describe(value[1])

    def why_fixed(self, path, old, new):
        return "a thread that exited cannot be resumed" if new is MISSING else "a thread cannot be stopped from outside"


class ExitCallbacks(StateGroup):
    kind = "callbacks at exit"

    def __init__(self):
        self._count = getattr(atexit, "_ncallbacks", lambda: 0)

    def read(self):
        return {"atexit": self._count()}

    def why_fixed(self, path, old, new):
        return "the callbacks cannot be read"
