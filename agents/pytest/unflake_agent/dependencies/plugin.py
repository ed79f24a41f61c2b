"""Records what each attempt depended on, as another pytest plugin (agents/README.md, 27 to 29).

Facts come from `file_access` (files, variables), `executed_code` (code, seen by `code_watch`),
`imports` (who imports whom) and `child_processes` (with `child_watch` inside those). `facts`
assigns them to attempts and modules, `dependency_report` writes them.
"""

import _thread
import os
import sys
import sysconfig

import _pytest
import pluggy
import pytest

from .. import DIRECTORY
from ..common.paths import INSTALLED, PathNames, ProjectPaths, path_kind, repository
from ..core.items import node_path
from .child_processes import ChildProcesses
from .dependency_report import FORMAT, DependencyReport, EarlierAttempts, FileNamer, SearchedModules, encode
from .executed_code import ExecutedCode
from .facts import FactRecorder, Facts
from .file_access import FileAccess
from .imports import ImportGraph, ImportHooks, files_of

# Files that pytest searches for in every directory above a test.
CONFIGURATION_FILES = "pytest.toml .pytest.toml pytest.ini .pytest.ini pyproject.toml tox.ini setup.cfg setup.py".split()
# Test files whose common report is kept at a time.
MAX_REPORTS = 64


