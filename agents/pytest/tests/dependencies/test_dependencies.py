"""Dependencies of a test: imports, files, directories, variables, configuration."""

import os
import subprocess
import sysconfig
import zipfile

import pytest


def test_without_the_variable_there_is_no_report(project):
    agent = project("def test_a(): pass").ready()
    assert "dependencies" not in agent.run(0)[0]


def test_test_depends_on_its_own_file(dependencies):
    report = dependencies("def test_a(): pass")
    assert report["executed"] == ["test_it.py"]
    assert report["unknown"] == [] and report["after"] == 0
    assert report["outside"]["executed"] == []


# Tests that use helper.py in different ways.
IMPORTS = {
    "import": "import helper\ndef test_a(): assert helper.f() == 1",
    "lazy": "def test_a():\n    import helper\n    helper.f()",
    "import_module": "import importlib\ndef test_a(): importlib.import_module('helper')",
    "__import__": "def test_a(): __import__('helper')",
    "star": "from helper import *\ndef test_a(): f()",
    "constant only": "from helper import CONSTANT\ndef test_a(): assert CONSTANT == 5",
    "transitive": "import between\ndef test_a(): pass",
    "runpy module": "import runpy\ndef test_a(): runpy.run_module('helper')",
    "runpy path": "import runpy\ndef test_a(): runpy.run_path('helper.py')",
    "exec of compiled text": "def test_a(): exec(compile(open('helper.py').read(), 'helper.py', 'exec'), {})",
    "spec by hand": """
        import importlib.util
        def test_a():
            spec = importlib.util.spec_from_file_location('anything', 'helper.py')
            spec.loader.exec_module(importlib.util.module_from_spec(spec))
        """,
    "pickle": "import pickle\ndef test_a(): pickle.loads(b'chelper\\nf\\n.')",
    "thread": """
        import helper, threading
        def test_a():
            t = threading.Thread(target=helper.f); t.start(); t.join()
        """,
    "task": "import asyncio\nimport helper\ndef test_a(): asyncio.run(helper.coroutine())",
    "patch": "from unittest import mock\ndef test_a():\n    with mock.patch('helper.f'): pass",
}


@pytest.mark.parametrize("code", IMPORTS.values(), ids=list(IMPORTS))
@pytest.mark.parametrize("mode", ["file", "function"])
def test_imports(dependencies, code, mode):
    helper = "CONSTANT = 5\ndef f(): return 1\nasync def coroutine(): return 2\n"
    report = dependencies({"test_it.py": code, "helper.py": helper, "between.py": "import helper", "other.py": ""}, mode=mode)
    assert "helper.py" in set(report["executed"]) | set(report["read"])
    assert "other.py" not in str(report)
    assert report["unknown"] == []


def test_relative_imports_and_packages(dependencies):
    report = dependencies(
        {
            "pkg/__init__.py": "from .sub import thing",
            "pkg/sub/__init__.py": "from . import deep\nfrom ..side_of import x\nthing = 1",
            "pkg/sub/deep.py": "",
            "pkg/side_of.py": "x = 1",
            "pkg/unused.py": "",
            "test_it.py": "import pkg\ndef test_a(): pass",
        }
    )
    assert report["executed"] == ["pkg/__init__.py", "pkg/side_of.py", "pkg/sub/__init__.py", "pkg/sub/deep.py", "test_it.py"]


def test_namespace_package(dependencies):
    report = dependencies({"space/part.py": "", "test_it.py": "import space.part\ndef test_a(): pass"})
    assert "space/part.py" in report["executed"]
    assert "part" in report["searched"]["space"]


def test_missing_optional_module(dependencies):
    report = dependencies("try:\n    import fast_thing\nexcept ImportError:\n    pass\ndef test_a(): pass")
    assert "fast_thing" in report["searched"]["."]


def test_missing_optional_submodule(dependencies):
    report = dependencies(
        {"pkg/__init__.py": "try:\n    from . import _fast\nexcept ImportError:\n    pass", "test_it.py": "import pkg\ndef test_a(): pass"}
    )
    assert "_fast" in report["searched"]["pkg"]


