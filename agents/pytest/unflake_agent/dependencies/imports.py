"""Records which module imports which, and derives what a file depends on through imports."""

import builtins
import importlib
import sys
from functools import wraps
from types import ModuleType

from ..common.boundary import check
from ..common.introspect import module_globals

RUNNERS = "_pytest", "pluggy"
PATH_KINDS = "read", "written", "listed", "looked", "missed", "extensions"


class ImportHooks:
    """Wraps `__import__` and `importlib.import_module`.

    Importing a module that is loaded already has no audit event.
    """

    def __init__(self, recorder):
        self._recorder, self._modules = recorder, sys.modules
        self._facts, self._noted = None, set()  # Imports already noted for these facts.
        self.lines, self.edges = {}, 0  # Importer -> file -> first line; number of such pairs.
        self._frame = sys._getframe
        # Modules of the runner that are loaded before the watch starts.
        self._runners = frozenset(name for name in sys.modules if name.partition(".")[0] in RUNNERS)

    def install(self):
        statement, call = builtins.__import__, importlib.import_module
        note = self._note

        @wraps(statement)
        def __import__(name, globals=None, locals=None, fromlist=(), level=0):
            found = statement(name, globals, locals, fromlist, level)
            note(name, globals, fromlist, level, found)
            return found

        @wraps(call)
        def import_module(name, package=None):
            found = call(name, package)
            # As with a statement, all its parent packages have been imported too.
            full = getattr(found, "__name__", name)
            note(full if isinstance(full, str) else name, None, (), 0)
            if full != name and not name.startswith("."):
                note(name, None, (), 0)
            return found

        builtins.__import__, importlib.import_module = __import__, import_module

    def _is_noted(self, *statement):
        """Whether this attempt has noted the statement: functions repeat their imports."""
        recorder = self._recorder
        if not recorder.in_attempt or recorder.is_loading():
            return False
        if self._facts is not recorder.current:
            self._facts, self._noted = recorder.current, set()
        if statement in self._noted:
            return True
        self._noted.add(statement)
        return False

    def _note(self, name, variables, fromlist, level, found=None):
        try:
            if name in self._runners and not any(name + "." + one in self._modules for one in fromlist or ()):
                return  # The runner does this thousands of times.
            add = self._recorder.sink()
            if add is None:
                return
            try:
                package = variables.get("__package__") if level else None
                if self._is_noted(name, package, None if fromlist is None else tuple(fromlist), level, id(found)):
                    return
                if level:
                    package = variables.get("__package__")
                    if package is None:
                        package = variables.get("__name__", "")
                        if "__path__" not in variables:
                            package = package.rpartition(".")[0]
                    package = package.rsplit(".", level - 1)[0] if level > 1 else package
                    name = package + "." + name if name else package
                statement = self._frame(1).f_back  # None if the interpreter itself imports.
                parts = name.split(".")
                for last in range(1, len(parts) + 1):
                    self._note_module(".".join(parts[:last]), add, statement)
                for one in fromlist or ():
                    full = name + "." + one
                    if full in self._modules:
                        self._note_module(full, add, statement)
            except Exception:
                add("unknown", "an import could not be resolved")
        except Exception as error:
            check(error)
            raise

    def _note_module(self, name, add, statement):
        for file in files_of(self._modules.get(name)):
            add("files", file)
            if statement is None:
                continue
            imported = self.lines.setdefault(statement.f_code.co_filename, {})
            if file not in imported:
                imported[file] = statement.f_lineno
                self.edges += 1


def files_of(module):
    """The files of a module. Reading them triggers no lazy loading."""
    try:
        names = module_globals(module) if isinstance(module, ModuleType) else object.__getattribute__(module, "__dict__")
    except (AttributeError, TypeError):
        return []
    file = names.get("__file__")
    spec = names.get("__spec__")
    origin = getattr(spec, "origin", None) if getattr(spec, "has_location", False) else None
    return [one for one in {file, origin} if isinstance(one, str)]


class ImportGraph:
    """Derives from a set of files everything that their imports, and those of these, depended on.

    Of hundreds of modules in a process few lead to the project; the others are skipped early.
    """

    def __init__(self, recorder, is_relevant):
        """`is_relevant`: whether a path can be in a report."""
        self._recorder, self._is_relevant = recorder, is_relevant
        self._imports = {}  # By file, including imported ones: the files that it imports.
        self._importers, self._relevant_imports = {}, {}
        self._leading = set()  # Files that lead to something relevant.
        self.variables = set()  # Environment variables that any import read.

    def update(self):
        """Adds new facts about modules. Whether results for known files may have changed."""
        changed, modules = self._recorder.changed_modules, self._recorder.modules
        self._recorder.changed_modules = set()
        affects_known = False
        for file in changed:
            facts = modules[file]
            affects_known = affects_known or file in self._imports
            self._imports.setdefault(file, set())
            self.variables |= facts["variables"]
            is_relevant = self._is_relevant(file) or facts["unknown"] or facts["programs"]
            if is_relevant or any(map(self._is_relevant, _paths(facts))):
                self._mark_leading(file)
        for file in changed:
            for one in modules[file]["files"] - self._imports[file]:
                self._imports[file].add(one)
                self._importers.setdefault(one, []).append(file)
                if one in self._leading:
                    self._relevant_imports.setdefault(file, []).append(one)
                    self._mark_leading(file)
                elif one not in self._imports and self._is_relevant(one):
                    self._mark_leading(one)
                self._imports.setdefault(one, set())
        return affects_known

    def _mark_leading(self, file):
        """This file leads to something relevant, and so does every importer of it."""
        pending = [file]
        while pending:
            file = pending.pop()
            if file not in self._leading:
                self._leading.add(file)
                for importer in self._importers.get(file, ()):
                    self._relevant_imports.setdefault(importer, []).append(file)
                    pending.append(importer)

    def closure(self, files):
        """The leading files among these, and all leading files that they import."""
        imports, found = self._relevant_imports, set()
        pending = [file for file in files if file in self._leading]
        while pending:
            file = pending.pop()
            if file not in found:
                found.add(file)
                pending.extend(imports.get(file, ()))
        return found


def _paths(facts):
    for kind in PATH_KINDS:
        yield from facts[kind]
