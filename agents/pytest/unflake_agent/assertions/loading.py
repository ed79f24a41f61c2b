"""Instruments the project's modules as they are loaded.

It hooks into pytest's assertion rewriting, and into the loader of source files where pytest does
not rewrite. The user's compiled files are neither read nor written for these modules.
"""

import ast
import functools
import os
import sys
from importlib import machinery

from _pytest.assertion import rewrite

from ..common.after_import import after_import
from .code_cache import digest
from .rewrite import instrument_plain, instrument_rewritten
from .sites import AssertionSite, CallTable, sites

IMPORTLIB = "<frozen importlib._bootstrap_external>"
SOURCE_ERRORS = SyntaxError, ValueError, TypeError, AttributeError, LookupError, RecursionError, OSError


class AssertionLoading:
    def __init__(self, project, name, recorder, cache):
        """`name` makes a path relative to the root."""
        self._project, self.name, self._recorder, self._cache = project, name, recorder, cache
        self._loader, self._frame, self._exists = machinery.SourceFileLoader, sys._getframe, os.path.exists
        self._open, self._parse = open, ast.parse
        self._tables = {}  # By file: its assertion calls.
        self._skipped = set()  # Files that cannot be instrumented.
        # Of the module that pytest is rewriting: its assertions, and the sites of its statements.
        self._found, self._sites_by_node = [], {}
        self._uncached = set()

    def install(self):
        self._hook_pytest()
        after_import("_pytest.doctest", self._hook_doctests)
        if not sys.flags.optimize:  # With -O there are no `assert` statements.
            self._hook_loader()
        for path in self.files():
            self._recorder.gap("%s was loaded before it could be instrumented" % self.name(path))

    def _register(self, tree, path, source):
        """Registers the assertions of a module with the recorder: (node, site, function)."""
        version = digest(source)
        found = [
            (node, self._recorder.add(site, self.name(path), version, position), function)
            for position, (node, site, function) in enumerate(sites(tree, path))
        ]
        self._tables[path] = CallTable([site for _, site, _ in found])
        return found

    def _register_cached(self, path, source, cached):
        """Registers the assertions of cached code; the code."""
        code, entries = cached
        version, name, add = digest(source), self.name(path), self._recorder.add
        sites = [add(AssertionSite.from_tuple(path, one), name, version, n) for n, one in enumerate(entries)]
        self._tables[path] = CallTable(sites)
        return code

    def table(self, path):
        """The assertion calls of a file."""
        if path not in self._tables:
            try:
                with self._open(path, "rb") as file:
                    source = file.read()
                self._register(self._parse(source), path, source)
            except SOURCE_ERRORS as error:
                self._tables[path] = CallTable([])
                self._recorder.gap("%s cannot be read: %s" % (self.name(path), error))
        return self._tables[path]

    def files(self):
        """The loaded files of the project."""
        found = set(self._tables)
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            path = self._project.file(file) if type(file) is str and file.endswith(".py") else None
            if path is not None:
                found.add(path)
        return sorted(found)

    def _skip(self, path, why):
        self._skipped.add(path)
        self._recorder.gap("%s is not instrumented: %s" % (self.name(path), why))

    # -- Modules that pytest rewrites --------------------------------------------------------------

    def _hook_pytest(self):
        rewriter, project_file = rewrite.AssertionRewriter, self._project_file
        rewrite_asserts, visit_assert, rewrite_test = rewrite.rewrite_asserts, rewriter.visit_Assert, rewrite._rewrite_test
        read, write, make = rewrite._read_pyc, rewrite._write_pyc, rewrite.try_makedirs

        def instrument_module(mod, source, module_path=None, config=None):
            path = project_file(module_path)
            if path is None or path in self._skipped:
                return rewrite_asserts(mod, source, module_path, config)
            found = self._found = self._register(mod, path, source)
            self._sites_by_node = {id(node): site for node, site, _ in found if type(node) is ast.Assert}
            try:
                rewrite_asserts(mod, source, module_path, config)
            finally:
                self._sites_by_node = {}
            instrument_plain(mod, found)  # Of a module that opts out of pytest's rewriting.

        def instrument_assert(rewriter, assert_):
            site = self._sites_by_node.get(id(assert_))
            found = instrument_rewritten(rewriter, assert_, site, visit_assert) if site is not None else None
            return found if found is not None else visit_assert(rewriter, assert_)

        def instrument_test(fn, config):
            __tracebackhide__ = True
            path = project_file(fn)
            if path is not None and path not in self._skipped:
                try:
                    return self._rewritten(path, fn, config, rewrite_test)
                except SOURCE_ERRORS as error:
                    why = str(error)
                self._skip(path, why)
            return rewrite_test(fn, config)

        def read_others(source, pyc, *rest, **options):
            if project_file(source) is None:
                return read(source, pyc, *rest, **options)
            self._uncached.add(str(pyc))
            return None

        def write_others(state, co, source_stat, pyc):
            return False if str(pyc) in self._uncached else write(state, co, source_stat, pyc)

        def make_others(cache_dir):
            is_project = project_file(os.path.join(os.path.dirname(str(cache_dir)), "x.py")) is not None
            if is_project and not self._exists(str(cache_dir)):
                return False
            return make(cache_dir)

        rewrite.rewrite_asserts, rewriter.visit_Assert, rewrite._rewrite_test = instrument_module, instrument_assert, instrument_test
        rewrite._read_pyc, rewrite._write_pyc, rewrite.try_makedirs = read_others, write_others, make_others

    def _hook_doctests(self, module):
        run, gap = module.DoctestItem.runtest, self._recorder.gap

        @functools.wraps(run)
        def runtest(item):
            __tracebackhide__ = True
            gap("doctest comparisons are not recorded")
            return run(item)

        module.DoctestItem.runtest = runtest

    def _rewritten(self, path, fn, config, rewrite_test):
        with self._open(fn, "rb") as file:
            source = file.read()
        key = str(fn), rewrite.PYTEST_TAG, config.getini("enable_assertion_pass_hook")
        cached = self._cache.get(source, key)
        if cached is not None:
            return os.stat(fn), self._register_cached(path, source, cached)
        stat, code = rewrite_test(fn, config)
        self._cache.put(source, key, code, [site for _, site, _ in self._found])
        return stat, code

    def _project_file(self, path):
        return self._project.file(str(path)) if path is not None else None

    # -- Other modules -----------------------------------------------------------------------------

    def _hook_loader(self):
        original, instrumented = self._loader.get_code, self._code

        def get_code(loader, fullname):
            code = instrumented(loader, fullname)
            return original(loader, fullname) if code is None else code

        # Tracebacks of imports leave out frames of the import system, and so this one.
        get_code.__code__ = get_code.__code__.replace(co_filename=IMPORTLIB)
        self._loader.get_code = get_code

    def _code(self, loader, fullname):
        """The instrumented code of a module of the project; None for others.

        Also None for callers that do not import it: they might store the code.
        """
        if self._frame(2).f_globals.get("__name__") not in ("importlib._bootstrap_external", "_frozen_importlib_external"):
            return None
        path = self._project.file(loader.path) if type(loader.path) is str else None
        if path is None or path in self._skipped:
            return None
        try:
            data = loader.get_data(loader.path)
            if b"assert" not in data:
                return None
            if type(loader) is not self._loader:
                self._skip(path, "%s loads it" % type(loader).__name__)
                return None
            cached = self._cache.get(data, (loader.path,))
            if cached is not None:
                return self._register_cached(path, data, cached)
            tree = ast.parse(data, loader.path)
            found = self._register(tree, path, data)
            if not instrument_plain(tree, found):
                return None
            code = compile(tree, loader.path, "exec", dont_inherit=True)
            self._cache.put(data, (loader.path,), code, [site for _, site, _ in found])
        except SyntaxError:
            return None  # The importer reports it.
        except SOURCE_ERRORS as error:
            self._skip(path, str(error))
            return None
        return code