def test_searched_names_include_modules_that_a_new_file_would_shadow(dependencies):
    report = dependencies("import json\ndef test_a(): pass")
    assert {"json", "os", "test_it"} <= set(report["searched"]["."])


# Tests that read a file in different ways.
READING_TESTS = {
    "open": "def test_a(): open('data.txt').read()",
    "pathlib": "import pathlib\ndef test_a(): pathlib.Path('data.txt').read_text()",
    "io": "import io\ndef test_a(): io.open('data.txt', 'rb').read()",
    "os.open": "import os\ndef test_a(): os.close(os.open('data.txt', os.O_RDONLY))",
    "absolute": "import os\ndef test_a(): open(os.path.abspath('data.txt')).close()",
    "elsewhere": "import os\ndef test_a():\n    os.chdir('sub')\n    open('../data.txt').close()",
    "dir_fd": "import os\ndef test_a():\n    d = os.open('sub/..', os.O_RDONLY); os.chdir('sub'); os.open('data.txt', os.O_RDONLY, dir_fd=d)",
    "mmap": "import mmap\ndef test_a():\n    with open('data.txt', 'r+b') as f: mmap.mmap(f.fileno(), 0)",
    "csv": "import csv\ndef test_a():\n    with open('data.txt') as f: list(csv.reader(f))",
    "json": "import json\ndef test_a():\n    with open('data.txt') as f: json.load(f)",
    "configparser": "import configparser\ndef test_a():\n    configparser.ConfigParser().read('data.ini')",
    "sqlite3": "import sqlite3\ndef test_a(): sqlite3.connect('data.db').close()",
    "sqlite3 by uri": "import sqlite3\ndef test_a(): sqlite3.connect('file:data.db?mode=ro', uri=True).close()",
    "sqlite3 attached": "import sqlite3\ndef test_a(): sqlite3.connect(':memory:').execute(\"ATTACH 'data.db' AS d\").close()",
    "zipfile": "import zipfile\ndef test_a(): zipfile.ZipFile('data.zip').read('x')",
    "pkgutil": "import pkgutil\ndef test_a(): pkgutil.get_data('pkg', 'data.txt')",
    "resources": "import importlib.resources as r\ndef test_a():\n    import pkg\n    with (r.files(pkg) / 'data.txt').open() if hasattr(r, 'files') else r.open_text(pkg, 'data.txt') as f: f.read()",
    "linecache": "import linecache\ndef test_a(): linecache.getline('data.txt', 1)",
    "shutil": "import shutil\ndef test_a(tmp_path): shutil.copy('data.txt', str(tmp_path))",
    "stat": "import os\ndef test_a(): os.stat('data.txt')",
    "exists": "import os\ndef test_a(): assert os.path.exists('data.txt')",
    "isfile": "import os\ndef test_a(): assert os.path.isfile('data.txt')",
    "pathlib exists": "import pathlib\ndef test_a(): assert pathlib.Path('data.txt').exists()",
    "access": "import os\ndef test_a(): os.access('data.txt', os.R_OK)",
    "fixture": "import pytest\n@pytest.fixture(scope='module')\ndef data(): return open('data.txt').read()\ndef test_a(data): pass",
    "at import": "TEXT = open('data.txt').read()\ndef test_a(): pass",
    "parameters": "import pytest\n@pytest.mark.parametrize('x', [open('data.txt').read()])\ndef test_a(x): pass",
    "thread": "import threading\ndef test_a():\n    t = threading.Thread(target=open, args=('data.txt',)); t.start(); t.join()",
    "while open is replaced": "import builtins, io, pytest\ndef test_a(monkeypatch):\n    monkeypatch.setattr(builtins, 'open', lambda p: io.FileIO(p))\n    open('data.txt').close()",
}


