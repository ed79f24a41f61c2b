"""Who imports whom, also where the module was there already, and so what a module's import depended on. PYTEST_DONT_REWRITE"""

import builtins
import importlib
import sys
from functools import wraps
from types import ModuleType

# What a module really has, whatever its class says.
OWN = ModuleType.__dict__["__dict__"].__get__

RUNNERS = "_pytest", "pluggy"


class Imports:
    """Stands in front of `__import__` and `importlib.import_module`: an import of what is loaded has no audit event."""

    def __init__(self, recorder):
        self._recorder, self._modules = recorder, sys.modules
        self._of, self._told = None, set()  # Imports that this attempt has made already.
        self.lines, self.edges = {}, 0  # By who imports: what, and the first line that does; and how many there are.
        self._frame = sys._getframe
        # Of the runner what is here before the watch: if that is the project itself, it is told anyway.
        self._runners = frozenset(name for name in sys.modules if name.partition(".")[0] in RUNNERS)

    def install(self):
        statement, call = builtins.__import__, importlib.import_module
        tell = self._tell

        @wraps(statement)
        def __import__(name, globals=None, locals=None, fromlist=(), level=0):
            found = statement(name, globals, locals, fromlist, level)
            tell(name, globals, fromlist, level, found)
            return found

        @wraps(call)
        def import_module(name, package=None):
            found = call(name, package)
            # As in a statement: every package above it has been imported too.
            full = getattr(found, "__name__", name)
            tell(full if isinstance(full, str) else name, None, (), 0)
            if full != name and not name.startswith("."):
                tell(name, None, (), 0)
            return found

        __import__.__unflake__ = import_module.__unflake__ = True
        builtins.__import__, importlib.import_module = __import__, import_module

    def _is_told(self, *statement):
        """Functions import the same again and again."""
        recorder = self._recorder
        if not recorder.in_attempt or recorder.is_loading():
            return False
        if self._of is not recorder.current:
            self._of, self._told = recorder.current, set()
        if statement in self._told:
            return True
        self._told.add(statement)
        return False

    def _tell(self, name, variables, fromlist, level, found=None):
        if name in self._runners and not any(name + "." + one in self._modules for one in fromlist or ()):
            return  # The runner does it thousands of times.
        add = self._recorder.sink()
        if add is None:
            return
        try:
            package = variables.get("__package__") if level else None
            if self._is_told(name, package, None if fromlist is None else tuple(fromlist), level, id(found)):
                return
            if level:
                package = variables.get("__package__")
                if package is None:
                    package = variables.get("__name__", "")
                    if "__path__" not in variables:
                        package = package.rpartition(".")[0]
                package = package.rsplit(".", level - 1)[0] if level > 1 else package
                name = package + "." + name if name else package
            statement = self._frame(1).f_back  # None where the interpreter itself imports.
            parts = name.split(".")
            for last in range(1, len(parts) + 1):
                self._module(".".join(parts[:last]), add, statement)
            for one in fromlist or ():
                full = name + "." + one
                if full in self._modules:
                    self._module(full, add, statement)
        except Exception:
            add("unknown", "an import that could not be understood")

    def _module(self, name, add, statement):
        for file in files_of(self._modules.get(name)):
            add("files", file)
            if statement is None:
                continue
            imported = self.lines.setdefault(statement.f_code.co_filename, {})
            if file not in imported:
                imported[file] = statement.f_lineno
                self.edges += 1


def files_of(module):
    """The files that a module was made of. Modules that make their attributes on demand are not disturbed."""
    try:
        own = OWN(module) if isinstance(module, ModuleType) else object.__getattribute__(module, "__dict__")
    except (AttributeError, TypeError):
        return []
    file = own.get("__file__")
    spec = own.get("__spec__")
    origin = getattr(spec, "origin", None) if getattr(spec, "has_location", False) else None
    return [one for one in {file, origin} if isinstance(one, str)]


PATHS = "read", "written", "listed", "looked", "missed", "extensions"


class Graph:
    """What follows from a set of files: all that their imports, and the imports of those, depended on. Of the
    hundreds of modules in a process few have anything to do with the project; the others are left out at once."""

    def __init__(self, recorder, matters):
        """`matters`: whether a path is to be told at all."""
        self._recorder, self._matters = recorder, matters
        self._seen = {}  # Every file that was looked at or that one of those imports, with what it is known to import.
        self._importers, self._ways = {}, {}
        self._leading = set()  # What leads to something that matters.
        self.variables = set()  # Those that were read at any import.

    def look(self):
        """Takes in what modules did since the last time; whether that may change what follows from files seen before."""
        changed, modules = self._recorder.changed, self._recorder.modules
        self._recorder.changed = set()
        anew = False
        for file in changed:
            facts = modules[file]
            anew = anew or file in self._seen
            self._seen.setdefault(file, set())
            self.variables |= facts["variables"]
            if self._matters(file) or facts["unknown"] or facts["programs"] or any(map(self._matters, _paths(facts))):
                self._lead(file)
        for file in changed:
            for one in modules[file]["files"] - self._seen[file]:
                self._seen[file].add(one)
                self._importers.setdefault(one, []).append(file)
                if one in self._leading:
                    self._ways.setdefault(file, []).append(one)
                    self._lead(file)
                elif one not in self._seen and self._matters(one):
                    self._lead(one)
                self._seen.setdefault(one, set())
        return anew

    def _lead(self, file):
        """This one leads to something that matters, and so does whoever imports it."""
        ahead = [file]
        while ahead:
            file = ahead.pop()
            if file not in self._leading:
                self._leading.add(file)
                for importer in self._importers.get(file, ()):
                    self._ways.setdefault(importer, []).append(file)
                    ahead.append(importer)

    def closure(self, files):
        """Those of the files that lead to what matters, and all of that whose import they depend on. As of the last look."""
        ways, seen = self._ways, set()
        ahead = [file for file in files if file in self._leading]
        while ahead:
            file = ahead.pop()
            if file not in seen:
                seen.add(file)
                ahead.extend(ways.get(file, ()))
        return seen


def _paths(facts):
    for kind in PATHS:
        yield from facts[kind]