class DependencyPlugin:
    def __init__(self, mode, side):
        self._mode, self._side = mode, side
        self._recorder = FactRecorder(_runner_file_test())
        self._names = PathNames()
        self._code = ExecutedCode(self._recorder, mode)
        self._children = ChildProcesses(self._recorder, self._names, mode, DIRECTORY, side, self._code.after_fork)
        self._loaded_before = set(sys.modules)
        self._collections = {}  # Facts by test file.
        self._fixtures = []  # Fixtures of wider scopes that are set up, with the facts until then.
        self._namer = self._graph = self._searched = self._config = None
        self._attempts = self._reports_written = 0
        self._earlier = EarlierAttempts(mode == "function")
        self._configurations = {}
        self._shared_reports, self._shared_state, self._chains = {}, None, {}
        self._test_modules = {}  # Modules of collected tests, with their files.
        self._import_lines = {}
        self._open, self._write, self._close = os.open, os.write, os.close
        self._flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        self._getpid, self._thread = os.getpid, _thread.get_ident
        FileAccess(self._recorder, self._names, self._children, self._code).install()
        self._imports = ImportHooks(self._recorder)
        self._imports.install()
        self._children.install()
        if self._code.is_always_on:
            self._code.start()

    def configure(self, config, installed=None):
        """As soon as pytest knows the root. `installed`: a hash of what is installed."""
        self._config = config
        root = os.path.realpath(str(config.rootpath))
        here = os.getcwd()
        if root.startswith(os.path.join(here, "")):
            root = here
        self._namer = namer = FileNamer(self._names, ProjectPaths(repository(root), self._side, DIRECTORY), installed)
        self._graph, self._searched = ImportGraph(self._recorder, namer.is_relevant), SearchedModules(namer)
        self._children.begin("%s/dependencies-%d-collection" % (self._side, self._getpid()))
        self._code.configure(lambda file: namer.is_relevant(file) and bool(namer.of_file(file)))
        common = self._recorder.common
        common["read"].update(_argument_files(config, self._names))
        for name in self._loaded_before:
            for file in files_of(sys.modules.get(name)):
                where, shown = namer.project.classify(namer.real(file))
                if where == "project":
                    common["files"].add(file)
                    common["unknown"].add("%s was loaded before recording began" % shown)

    # -- Collection --------------------------------------------------------------------------------

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector):
        """Assigns what the collection of a file does to that file."""
        if self._recorder.in_attempt:
            yield
            return
        previous = self._recorder.set_base(sys._getframe(1))
        yield from self._collect(collector)
        self._recorder.set_base(previous)

    def _collect(self, collector):
        if not isinstance(collector, pytest.File):
            yield
            return
        before = self._recorder.current
        self._recorder.current = self._collections.setdefault(node_path(collector), Facts())
        self._shared_reports.clear()
        if before is not self._recorder.current:
            self._code.restart()
        yield
        self._recorder.current = before

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef):
        yield
        if fixturedef.scope != "function" and self._recorder.in_attempt:
            # Later users of the fixture depend on everything up to here.
            self._fixtures.append((fixturedef, self._recorder.current.copy()))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self):
        """From here on only the agent runs, until an attempt begins."""
        self._recorder.agent_thread = self._thread()

    def collected(self, items):
        """Computes here what every forked process would need."""
        self._children.merge(self._recorder.common)
        self._children.begin(None)
        try:
            one_of_each = {self._chain(item): item for item in items}
            self._test_modules = {module: path for chain in one_of_each for path, module in chain if module}
            for item in list(one_of_each.values())[:MAX_REPORTS]:
                shared = self._shared_report(item)
                shared.text(0, self._searched_text(shared.facts), self._via(item))
                self._code.prepare(shared.facts["files"])
        except Exception:
            pass  # Each attempt computes it again, and reports an error.

    # -- Attempts ----------------------------------------------------------------------------------

    def begin(self, item):
        recorder = self._recorder
        self._fixtures = [(fixture, facts) for fixture, facts in self._fixtures if fixture.cached_result is not None]
        self._fixtures_before = list(self._fixtures)
        self._reports_written += 1
        name = "dependencies-%d-%d" % (self._getpid(), self._reports_written)
        self._path = "%s/%s.json" % (self._side, name)
        self._children.begin("%s/%s" % (self._side, name))
        try:
            self._shared_facts = self._shared_report(item).facts
        except Exception:  # Then all code is watched. If `end` fails too, it reports the error.
            self._shared_facts = Facts()
        recorder.current, recorder.agent_thread = Facts(), None
        recorder.in_attempt = True
        self._code.begin(self._shared_facts["files"])

    def end(self, item):
        """The path of the report."""
        recorder = self._recorder
        self._code.check()
        self._code.stop()
        recorder.in_attempt, facts = False, recorder.current
        recorder.current = recorder.common
        after, self._attempts = self._attempts, self._attempts + 1
        try:
            self._children.merge(facts)
            report = self._earlier.add(self._report(item, facts))
            searched = self._searched_text(facts, self._shared_report(item).facts)
            # Many tests of a file have the same report. The first attempt of a process never shares
            # its file, because nothing came before it.
            if report.written is not None and report.written[1] is searched:
                return report.written[0]
            text = report.text(after, searched, self._via(item))
            if after:
                report.written = self._path, searched
        except Exception as error:
            why = "recording dependencies failed: %s: %s" % (type(error).__name__, error)
            self._earlier.add_failed(why)
            text = encode({"format": FORMAT, "after": after, "unknown": [why]})
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

    def _report(self, item, facts):
        shared = self._shared_report(item)
        if shared.facts is not self._shared_facts:
            facts.include(self._shared_facts)  # Code of these files was not watched.
        for _, until_setup in self._fixtures_before:
            facts.include(until_setup)
        for file in self._graph.closure(facts["files"] - shared.facts["files"]):
            self._include_import(facts, file)
        return shared.plus(facts)

    def _shared_report(self, item):
        """What every test of the same file depends on, whatever it does."""
        common, has_changed = self._recorder.common, self._graph.update()
        sizes = [len(common[kind]) for kind in common if kind != "searched"]
        state = sizes, len(self._graph.variables), self._config.pluginmanager.get_plugins()
        if has_changed or state != self._shared_state or len(self._shared_reports) > MAX_REPORTS:
            self._shared_reports.clear()
            self._shared_state = state
        chain = self._chain(item)
        shared = self._shared_reports.get(chain)
        if shared is None:
            facts = common.copy()
            for path, module in chain:
                facts["files"].add(path)
                facts["files"].update(_files_of_packages(module))
                if path in self._collections:
                    facts.include(self._collections[path])
            facts["files"].update(self._plugin_files(node_path(item)))
            facts["variables"] |= self._graph.variables
            for file in self._graph.closure(facts["files"]):
                self._include_import(facts, file)
            self._add_configuration(facts, node_path(item))
            shared = self._shared_reports[chain] = DependencyReport(self._namer, self._mode == "function", facts)
        return shared

    def _include_import(self, facts, file):
        facts["files"].add(file)
        of_import = self._recorder.modules.get(file)
        if of_import is not None:
            facts.include(of_import)

    def _chain(self, item):
        """The paths of the nodes that lead to a test, with the names of their modules."""
        chain = self._chains.get(item.parent)
        if chain is None:
            nodes = item.parent.listchain()
            chain = tuple({(node_path(node), _module_name(node)): None for node in nodes})
            if all(_module_name(node) for node in nodes if isinstance(node, pytest.Module)):
                self._chains[item.parent] = chain
        own = node_path(item)
        return chain if any(own == path for path, _ in chain) else chain + ((own, None),)

    def _searched_text(self, facts, shared=None):
        modules = self._recorder.common["searched"] | facts["searched"]
        used = facts["files"] | (shared or facts)["files"]
        foreign_tests = frozenset(name for name, path in self._test_modules.items() if path not in used)
        return self._searched.text(modules, foreign_tests)

    def _via(self, item):
        """By file: the first line that imports it, on the way from the test or a `conftest.py`."""
        path, lines = node_path(item), self._imports.lines
        edges, via = self._import_lines.get(path, (None, None))
        if edges == self._imports.edges:
            return via
        pending, found = [path] + sorted(file for file in self._plugin_files(path) if file in lines), {}
        for importer in pending:
            for file, line in lines.get(importer, {}).items():
                if file not in found:
                    found[file] = importer, line
                    pending.append(file)
        classify, via = self._namer.project.classify, {}
        for file, (importer, line) in found.items():
            for name in self._namer.of_file(file):
                where, shown = classify(name)
                if where == "project":
                    via.setdefault(shown, "%s:%d" % (classify(self._namer.real(importer))[1], line))
        self._import_lines[path] = self._imports.edges, via
        return via

    def _plugin_files(self, path):
        """The files of all plugins, and those `conftest.py` files that apply to this test."""
        for plugin in list(self._config.pluginmanager.get_plugins()):
            module = plugin if hasattr(plugin, "__file__") else sys.modules.get(type(plugin).__module__)
            for file in files_of(module):
                directory, name = os.path.split(file)
                if name != "conftest.py" or path.startswith(os.path.join(directory, "")):
                    yield file

    def _add_configuration(self, facts, path):
        """Adds the configuration files that pytest read or searched for above this test."""
        directory = os.path.dirname(path)
        found = self._configurations.get(directory)
        if found is None:
            configured, read, missed = found = self._configurations[directory] = set(), set(), set()
            directories, above = [], directory
            while self._namer.project.has(above) and above not in directories:
                directories.append(above)
                above = os.path.dirname(above)
            for above in directories:
                for names, existing in (CONFIGURATION_FILES, configured), (["conftest.py", "__init__.py"], read):
                    for file in [os.path.join(above, name) for name in names]:
                        (existing if path_kind(file) else missed).add(file)
            if getattr(self._config, "inipath", None):
                configured.add(str(self._config.inipath))
        for kind, files in zip(("configured", "read", "missed"), found):
            facts[kind] |= files