@pytest.mark.parametrize("code", READING_TESTS.values(), ids=list(READING_TESTS))
def test_read_files(dependencies, code):
    with zipfile.ZipFile(os.path.join(dependencies.directory, "data.zip"), "w") as archive:
        archive.writestr("x", "y")
    report = dependencies(
        {"test_it.py": code, "data.txt": "[1]", "data.ini": "[a]\nb=c\n", "data.db": b"", "sub/x": "", "pkg/__init__.py": "", "pkg/data.txt": "1"}
    )
    expected = ["pkg/data.txt"] if "pkg" in code else [one for one in ("data.ini", "data.db", "data.zip", "data.txt") if one in code]
    assert set(expected) <= set(report["read"]), report
    assert report["unknown"] == []


# The code of a test, a field of the report, and what it must contain.
INSPECTING_TESTS = {
    "listdir": ("os.listdir('sub')", "listed", "sub"),
    "scandir": ("list(os.scandir('sub'))", "listed", "sub"),
    "walk": ("list(os.walk('sub'))", "listed", "sub/deeper"),
    "glob": ("glob.glob('sub/*.txt')", "listed", "sub"),
    "pathlib glob": ("list(pathlib.Path('sub').glob('**/*.x'))", "listed", "sub"),
    "missing": ("pytest.raises(OSError, open, 'new.txt')", "missed", "new.txt"),
    "missing by os.open": ("pytest.raises(OSError, os.open, 'new.txt', os.O_RDONLY)", "missed", "new.txt"),
    "exists": ("os.path.exists('new.txt')", "missed", "new.txt"),
    "isdir": ("os.path.isdir('new')", "missed", "new"),
    "a directory": ("os.path.isdir('sub')", "looked", "sub"),
    "pathlib": ("pathlib.Path('new.txt').is_file()", "missed", "new.txt"),
    "lexists": ("os.path.lexists('new.txt')", "missed", "new.txt"),
    "access": ("os.access('new.txt', os.R_OK)", "missed", "new.txt"),
    "in a missing directory": ("os.path.exists('new/deeper/x')", "missed", "new/deeper/x"),
    "glob without magic": ("glob.glob('new.txt')", "missed", "new.txt"),
    "missing directory": ("pytest.raises(OSError, os.listdir, 'new')", "missed", "new"),
    "written": ("open('made.txt', 'w').close()", "written", "made.txt"),
    "renamed": ("os.rename('data.txt', 'made.txt')", "written", "made.txt"),
    "getenv": ("os.getenv('SOME_THING')", "variables", "SOME_THING"),
    "environ": ("os.environ.get('SOME_THING', 'SOME_THING' in os.environ)", "variables", "SOME_THING"),
    "all variables": ("dict(os.environ)", "variables", "*"),
}


@pytest.mark.parametrize("code, kind, name", INSPECTING_TESTS.values(), ids=list(INSPECTING_TESTS))
def test_inspected_paths_and_variables(dependencies, code, kind, name):
    report = dependencies(
        {
            "test_it.py": "import glob, os, pathlib, pytest\ndef test_a(): %s\n" % code,
            "sub/a.txt": "",
            "sub/deeper/b.txt": "",
            "data.txt": "",
        }
    )
    assert name in report[kind], report
    assert report["unknown"] == []


def test_template_loader_reads_and_misses(dependencies):
    report = dependencies(
        {
            "loader.py": """
                import os
                class Loader:
                    def __init__(self, *places): self.places = places
                    def get(self, name):
                        for place in self.places:
                            path = os.path.join(os.path.dirname(__file__), place, name)
                            if os.path.exists(path):
                                with open(path) as file: return file.read()
                """,
            "base/page.html": "hello",
            "test_it.py": "from loader import Loader\ndef test_a(): assert Loader('mine', 'base').get('page.html') == 'hello'",
        }
    )
    assert "base/page.html" in report["read"] and "mine/page.html" in report["missed"]


def test_files_outside_of_the_project_are_separate(dependencies, tmp_path):
    (tmp_path / "far.txt").write_text("x")
    report = dependencies("def test_a(): open(%r).close()" % str(tmp_path / "far.txt"))
    assert os.path.realpath(str(tmp_path / "far.txt")) in report["outside"]["read"]
    assert "far.txt" not in str(report["read"])


