"""What each attempt of a test depended on, told in a file of the side directory (format: agents/README.md). It is a
plugin of its own, there only when it is asked for. PYTEST_DONT_REWRITE"""

import _thread
import os
import sys
import sysconfig

import _pytest
import pluggy
import pytest

from .. import DIRECTORY
from .child_processes import Children
from .executed_code import Code
from .facts import Facts, Recorder
from .imports import Graph, Imports, files_of
from ..common.paths import INSTALLED, Names, Project, kind, repository
from .dependency_report import FORMAT, Namer, Searched, Told, encode
from .file_access import Touched

# Where pytest looks for its configuration, in every directory above the tests.
CONFIGURATIONS = "pytest.toml .pytest.toml pytest.ini .pytest.ini pyproject.toml tox.ini setup.cfg setup.py".split()
# Of how many files at once it is kept what all their tests depend on.
MOST_FILES = 64


class Dependencies:
    def __init__(self, mode, side):
        self._mode, self._side = mode, side
        self._recorder = Recorder(_runners())
        self._names = Names()
        self._code = Code(self._recorder, mode)
        self._agent = DIRECTORY
        self._children = Children(self._recorder, self._names, mode, self._agent, side, self._code.forked)
        self._before = set(sys.modules)  # Loaded before anybody watched.
        self._collections = {}
        self._standing = []
        self._namer = self._graph = self._searched = self._config = None
        self._attempts = self._files = 0
        self._above = {}
        self._shared, self._valid, self._chains = {}, None, {}
        self._tests = {}  # The modules of collected tests, with their files.
        self._vias = {}
        self._open, self._write, self._close = os.open, os.write, os.close
        self._flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        self._getpid, self._thread = os.getpid, _thread.get_ident
        Touched(self._recorder, self._names, self._children, self._code).install()
        self._imports = Imports(self._recorder)
        self._imports.install()
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
        self._namer = namer = Namer(self._names, Project(repository(root), self._side, self._agent))
        self._graph, self._searched = Graph(self._recorder, namer.matters), Searched(namer)
        self._children.begin("%s/dependencies-%d-collection" % (self._side, self._getpid()))
        self._code.configure(lambda file: namer.matters(file) and bool(namer.of_file(file)))
        common = self._recorder.common
        for name in self._before:
            for file in files_of(sys.modules.get(name)):
                where, shown = namer.project.place(namer.real(file))
                if where == "project":
                    common["files"].add(file)
                    common["unknown"].add("%s was loaded before the watch began" % shown)

    # -- Collection ---------------------------------------------------------------------------------------------------

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector):
        """What the collection of one file does is that file's."""
        if self._recorder.in_attempt:
            yield
            return
        below = self._recorder.stand_on(sys._getframe(1))
        yield from self._collect(collector)
        self._recorder.stand_on(below)

    def _collect(self, collector):
        if not isinstance(collector, pytest.File):
            yield
            return
        before = self._recorder.current
        self._recorder.current = self._collections.setdefault(_path(collector), Facts())
        self._shared.clear()
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

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self):
        """From here on the agent is at work, until there is an attempt."""
        self._recorder.deaf = self._thread()

    def collected(self, items):
        """What is forked from here on is a copy, until a test begins. What all copies need is found out here."""
        self._children.merge(self._recorder.common)
        self._children.begin(None)
        try:
            one_of_each = {self._chain(item): item for item in items}
            self._tests = {module: path for chain in one_of_each for path, module in chain if module}
            for item in list(one_of_each.values())[:MOST_FILES]:
                shared = self._share(item)
                shared.text(0, self._search(shared.facts), self._via(item))
                self._code.prepare(shared.facts["files"])
        except Exception:
            pass  # Each attempt finds it out by itself, and tells it if it cannot.

    # -- One attempt --------------------------------------------------------------------------------------------------

    def begin(self, item):
        recorder = self._recorder
        self._standing = [(fixture, facts) for fixture, facts in self._standing if fixture.cached_result is not None]
        self._stood = list(self._standing)
        self._files += 1
        name = "dependencies-%d-%d" % (self._getpid(), self._files)
        self._path = "%s/%s.json" % (self._side, name)
        self._children.begin("%s/%s" % (self._side, name))
        try:
            self._began = self._share(item).facts
        except Exception:  # Then everything is watched. If it happens again at the end, it is told.
            self._began = Facts()
        recorder.current, recorder.deaf = Facts(), None
        recorder.in_attempt = True
        self._code.begin(self._began["files"])

    def end(self, item):
        """The path of what it depended on."""
        recorder = self._recorder
        self._code.check()
        self._code.stop()
        recorder.in_attempt, facts = False, recorder.current
        recorder.current = recorder.common
        after, self._attempts = self._attempts, self._attempts + 1
        told = None
        try:
            self._children.merge(facts)
            told = self._tell(item, facts)
            searched = self._search(facts, self._share(item).facts)
            # Many tests of a file depend on the same. Only the first of a process is none of them: nothing came before it.
            if told.written is not None and told.written[1] is searched:
                return told.written[0]
            text = told.text(after, searched, self._via(item))
            if after:
                told.written = self._path, searched
        except Exception as error:
            words = "the watch itself failed: %s: %s" % (type(error).__name__, error)
            text = encode({"format": FORMAT, "after": after, "unknown": [words]})
        finally:
            self._children.begin(None)
        text = text.encode("ascii", "replace")
        file = self._open(self._path, self._flags, 0o600)
        try:
            while text:
                text = text[self._write(file, text) :]
        finally:
            self._close(file)
        return self._path

    def _tell(self, item, facts):
        shared = self._share(item)
        if shared.facts is not self._began:
            facts.include(self._began)  # Its code was not watched.
        for _, those in self._stood:
            facts.include(those)
        for file in self._graph.closure(facts["files"] - shared.facts["files"]):
            self._include_import(facts, file)
        return shared.plus(facts)

    def _share(self, item):
        """What every attempt of the tests beside this one depends on, whatever it does."""
        common, anew = self._recorder.common, self._graph.look()
        sizes = [len(common[kind]) for kind in common if kind != "searched"]
        valid = sizes, len(self._graph.variables), self._config.pluginmanager.get_plugins()
        if anew or valid != self._valid or len(self._shared) > MOST_FILES:
            self._shared.clear()
            self._valid = valid
        key = self._chain(item)
        shared = self._shared.get(key)
        if shared is None:
            facts = common.copy()
            for path, module in key:
                facts["files"].add(path)
                facts["files"].update(_files_above(module))
                if path in self._collections:
                    facts.include(self._collections[path])
            facts["files"].update(self._plugins(_path(item)))
            facts["variables"] |= self._graph.variables
            for file in self._graph.closure(facts["files"]):
                self._include_import(facts, file)
            self._configuration(facts, _path(item))
            shared = self._shared[key] = Told(self._namer, self._mode == "function", facts)
        return shared

    def _include_import(self, facts, file):
        facts["files"].add(file)
        of_import = self._recorder.modules.get(file)
        if of_import is not None:
            facts.include(of_import)

    def _chain(self, item):
        """The paths that lead to a test, with the names of their modules."""
        chain = self._chains.get(item.parent)
        if chain is None:
            nodes = item.parent.listchain()
            chain = tuple({(_path(node), _module(node)): None for node in nodes})
            if all(_module(node) for node in nodes if isinstance(node, pytest.Module)):
                self._chains[item.parent] = chain
        own = _path(item)
        return chain if any(own == path for path, _ in chain) else chain + ((own, None),)

    def _search(self, facts, shared=None):
        modules = self._recorder.common["searched"] | facts["searched"]
        return self._searched.text(modules, self._strangers(facts["files"] | (shared or facts)["files"]))

    def _via(self, item):
        """By the name of a file: the first line on the way from the test, or else from a `conftest.py`, that imports it."""
        path, lines = _path(item), self._imports.lines
        edges, via = self._vias.get(path, (None, None))
        if edges == self._imports.edges:
            return via
        ahead, found = [path] + sorted(file for file in self._plugins(path) if file in lines), {}
        for importer in ahead:
            for file, line in lines.get(importer, {}).items():
                if file not in found:
                    found[file] = importer, line
                    ahead.append(file)
        place, via = self._namer.project.place, {}
        for file, (importer, line) in found.items():
            for name in self._namer.of_file(file):
                where, shown = place(name)
                if where == "project":
                    via.setdefault(shown, "%s:%d" % (place(self._namer.real(importer))[1], line))
        self._vias[path] = self._imports.edges, via
        return via

    def _strangers(self, files):
        """The modules of tests in other files, unless they were used."""
        return frozenset(name for name, path in self._tests.items() if path not in files)

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
            while self._namer.project.is_ours(above) and above not in directories:
                directories.append(above)
                above = os.path.dirname(above)
            for above in directories:
                for name in CONFIGURATIONS + ["conftest.py", "__init__.py"]:
                    file = os.path.join(above, name)
                    found[0 if kind(file) else 1].add(file)
            if getattr(self._config, "inipath", None):
                found[0].add(str(self._config.inipath))
        facts["read"] |= found[0]
        facts["missed"] |= found[1]


def _path(node):
    return str(getattr(node, "path", None) or getattr(node, "fspath", ""))


def _module(node):
    """The name of its module, if it has one and that has been imported."""
    name = getattr(getattr(node, "_obj", None), "__name__", None) if isinstance(node, pytest.Module) else None
    return name if isinstance(name, str) else None


def _files_above(name):
    """Of a module and the packages that it is in."""
    while name:
        yield from files_of(sys.modules.get(name))
        name = name.rpartition(".")[0]


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