def _argument_files(config, names):
    """Files that the command line names for further arguments (`@file`). Missing ones count too."""
    parameters = getattr(config, "invocation_params", None)
    for argument in getattr(parameters, "args", ()):
        if isinstance(argument, str) and argument.startswith("@"):
            path = names.absolute(argument[1:], str(parameters.dir))
            if path is not None:
                yield from names.of(path)


def _module_name(node):
    """The name of a node's module, if it is a module that has been imported."""
    name = getattr(getattr(node, "_obj", None), "__name__", None) if isinstance(node, pytest.Module) else None
    return name if isinstance(name, str) else None


def _files_of_packages(name):
    """The files of a module and of its parent packages."""
    while name:
        yield from files_of(sys.modules.get(name))
        name = name.rpartition(".")[0]


def _runner_file_test():
    """A function: whether a file belongs to the installed runner, the standard library or the agent."""
    runners = [os.path.dirname(_pytest.__file__), os.path.dirname(pluggy.__file__), os.path.dirname(pytest.__file__)]
    runners += [os.path.dirname(file) for file in files_of(sys.modules.get("py")) if file.endswith("/py/__init__.py")]
    paths = sysconfig.get_paths()
    standard = paths["stdlib"], paths["platstdlib"], os.path.dirname(os.__file__)
    standard = tuple(os.path.join(directory, "") for directory in standard)
    runners = [os.path.join(directory, "") for directory in runners]
    # A runner that is not installed may be the project.
    runners = tuple(directory for directory in runners if any(one in directory for one in INSTALLED))

    def is_runner_file(file):
        if file.startswith("<") or file.startswith(runners):
            return True
        return file.startswith(standard) and not any(one in file for one in INSTALLED)

    return is_runner_file