# -- Configuration, conftest files, plugins --------------------------------------------------------


def test_conftest_files_at_several_levels(dependencies):
    report = dependencies(
        {
            "conftest.py": "import of_top",
            "of_top.py": "",
            "a/conftest.py": "import pytest, of_a\n@pytest.fixture\ndef thing(): return of_a.f()",
            "of_a.py": "def f(): return open('data.txt').read()",
            "data.txt": "",
            "b/conftest.py": "import of_b",
            "of_b.py": "",
            "a/test_it.py": "def test_a(thing): pass",
            "b/test_other.py": "def test_b(): pass",
        }
    )
    assert {"conftest.py", "of_top.py", "a/conftest.py", "of_a.py", "a/test_it.py"} == set(report["executed"])
    assert "data.txt" in report["read"] and "a/__init__.py" in report["missed"]
    assert "b/" not in str(report["executed"])


def test_missing_conftest_and_configuration_files(dependencies):
    report = dependencies({"sub/test_it.py": "def test_a(): pass", "pytest.ini": "[pytest]\n"})
    assert {"conftest.py", "sub/conftest.py", "sub/pytest.ini", "pyproject.toml"} <= set(report["missed"])
    assert "pytest.ini" in report["configured"] and "pytest.ini" not in report["read"]


def test_pyproject_is_read(dependencies):
    report = dependencies({"test_it.py": "def test_a(): pass", "pyproject.toml": "[tool.pytest.ini_options]\naddopts='-q'\n"})
    assert "pyproject.toml" in report["configured"]


def test_plugin_of_the_project(dependencies):
    files = {"plug.py": "import of_plug", "of_plug.py": "", "test_it.py": "def test_a(): pass"}
    report = dependencies(files, args=("-p", "plug"), variables={"PYTHONPATH": dependencies.directory})
    assert {"plug.py", "of_plug.py"} <= set(report["executed"])
    assert "plug.py was loaded before recording began" in report["unknown"]


def test_plugin_named_in_a_conftest(dependencies):
    files = {"plug.py": "X = open('data.txt').read()", "data.txt": "", "test_it.py": "def test_a(): pass"}
    files["conftest.py"] = "pytest_plugins = ['plug']"
    report = dependencies(files)
    assert "plug.py" in report["executed"] and "data.txt" in report["read"] and report["unknown"] == []


def test_hook_of_a_conftest(dependencies):
    report = dependencies(
        {
            "conftest.py": "def pytest_generate_tests(metafunc):\n    import late\n    open('cases.txt').close()",
            "late.py": "",
            "cases.txt": "",
            "test_a.py": "def test_a(): pass",
            "test_b.py": "def test_b(): pass",
        },
        1,
    )
    assert "late.py" in report["executed"] and "cases.txt" in report["read"] and "test_a.py" not in report["executed"]


# -- Other tests -----------------------------------------------------------------------------------

TWO_TEST_FILES = {
    "test_a.py": "import only_a\ndef test_a():\n    import lazily\n    lazily.f()",
    "test_b.py": "import shared\ndef test_b():\n    import lazily\n    lazily.f()\ndef test_c(): pass",
    "only_a.py": "import shared\nopen('of_a.txt').close()",
    "shared.py": "import below\nopen('of_shared.txt').close()",
    "below.py": "",
    "lazily.py": "import below_lazily\nopen('of_lazily.txt').close()\ndef f(): pass",
    "below_lazily.py": "",
    "of_a.txt": "",
    "of_shared.txt": "",
    "of_lazily.txt": "",
}


@pytest.mark.parametrize("mode", ["file", "function"])
@pytest.mark.parametrize("forked", [False, True])
def test_imports_of_another_test_file_do_not_count(dependencies, mode, forked):
    report = dependencies(TWO_TEST_FILES, 2, mode=mode, forked=forked)
    assert set(report["executed"]) == {"test_b.py", "shared.py", "below.py"}
    assert report["read"] == ["of_shared.txt"]


