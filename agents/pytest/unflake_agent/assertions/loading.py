"""Brings `assert_rewrite` into the project's modules as they are loaded: through pytest's own rewriting, or where pytest does not rewrite
through the loader of source files. Compiled files of the user are neither read nor written for these. PYTEST_DONT_REWRITE"""

import ast
import functools
import os
import sys
from importlib import machinery

from _pytest.assertion import rewrite

from ..common.after_import import after_import
from .code_cache import digest
from .rewrite import rewrite as rewrite_assert, transform
from .sites import Site, Table, sites

IMPORTLIB = "<frozen importlib._bootstrap_external>"
SURPRISES = SyntaxError, ValueError, TypeError, AttributeError, LookupError, RecursionError, OSError


class Loading:
    def __init__(self, own, name, recorder, kept):
        """`own`: whose a file is; `name`: what it is called from the root; `kept`: code from earlier runs."""
        self._own, self.name, self._recorder, self._kept = own, name, recorder, kept
        self._loader, self._frame, self._exists = machinery.SourceFileLoader, sys._getframe, os.path.exists
        self._open, self._parse = open, ast.parse
        self._tables = {}  # By file: its calls that are assertions.
        self._left = set()  # Told as they are, because it does not work otherwise.
        self._told, self._under_way = [], {}  # Of the module that pytest is rewriting: its sites, also by their nodes.
        self._uncached = set()

    def install(self):
        self._into_pytest()
        after_import("_pytest.doctest", self._into_doctests)
        if not sys.flags.optimize:  # Without `assert` there is nothing to see.
            self._into_loader()
        for path in self.files():
            self._recorder.gap("%s was loaded before it could be looked into" % self.name(path))

    def _sites(self, tree, path, source):
        """The assertions of a module, each known to the recorder: node, site, function."""
        version = digest(source)
        told = [
            (node, self._recorder.add(site, self.name(path), version, place), around)
            for place, (node, site, around) in enumerate(sites(tree, path))
        ]
        self._tables[path] = Table([site for _, site, _ in told])
        return told

    def _take(self, path, source, kept):
        """Code from an earlier run, with its assertions."""
        code, entries = kept
        version, name = digest(source), self.name(path)
        self._tables[path] = Table([self._recorder.add(Site.kept(path, one), name, version, n) for n, one in enumerate(entries)])
        return code

    def table(self, path):
        """The calls of a file that are assertions."""
        if path not in self._tables:
            try:
                with self._open(path, "rb") as file:
                    source = file.read()
                self._sites(self._parse(source), path, source)
            except SURPRISES as error:
                self._tables[path] = Table([])
                self._recorder.gap("%s cannot be read: %s" % (self.name(path), error))
        return self._tables[path]

    def files(self):
        """The project's files that are loaded."""
        found = set(self._tables)
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            path = self._own.file(file) if type(file) is str and file.endswith(".py") else None
            if path is not None:
                found.add(path)
        return sorted(found)

    def _leave(self, path, error):
        self._left.add(path)
        self._recorder.gap("%s is loaded as it is: %s" % (self.name(path), error))

    # -- pytest ---------------------------------------------------------------------------------------------------------

    def _into_pytest(self):
        rewriter, file = rewrite.AssertionRewriter, self._file
        rewrite_asserts, visit_assert, rewrite_test = rewrite.rewrite_asserts, rewriter.visit_Assert, rewrite._rewrite_test
        read, write, make = rewrite._read_pyc, rewrite._write_pyc, rewrite.try_makedirs

        def telling_module(mod, source, module_path=None, config=None):
            path = file(module_path)
            if path is None or path in self._left:
                return rewrite_asserts(mod, source, module_path, config)
            told = self._told = self._sites(mod, path, source)
            self._under_way = {id(node): site for node, site, _ in told if type(node) is ast.Assert}
            try:
                rewrite_asserts(mod, source, module_path, config)
            finally:
                self._under_way = {}
            transform(mod, told)  # What pytest was asked not to touch.

        def telling_assert(rewriter, assert_):
            site = self._under_way.get(id(assert_))
            told = rewrite_assert(rewriter, assert_, site, visit_assert) if site is not None else None
            return told if told is not None else visit_assert(rewriter, assert_)

        def telling_test(fn, config):
            __tracebackhide__ = True
            path = file(fn)
            if path is not None and path not in self._left:
                try:
                    return self._looked_into(path, fn, config, rewrite_test)
                except SURPRISES as error:
                    words = str(error)
                self._leave(path, words)
            return rewrite_test(fn, config)

        def read_others(source, pyc, *rest, **options):
            if file(source) is None:
                return read(source, pyc, *rest, **options)
            self._uncached.add(str(pyc))
            return None

        def write_others(state, co, source_stat, pyc):
            return False if str(pyc) in self._uncached else write(state, co, source_stat, pyc)

        def make_others(cache_dir):
            if file(os.path.join(os.path.dirname(str(cache_dir)), "x.py")) is not None and not self._exists(str(cache_dir)):
                return False
            return make(cache_dir)

        rewrite.rewrite_asserts, rewriter.visit_Assert, rewrite._rewrite_test = telling_module, telling_assert, telling_test
        rewrite._read_pyc, rewrite._write_pyc, rewrite.try_makedirs = read_others, write_others, make_others

    def _into_doctests(self, module):
        run, gap = module.DoctestItem.runtest, self._recorder.gap

        @functools.wraps(run)
        def runtest(item):
            __tracebackhide__ = True
            gap("what a doctest compares is not told")
            return run(item)

        module.DoctestItem.runtest = runtest

    def _looked_into(self, path, fn, config, rewrite_test):
        with self._open(fn, "rb") as file:
            source = file.read()
        way = str(fn), rewrite.PYTEST_TAG, config.getini("enable_assertion_pass_hook")
        kept = self._kept.get(source, way)
        if kept is not None:
            return os.stat(fn), self._take(path, source, kept)
        stat, code = rewrite_test(fn, config)
        self._kept.put(source, way, code, [site for _, site, _ in self._told])
        return stat, code

    def _file(self, path):
        return self._own.file(str(path)) if path is not None else None

    # -- Other modules ----------------------------------------------------------------------------------------------------

    def _into_loader(self):
        plain, look = self._loader.get_code, self._code

        def get_code(loader, fullname):
            code = look(loader, fullname)
            return plain(loader, fullname) if code is None else code

        # So that tracebacks of imports leave it out, as they leave out the import system itself.
        get_code.__code__ = get_code.__code__.replace(co_filename=IMPORTLIB)
        self._loader.get_code = get_code

    def _code(self, loader, fullname):
        """The code of a module of the project, telling; None for others, and for whoever is not importing it: it may be kept."""
        if self._frame(2).f_globals.get("__name__") not in ("importlib._bootstrap_external", "_frozen_importlib_external"):
            return None
        path = self._own.file(loader.path) if type(loader.path) is str else None
        if path is None or path in self._left:
            return None
        try:
            data = loader.get_data(loader.path)
            if b"assert" not in data:
                return None
            if type(loader) is not self._loader:
                self._leave(path, "%s loads it" % type(loader).__name__)
                return None
            kept = self._kept.get(data, (loader.path,))
            if kept is not None:
                return self._take(path, data, kept)
            tree = ast.parse(data, loader.path)
            told = self._sites(tree, path, data)
            if not transform(tree, told):
                return None
            code = compile(tree, loader.path, "exec", dont_inherit=True)
            self._kept.put(data, (loader.path,), code, [site for _, site, _ in told])
        except SyntaxError:
            return None  # Told by whoever imports it.
        except SURPRISES as error:
            self._leave(path, str(error))
            return None
        return code
