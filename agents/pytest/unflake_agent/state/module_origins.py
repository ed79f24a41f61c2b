"""Classifies modules: "project", "installed", "standard" (library) or "runner" (and the agent)."""

import os
import random
import sys
import sysconfig
import types

from ..common.introspect import class_body, module_globals
from . import noise

INSTALL_DIRECTORIES = "site-packages", "dist-packages"


class ModuleOrigins:
    def __init__(self):
        paths = {os.path.realpath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")}
        self._standard_directories = tuple(os.path.join(path, "") for path in paths)
        self._standard_names = frozenset(getattr(sys, "stdlib_module_names", ())) | frozenset(sys.builtin_module_names)
        self._modules, self._realpath = sys.modules, os.path.realpath
        variables = object.__getattribute__(os.environ, "__dict__")["_data"]
        # Objects whose state is reported in another form.
        self.reported_otherwise = random._inst, os.environ, variables, sys.modules
        self._known_modules, self._by_globals, self._files = {}, {}, {}

    def of_module(self, name, module):
        known = self._known_modules.get(name)
        if known is None or known[0] is not module:
            known = self._known_modules[name] = module, self._classify(name, module_globals(module))
            self._by_globals[id(module_globals(module))] = known
        return known[1]

    def of_name(self, name):
        if type(name) is not str:
            return "project"
        module = self._modules.get(name)
        if name in self._known_modules and self._known_modules[name][0] is module:
            return self._known_modules[name][1]
        if module is None or not issubclass(type(module), types.ModuleType):
            return self._classify(name, {})
        return self.of_module(name, module)

    def of_class(self, kind):
        return self.of_name(class_body(kind).get("__module__", "builtins"))

    def of_function(self, function):
        """A wrapper that the standard library puts around a function counts as that function."""
        known = self._by_globals.get(id(function.__globals__))
        if known is None or known[1] == "standard" and "__wrapped__" in function.__dict__:
            return self.of_name(function.__module__)
        return known[1]

    def _classify(self, name, names):
        top = name.partition(".")[0]
        if top in noise.RUNNER_PACKAGES:
            return "runner"
        file = names.get("__file__")
        if type(file) is not str:
            return "standard" if top in self._standard_names or top in ("sys", "builtins") else "project"
        return self.of_file(file)

    def of_file(self, file):
        known = self._files.get(file)
        if known is None:
            known = self._files[file] = self._of_file(file)
        return known

    def _of_file(self, file):
        path = self._realpath(file)
        if any(os.sep + part + os.sep in path for part in INSTALL_DIRECTORIES):
            return "installed"
        if path.startswith(self._standard_directories) or path.startswith("<"):
            return "standard"
        return "project"