def test_module_imported_by_an_earlier_test_counts_if_used(dependencies):
    report = dependencies(TWO_TEST_FILES, 0, 1)
    assert set(report["executed"]) == {"test_b.py", "shared.py", "below.py", "lazily.py", "below_lazily.py"}
    assert report["read"] == ["of_lazily.txt", "of_shared.txt"]
    assert report["after"] == 1


def test_fixture_set_up_by_an_earlier_test(dependencies):
    report = dependencies(
        {
            "test_it.py": "import pytest\n@pytest.fixture(scope='module')\ndef data():\n    import helper\n    return helper.f()\n"
            "def test_a(data): pass\ndef test_b(data): pass\n",
            "helper.py": "def f(): return open('data.txt').read()",
            "data.txt": "",
        },
        0,
        1,
    )
    assert "helper.py" in report["executed"] and "data.txt" in report["read"]


def test_generator_started_by_an_earlier_test(dependencies):
    report = dependencies(
        {
            "gen.py": "def f():\n    yield 1\n    import late\n    yield 2\n",
            "late.py": "",
            "keep.py": "held = []",
            "test_it.py": "import keep\ndef test_a():\n    import gen\n    keep.held.append(gen.f()); next(keep.held[0])\n"
            "def test_b(): next(keep.held[0])",
        },
        0,
        1,
    )
    assert {"gen.py", "late.py"} <= set(report["executed"])


# -- Functions -------------------------------------------------------------------------------------


def test_functions_have_qualified_names(dependencies):
    report = dependencies(
        {
            "lib.py": """
                def decorate(f): return f
                def default(): return 1
                def unused(): pass
                class Thing:
                    @decorate
                    def method(self, x=default()):
                        def inner(): return 3
                        return inner()
                    @property
                    def value(self): return 4
                    class Nested:
                        def go(self): yield 1
                    def never(self): pass
                """,
            "test_it.py": """
                from lib import Thing
                class TestIt:
                    def test_a(self):
                        thing = Thing()
                        assert thing.method() + thing.value == 7
                        list(Thing.Nested().go())
                """,
        },
        mode="function",
    )
    assert report["executed"]["lib.py"] == sorted(
        ["<module>", "Thing", "Thing.Nested", "Thing.Nested.go", "Thing.method", "Thing.method.<locals>.inner"]
        + ["Thing.value", "decorate", "default"]
    )
    assert "TestIt.test_a" in report["executed"]["test_it.py"]


def test_functions_that_ran_in_an_import_by_another_test_file(dependencies):
    files = {
        "test_a.py": "import lib\ndef test_a(): lib.f()",
        "test_b.py": "import lib\ndef test_b(): lib.CONSTANT",
        "lib.py": "import deep\nCONSTANT = deep.make()\ndef f(): deep.other()",
        "deep.py": "def make(): return 1\ndef other(): pass",
    }
    report = dependencies(files, 1, mode="function")
    assert report["executed"]["deep.py"] == ["<module>", "make"]
    assert report["executed"]["lib.py"] == ["<module>"]


def test_module_getattr(dependencies):
    files = {"lib.py": "def __getattr__(name):\n    import late\n    return 1", "late.py": ""}
    files["test_it.py"] = "import lib\ndef test_a(): lib.x"
    report = dependencies(files, mode="function")
    assert "__getattr__" in report["executed"]["lib.py"] and "late.py" in report["executed"]


# -- Links, archives, native code ------------------------------------------------------------------


def test_links_and_their_targets(dependencies):
    os.makedirs(os.path.join(dependencies.directory, "real"))
    os.symlink("real", os.path.join(dependencies.directory, "linked"))
    os.symlink("real/data.txt", os.path.join(dependencies.directory, "data.lnk"))
    files = {"real/__init__.py": "", "real/data.txt": ""}
    files["test_it.py"] = "import linked\ndef test_a(): open('data.lnk').close()"
    report = dependencies(files)
    assert {"linked", "real/__init__.py"} <= set(report["executed"])
    assert {"data.lnk", "real/data.txt"} <= set(report["read"])


