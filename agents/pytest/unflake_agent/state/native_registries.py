"""State that native modules of the standard library keep for themselves: codecs, limits, contexts.

No module leads to it, so each group knows where it is.
"""

import codecs
import encodings
import gc
import os
import sys

from ..common.introspect import module_globals
from .process_state import StateGroup
from .repr import MISSING, describe, describe_key

DECIMAL_SETTINGS = "prec", "rounding", "Emin", "Emax", "capitals", "clamp"
DECIMAL_CONTEXTS = "DefaultContext", "BasicContext", "ExtendedContext"


def _referrer(value, kind, is_it):
    """The one container of a native module that holds a value; None where it cannot be found."""
    found = (one for one in gc.get_referrers(value) if type(one) is kind and is_it(one))
    return next(found, None)


class CodecErrorHandlers(StateGroup):
    kind = "codec error handler"
    prefix = "codecs.lookup_error("

    def __init__(self):
        strict = codecs.lookup_error("strict")
        self._handlers = _referrer(strict, dict, lambda one: one.get("strict") is strict)

    def read(self):
        return {"%s%r)" % (self.prefix, name): one for name, one in list((self._handlers or {}).items())}

    def read_one(self, path):
        return (self._handlers or {}).get(path[len(self.prefix) + 1 : -2], MISSING)

    def restore(self, path, old):
        name = path[len(self.prefix) + 1 : -2]
        if old is MISSING:
            self._handlers.pop(name, None)
        else:
            self._handlers[name] = old


class CodecSearches(StateGroup):
    """The functions that `codecs.register` has added. What they found is cached apart."""

    kind = "codec search function"
    prefix = "codecs.register("

    def __init__(self):
        first, known = encodings.search_function, codecs.lookup("utf-8")
        self._searches = _referrer(first, list, lambda one: one[0] is first)
        key = next(key for key in ("utf_8", "utf-8") if encodings._cache.get(key) is known)  # From 3.9 on, before.
        self._cache = _referrer(known, dict, lambda one: one is not encodings._cache and one.get(key) is known)

    def read(self):
        return {"%s%s)" % (self.prefix, describe_key(one)): one for one in list(self._searches or ())}

    def restore(self, path, old):
        now = self.read_one(path)
        if now is not MISSING:
            self._searches[:] = [one for one in self._searches if one is not now]
        if old is not MISSING:
            self._searches.append(old)
        if self._cache is not None:
            self._cache.clear()


class ChildVariables(StateGroup):
    """Variables that only child processes see: `os.putenv` does not change `os.environ`."""

    kind = "environment variable of child processes"
    prefix = "os.putenv("

    def __init__(self):
        self._own = object.__getattribute__(os.environ, "__dict__")["_data"]
        self._put, self._remove, self._decode, self._encode = os.putenv, os.unsetenv, os.fsdecode, os.fsencode
        self._given, self._names = {}, {}  # Values, None for unset, by name; names by path.
        sys.addaudithook(self._hook)

    def _hook(self, event, arguments):
        if event == "os.putenv":
            self._given[self._encode(arguments[0])] = self._encode(arguments[1])
        elif event == "os.unsetenv":
            self._given[self._encode(arguments[0])] = None

    def read(self):
        found = {}
        for name, value in list(self._given.items()):
            if value != self._own.get(name):
                path = "%s%r)" % (self.prefix, self._decode(name))
                found[path], self._names[path] = value, name
        return found

    def describe(self, path, value):
        return "unset" if value is None else describe(self._decode(value))

    def restore(self, path, old):
        name = self._names[path]
        value = self._own.get(name) if old is MISSING else old
        if value is None:
            self._remove(name)
        else:
            self._put(name, value)


class LibrarySettings(StateGroup):
    """Contexts of `decimal` and limits of the process, if their modules were loaded from the start."""

    kind = "setting of the process"
    prefixes = "decimal.", "resource.getrlimit("

    def __init__(self):
        self._decimal, self._resource = sys.modules.get("decimal"), sys.modules.get("resource")

    def may_have(self, path):
        return path.startswith(self.prefixes)

    def read(self):
        values = {}
        try:
            for name, context in self._contexts().items():
                for setting in DECIMAL_SETTINGS:
                    values["%s.%s" % (name, setting)] = getattr(context, setting)
                traps = sorted(kind.__name__ for kind, on in context.traps.items() if on)
                values["%s.traps" % name] = ", ".join(traps)
            for name, number in self._limits().items():
                values["resource.getrlimit(resource.%s)" % name] = self._of_resource("getrlimit")(number)
        except Exception:
            pass  # A test has replaced the module.
        return values

    def _contexts(self):
        if self._decimal is None:
            return {}
        names = module_globals(self._decimal)
        found = {"decimal.%s" % name: names[name] for name in DECIMAL_CONTEXTS}
        found["decimal.getcontext()"] = names["getcontext"]()
        return found

    def _limits(self):
        if self._resource is None:
            return {}
        found = {}
        for name, number in sorted(module_globals(self._resource).items()):
            if name.startswith("RLIMIT_") and number not in found.values():  # Some have two names.
                found[name] = number
        return found

    def _of_resource(self, name):
        return module_globals(self._resource)[name]

    def restore(self, path, old):
        if path.startswith("resource."):
            self._of_resource("setrlimit")(self._limits()[path.rpartition(".")[2][:-1]], old)
            return
        name, _, setting = path.rpartition(".")
        context = self._contexts()[name]
        if setting == "traps":
            for kind in context.traps:
                context.traps[kind] = kind.__name__ in old.split(", ")
        else:
            setattr(context, setting, old)
