"""What each attempt of a test depended on, told in a file of the side directory (format: agents/README.md). It is a
plugin of its own, there only when it is asked for. PYTEST_DONT_REWRITE"""

import json
import os
import sys
import sysconfig

import _pytest
import pluggy
import pytest

from .children import Children
from .executed import Code
from .facts import Facts, Recorder
from .imports import Graph, Imports, files_of
from .paths import INSTALLED, Names, Project, repository
from .qualified import Qualified
from .touched import Touched

FORMAT = 1
# Where pytest looks for its configuration, in every directory above the tests.
CONFIGURATIONS = "pytest.toml .pytest.toml pytest.ini .pytest.ini pyproject.toml tox.ini setup.cfg setup.py".split()
LISTS = "read", "written", "listed", "looked", "missed", "extensions"
OUTSIDE = "executed", "read", "written", "listed", "missed", "extensions"


class Dependencies:
    def __init__(self, mode, side):
        self._mode, self._side = mode, side
        self._recorder = Recorder(_runners())
        self._names = Names()
        self._code = Code(self._recorder, mode)
        self._agent = os.path.dirname(os.path.abspath(__file__))
        self._children = Children(self._recorder, self._names, mode, self._agent, side, self._code.begin)
        self._graph = Graph(self._recorder, self._matters)
        self._qualified = Qualified()
        self._before = set(sys.modules)  # Loaded before anybody watched.
        self._collections = {}
        self._standing = []
        self._project, self._config = None, None
        self._attempts = self._files = 0
        self._searched = None, None
        self._own_names = {}
        self._above = {}
        self._encode = json.JSONEncoder(separators=(",", ":")).encode
        self._open, self._write, self._close, self._exists = os.open, os.write, os.close, os.path.exists
        self._isfile = os.path.isfile
        self._flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        self._getpid = os.getpid
        Touched(self._recorder, self._names, self._children, self._code).install()
        Imports(self._recorder).install()
        self._children.install()
        if self._code.always:
            self._code.start()

    def configure(self, config):
        """As soon as pytest knows where the project is."""
        self._config = config
        root = os.path.realpath(str(config.rootpath))
        here = os.getcwd()
        if root.startswith(os.path.join(here, "")):
            root = here
        self._project = Project(repository(root), self._side, self._agent)
        self._children.begin("%s/dependencies-%d-collection" % (self._side, self._getpid()))
        self._code.matters = self._matters
        common = self._recorder.common
        for name in self._before:
            for file in files_of(sys.modules.get(name)):
                if self._project.is_ours(self._real(file)):
                    common["files"].add(file)
                    common["unknown"].add("%s was loaded before the watch began" % self._project.place(self._real(file))[1])

    # -- Collection ---------------------------------------------------------------------------------------------------

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector):
        """What the collection of one file does is that file's."""
        if self._recorder.in_attempt or not isinstance(collector, pytest.File):
            yield
            return
        before = self._recorder.current
        self._recorder.current = self._collections.setdefault(_path(collector), Facts())
        if before is not self._recorder.current:
            self._code.again()
        yield
        self._recorder.current = before

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef):
        yield
        if fixturedef.scope != "function" and self._recorder.in_attempt:
            # Whoever uses it later depends on all that had happened until it stood.
            self._standing.append((fixturedef, self._recorder.current.copy()))

    def collected(self, items):
        """What is forked from here on is a copy, until a test begins. What all copies need is found out here."""
        self._children.merge(self._recorder.common)
        self._children.begin(None)
        self._graph.closure(())
        self._searches(self._recorder.common["searched"])
        for module in list(sys.modules.values()):
            for file in files_of(module):
                for name in self._of_file(file):
                    self._project.place(name)
        for path in {_path(item) for item in items}:
            self._configuration(Facts(), path)

    # -- One attempt --------------------------------------------------------------------------------------------------

    def begin(self):
        recorder = self._recorder
        self._standing = [(fixture, facts) for fixture, facts in self._standing if fixture.cached_result is not None]
        self._stood = list(self._standing)
        self._files += 1
        name = "dependencies-%d-%d" % (self._getpid(), self._files)
        self._path = "%s/%s.json" % (self._side, name)
        self._children.begin("%s/%s" % (self._side, name))
        recorder.current = Facts()
        recorder.in_attempt = True
        self._code.begin()

    def end(self, item):
        """The path of what it depended on."""
        recorder = self._recorder
        self._code.check()
        self._code.stop()
        recorder.in_attempt, facts = False, recorder.current
        recorder.current = recorder.common
        try:
            self._children.merge(facts)
            told = self._tell(item, facts)
        except Exception as error:
            told = {"format": FORMAT, "unknown": ["the watch itself failed: %s: %s" % (type(error).__name__, error)]}
        self._children.begin(None)
        self._attempts += 1
        text = self._encode(told).encode("ascii", "replace")
        file = self._open(self._path, self._flags, 0o600)
        try:
            while text:
                text = text[self._write(file, text) :]
        finally:
            self._close(file)
        return self._path

    def _tell(self, item, facts):
        own = facts
        facts = own.copy()
        facts.include(self._recorder.common)
        for node in item.listchain():
            facts["files"].update(self._files_of_node(node))
            if _path(node) in self._collections:
                facts.include(self._collections[_path(node)])
        for _, those in self._stood:
            facts.include(those)
        facts["files"].update(self._plugins(_path(item)))
        closure, variables = self._graph.closure(facts["files"])
        facts["variables"] |= variables
        for file in closure:
            facts["files"].add(file)
            of_import = self._recorder.modules.get(file)
            if of_import is not None:
                facts.include(of_import)
        self._configuration(facts, _path(item))
        return self._told(facts)

    def _files_of_node(self, node):
        yield _path(node)
        module = getattr(node, "obj", None) if isinstance(node, pytest.Module) else None
        name = getattr(module, "__name__", None)
        while name and isinstance(name, str):
            yield from files_of(sys.modules.get(name))
            name = name.rpartition(".")[0]

    def _plugins(self, path):
        """The files of all plugins; of `conftest.py`s only of those that are for this test."""
        for plugin in list(self._config.pluginmanager.get_plugins()):
            module = plugin if hasattr(plugin, "__file__") else sys.modules.get(type(plugin).__module__)
            for file in files_of(module):
                directory, name = os.path.split(file)
                if name != "conftest.py" or path.startswith(os.path.join(directory, "")):
                    yield file

    def _configuration(self, facts, path):
        """What pytest read and looked for before it came to this test."""
        directory = os.path.dirname(path)
        found = self._above.get(directory)
        if found is None:
            found = self._above[directory] = set(), set()
            directories, above = [], directory
            while self._project.is_ours(above) and above not in directories:
                directories.append(above)
                above = os.path.dirname(above)
            for above in directories:
                for name in CONFIGURATIONS + ["conftest.py", "__init__.py"]:
                    file = os.path.join(above, name)
                    found[0 if self._exists(file) else 1].add(file)
            if getattr(self._config, "inipath", None):
                found[0].add(str(self._config.inipath))
        facts["read"] |= found[0]
        facts["missed"] |= found[1]

    # -- Telling ------------------------------------------------------------------------------------------------------

    def _told(self, facts):
        project, unknown = self._project, facts["unknown"]
        outside = {kind: set() for kind in OUTSIDE}
        told = {kind: set() for kind in LISTS}
        executed = {}
        for file in facts["files"]:
            for name in self._of_file(file):
                where, shown = project.place(name)
                if where == "project":
                    executed.setdefault(shown, set())
                elif where:
                    outside["executed"].add(shown)
        if self._mode == "function":
            for file, line, name, qualified in facts["functions"]:
                for one in self._of_file(file):
                    where, shown = project.place(one)
                    if where == "project" and shown in executed:
                        executed[shown].add(qualified or self._qualified(file, line, name))
        for kind in LISTS:
            for name in facts[kind]:
                where, shown = project.place(name)
                if where == "project":
                    if kind != "read" or shown not in executed:
                        told[kind].add(shown)
                elif where and kind in outside:
                    outside[kind].add(shown)
        for name in told["extensions"]:
            unknown.add("%s is native code of the project" % name)
        for kind in LISTS:
            told[kind] = self._shown(told[kind], unknown)
        names = self._shown(executed, unknown)
        answer = {
            "format": FORMAT,
            "root": self._project.root,
            "after": self._attempts,
            "executed": {name: self._shown(executed[name], unknown) for name in names if name in executed}
            if self._mode == "function"
            else names,
        }
        answer.update(told)
        answer["searched"] = self._searches(facts["searched"])
        answer["variables"] = self._shown(facts["variables"], unknown)
        answer["programs"] = [{"program": name, "followed": followed} for name, followed in sorted(facts["programs"])]
        answer["outside"] = {kind: self._shown(outside[kind], set()) for kind in OUTSIDE}
        answer["unknown"] = self._shown(unknown, set())
        return answer

    def _shown(self, names, unknown):
        """In order. A name that is no Unicode cannot be told as it is, and so could not be compared with any other."""
        shown = []
        for name in sorted(names):
            try:
                name.encode("utf-8")
            except UnicodeEncodeError:
                name = name.encode("utf-8", "backslashreplace").decode()
                unknown.add("a name that is not Unicode: %s" % name)
            shown.append(name)
        return shown

    def _matters(self, path):
        if not path.startswith("/"):
            return not path.startswith("<")
        return self._project.place(path)[0] is not None or any(self._project.place(one)[0] for one in self._of_file(path))

    def _real(self, file):
        return self._names.of(self._names.absolute(file))[0]

    def _of_file(self, file):
        """The names of a file of code. Code in an archive is the archive's; code without a file is nobody's."""
        names = self._own_names.get(file)
        if names is None:
            names = []
            if not file.startswith("<"):
                path = self._names.absolute(file)
                while path and path != "/" and not self._exists(path):
                    path = os.path.dirname(path)
                if path and self._isfile(path):
                    names = self._names.of(path)
                elif file.startswith("/") and not self._exists(file):
                    names = [file]  # It is gone by now.
            self._own_names[file] = names
        return names

    def _searches(self, searched):
        """Where modules were looked for, by directory of the project, and their names."""
        key = len(sys.modules), len(searched), tuple(sys.path)
        if self._searched[0] == key:
            return self._searched[1]
        found, top = {}, set()
        for name in searched | set(sys.modules):
            package, _, last = name.rpartition(".")
            if not package:
                top.add(last)
                continue
            try:
                places = list(sys.modules[package].__path__)
            except Exception:
                continue
            for place in places:
                self._searched_in(found, place, (last,))
        for place in sys.path:
            self._searched_in(found, place or ".", top)
        answer = {place: self._shown(names, set()) for place, names in sorted(found.items())}
        self._searched = key, answer
        return answer

    def _searched_in(self, found, place, names):
        if isinstance(place, str):
            for one in self._of_directory(place):
                where, shown = self._project.place(one)
                if where == "project":
                    found.setdefault(shown, set()).update(names)

    def _of_directory(self, place):
        path = self._names.absolute(place)
        return [] if path is None else self._names.of(path)[:1]


def _path(node):
    return str(getattr(node, "path", None) or getattr(node, "fspath", ""))


def _runners():
    """Tells files of the runner, the standard library and the agent from all others."""
    places = [os.path.dirname(_pytest.__file__), os.path.dirname(pluggy.__file__), os.path.dirname(pytest.__file__)]
    places += [os.path.dirname(file) for file in files_of(sys.modules.get("py")) if file.endswith("/py/__init__.py")]
    paths = sysconfig.get_paths()
    standard = paths["stdlib"], paths["platstdlib"], os.path.dirname(os.__file__)
    standard = tuple(os.path.join(place, "") for place in standard)
    places = tuple(os.path.join(place, "") for place in places)

    def own(file):
        if file.startswith("<") or file.startswith(places):
            return True
        return file.startswith(standard) and not any(one in file for one in INSTALLED)

    return own