def test_module_in_an_archive(dependencies):
    with zipfile.ZipFile(os.path.join(dependencies.directory, "lib.zip"), "w") as archive:
        archive.writestr("zipped.py", "def f(): return 1")
    report = dependencies("import sys\nsys.path.insert(0, 'lib.zip')\nimport zipped\ndef test_a(): zipped.f()")
    assert "lib.zip" in report["executed"] + report["read"]


def test_extension_module_of_the_project(dependencies):
    compiler = (sysconfig.get_config_var("CC") or "").split()[:1]
    include = sysconfig.get_path("include")
    if not compiler or not os.path.exists(os.path.join(include, "Python.h")):
        pytest.skip("no C compiler, or no headers")
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    source = os.path.join(dependencies.directory, "native.c")
    with open(source, "w") as file:
        file.write(
            '#include <Python.h>\nstatic struct PyModuleDef m = {PyModuleDef_HEAD_INIT, "native", 0, -1, 0};\n'
            "PyMODINIT_FUNC PyInit_native(void) { return PyModule_Create(&m); }\n"
        )
    built = os.path.join(dependencies.directory, "native" + suffix)
    made = subprocess.run(compiler + ["-shared", "-fPIC", "-I" + include, "-o", built, source], stderr=subprocess.PIPE)
    if made.returncode:
        pytest.skip("it cannot be compiled here")
    report = dependencies("import native\ndef test_a(): pass")
    assert report["extensions"] == ["native" + suffix]
    assert report["unknown"] == ["native%s is native code of the project" % suffix]


def test_library_loaded_with_ctypes(dependencies):
    report = dependencies("import ctypes\ndef test_a(): ctypes.CDLL('libc.so.6')")
    assert report["unknown"] == ["libc.so.6 is native code that was loaded by hand"]


# -- Other kinds of tests --------------------------------------------------------------------------


def test_doctest_in_a_text_file(dependencies):
    report = dependencies({"notes.txt": ">>> import helper\n>>> helper.f()\n1\n", "helper.py": "def f(): return 1"}, args=["--doctest-glob=*.txt"])
    assert {"notes.txt", "helper.py"} <= set(report["executed"]) | set(report["read"])


def test_doctest_in_a_module(dependencies):
    report = dependencies({"lib.py": "import helper\ndef f():\n    '''\n    >>> helper.f()\n    1\n    '''\n", "helper.py": "def f(): return 1"}, args=["--doctest-modules", "lib.py"])
    assert {"lib.py", "helper.py"} <= set(report["executed"])


def test_unittest_with_setup_class(dependencies):
    code = """
        import unittest
        class TestIt(unittest.TestCase):
            @classmethod
            def setUpClass(cls): cls.data = open("data.txt").read()
            def test_a(self): pass
            def test_b(self): pass
        """
    report = dependencies({"test_it.py": code, "data.txt": ""}, 0, 1)
    assert "data.txt" in report["read"]


def test_failing_test(dependencies):
    report = dependencies({"test_it.py": "import helper\ndef test_a(): helper.f()", "helper.py": "def f(): assert 0"}, outcome="failed")
    assert report["executed"] == ["helper.py", "test_it.py"]


def test_test_that_sets_a_tracer(dependencies):
    files = {"helper.py": "def f(): pass", "test_it.py": "import sys\ndef test_a():\n    sys.settrace(lambda *a: None)\n    import helper\n    helper.f()\n    sys.settrace(None)"}
    report = dependencies(files, mode="function")
    assert report["executed"]["helper.py"] == ["<module>", "f"] or report["unknown"]


def test_thread_of_an_earlier_test(dependencies):
    code = """
        import threading, time
        go, gone = threading.Event(), threading.Event()
        def work():
            go.wait()
            import helper
            helper.f()
            gone.set()
        def test_a(): threading.Thread(target=work, daemon=True).start()
        def test_b():
            go.set()
            gone.wait()
        """
    report = dependencies({"test_it.py": code, "helper.py": "def f(): pass"}, 0, 1)
    assert "helper.py" in report["executed"] or report["unknown"] == ["a thread of an earlier test was still running"]
