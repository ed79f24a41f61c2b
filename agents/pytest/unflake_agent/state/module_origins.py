"""Whose a module is: the project's, installed, the standard library's, or the runner's and ours. PYTEST_DONT_REWRITE"""

import os
import random
import sys
import sysconfig
import types

from . import noise
from ..common.introspect import class_body, module_globals

INSTALLED = "site-packages", "dist-packages"


class Origins:
    def __init__(self, root):
        self._root = os.path.join(os.path.realpath(root), "")
        paths = {os.path.realpath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")}
        self._library = tuple(os.path.join(path, "") for path in paths)
        self._names = frozenset(getattr(sys, "stdlib_module_names", ())) | frozenset(sys.builtin_module_names)
        self._modules, self._realpath = sys.modules, os.path.realpath
        variables = object.__getattribute__(os.environ, "__dict__")["_data"]
        self._special = random._inst, os.environ, variables, sys.modules
        self._known, self._by_globals, self._files = {}, {}, {}

    def special_objects(self):
        """What is told as something else than an object."""
        return self._special

    def of_module(self, name, module):
        known = self._known.get(name)
        if known is None or known[0] is not module:
            known = self._known[name] = module, self._find(name, module_globals(module))
            self._by_globals[id(module_globals(module))] = known
        return known[1]

    def of_name(self, name):
        if type(name) is not str:
            return "project"
        module = self._modules.get(name)
        if name in self._known and self._known[name][0] is module:
            return self._known[name][1]
        if module is None or not issubclass(type(module), types.ModuleType):
            return self._find(name, {})
        return self.of_module(name, module)

    def of_class(self, kind):
        return self.of_name(class_body(kind).get("__module__", "builtins"))

    def of_function(self, function):
        known = self._by_globals.get(id(function.__globals__))
        return known[1] if known is not None else self.of_name(function.__module__)

    def _find(self, name, names):
        top = name.partition(".")[0]
        if top in noise.OURS:
            return "ours"
        file = names.get("__file__")
        if type(file) is not str:
            return "standard" if top in self._names or top in ("sys", "builtins") else "project"
        return self.of_file(file)

    def of_file(self, file):
        known = self._files.get(file)
        if known is None:
            known = self._files[file] = self._of_file(file)
        return known

    def _of_file(self, file):
        path = self._realpath(file)
        if any(os.sep + part + os.sep in path for part in INSTALLED):
            return "installed"
        if path.startswith(self._library) or path.startswith("<"):
            return "standard"
        return "project"
