"""Instrumentation while modules are loaded: they behave the same, and nothing is written."""

import os

import pytest

from assertion_reader import LAYER


def test_compiled_files_are_neither_written_nor_used(project, assertions):
    variables = {"PYTHONDONTWRITEBYTECODE": ""}
    files = {"sub/helper.py": "def f(x):\n    assert x == 1", "test_it.py": "from sub.helper import f\ndef test_a():\n    f(1)\n    assert 2 == 2"}
    log = assertions(files, variables=variables)
    assert len(log.results) == 2
    assert not [name for _, directories, _ in os.walk(project.directory) for name in directories if name == "__pycache__"]
    # Compiled files of a plain run are neither used nor changed.
    plain = project(files, variables=variables)
    plain.end(plain.ready())
    before = compiled_files(project.directory)
    assert before
    assert len(assertions(files, variables=variables).results) == 2
    assert compiled_files(project.directory) == before


def test_instrumented_code_is_cached(project, assertions):
    cache = os.path.join(project.directory, "cache")
    variables = {"UNFLAKE_CACHE": cache}
    files = {
        "helper.py": "def f(x):\n    assert x == 1",
        "test_it.py": "import pytest\nfrom helper import f\ndef test_a():\n    f(1)\n    with pytest.raises(KeyError): {}[1]\n    x = 2\n    assert not x == 3",
    }
    first = assertions(files, variables=variables)
    kept = os.listdir(os.path.join(cache, "assertions"))
    assert len(kept) == 2
    second = assertions(files, variables=variables)
    assert second.results == first.results and list(second.sites.values()) == list(first.sites.values()) and len(first.results) == 3
    assert os.listdir(os.path.join(cache, "assertions")) == kept
    changed = dict(files, **{"helper.py": "def f(x):\n\n    assert x < 2"})
    third = assertions(changed, variables=variables)
    assert third.only("x < 2") == ("held", [("x", "1")]) and len(os.listdir(os.path.join(cache, "assertions"))) == 3
    for name in kept:
        with open(os.path.join(cache, "assertions", name), "wb") as file:
            file.write(b"nonsense")
    assert assertions(files, variables=variables).results == first.results


def compiled_files(directory):
    found = {}
    for above, _, names in os.walk(directory):
        for name in names:
            if name.endswith(".pyc"):
                path = os.path.join(above, name)
                with open(path, "rb") as file:
                    found[path] = file.read(), os.stat(path).st_mtime_ns
    return found


SOURCES = {
    "encoding": "# -*- coding: latin-1 -*-\ndef f(x):\n    assert x == '\u00e9'\nf('\u00e9')\n".encode("latin-1"),
    "future": b"'doc'\nfrom __future__ import annotations\ndef f(x: nonsense):\n    assert x\nf(1)\nassert __doc__ == 'doc'\n",
    "class body": b"class A:\n    x = 1\n    assert x == 1\nassert sorted(k for k in vars(A) if not k.startswith('__')) == ['x']\n",
    "module": b"x = 1\nassert x == 1\nassert [k for k in dir() if '@' in k] == []\n",
    "locals": b"def f():\n    x = 1\n    assert x == 1\n    return locals()\nassert f() == {'x': 1}\n",
    "slots": b"import enum\nclass E(enum.Enum):\n    A = 1\n    assert A == 1\nassert list(E.__members__) == ['A']\n",
    "match": b"def f(x):\n    if x:\n        assert x, 'm'\n    else: assert not x\nf(1); f(0)\n",
    "nonlocal": b"def f():\n    x = 1\n    def g():\n        nonlocal x\n        assert x == 1; x = 2\n    g()\n    assert x == 2\nf()\n",
    "dont rewrite": b"'''PYTEST_DONT_REWRITE'''\ndef f(x): assert x == 1\nf(1)\n",
    "deep": b"def f(x):\n" + b"".join(b"    " * (n + 1) + b"with open('/dev/null'):\n" for n in range(18)) + b"    " * 19 + b"assert x\nf(1)\n",
    "too deep": b"def f(x):\n" + b"".join(b"    " * (n + 1) + b"for _ in [1]:\n" for n in range(20)) + b"    " * 21 + b"assert x\nf(1)\n",
    "long": b"assert " + b" + ".join([b"1"] * 80) + b" == 80\n",
}


# Sources that see the names which pytest itself adds to rewritten modules.
WITH_PYTEST_NAMES = "class body", "module", "slots", "locals"


@pytest.mark.parametrize("name", list(SOURCES))
def test_helper_modules_behave_the_same(assertions, name):
    assertions({"helper.py": SOURCES[name], "test_it.py": "def test_a():\n    import helper"})


@pytest.mark.parametrize("name", [name for name in SOURCES if name not in WITH_PYTEST_NAMES])
def test_test_modules_behave_the_same(assertions, name):
    assertions({"test_it.py": SOURCES[name] + b"\ndef test_a(): pass\n"})


def test_syntax_error_looks_the_same(project):
    failures = []
    for variables in ({}, LAYER):
        agent = project({"helper.py": "assert 1 ==\n", "test_it.py": "def test_a():\n    import helper"}, variables=variables).ready()
        failures.append(agent.run(0)[0]["failure"])
    assert failures[0] == failures[1]


def test_custom_loader_is_left_alone(assertions):
    code = """
    import importlib.machinery, importlib.util, sys
    class Loader(importlib.machinery.SourceFileLoader):
        def source_to_code(self, data, path, **_):
            return compile(data.replace(b"ONE", b"1"), path, "exec")
    def test_a():
        spec = importlib.util.spec_from_loader("odd", Loader("odd", "odd.py"))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert module.x == 1
    """
    log = assertions({"odd.py": "x = ONE\nassert x", "test_it.py": code})
    assert log.gaps == ["odd.py is not instrumented: Loader loads it"] and len(log.results) == 1


def test_code_requested_without_an_import_is_not_instrumented(assertions):
    code = """
    import helper, marshal
    def test_a():
        code = helper.__loader__.get_code("helper")
        assert b"unflake" not in marshal.dumps(code)
    """
    assertions({"helper.py": "def f(x): assert x", "test_it.py": code})


def test_module_loaded_too_early_is_a_gap(assertions):
    files = {"early.py": "def f(): assert 1", "test_it.py": "import early\ndef test_a(): early.f()"}
    log = assertions(files, args=("-p", "early"))
    assert log.gaps == ["early.py was loaded before it could be instrumented"] and log.results == []


def test_import_mode_importlib(assertions):
    files = {"a/test_it.py": "def test_a():\n    x = 1\n    assert x == 1", "b/test_it.py": "def test_a():\n    x = 2\n    assert x == 2"}
    log = assertions(files, test=1, args=("--import-mode=importlib",))
    assert log.only("x == 2") == ("held", [("x", "2")]) and log.gaps == []


def test_module_rewritten_and_reloaded(assertions):
    code = """
    import importlib, sys
    sys.dont_write_bytecode = True
    def test_a():
        import made
        old = made.f
        open("made.py", "w").write("def f(x):\\n    y = x\\n    assert y < 9\\n    assert y")
        importlib.reload(made)
        made.f(2)
        old(1)
    """
    log = assertions({"made.py": "def f(x):\n    assert x == 1", "test_it.py": code})
    assert log.results == [("y < 9", "held", [("y", "2")]), ("y", "held", [("y", "True")]), ("x == 1", "held", [("x", "1")])]
