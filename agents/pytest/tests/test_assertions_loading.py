"""How assertions come to tell: modules of all kinds are loaded as they are, and nothing is left beside them."""

import os

import pytest

from asserted import LAYER


def test_nothing_is_added_to_the_project_and_nothing_compiled_is_used(project, asserted):
    variables = {"PYTHONDONTWRITEBYTECODE": ""}
    files = {"sub/helper.py": "def f(x):\n    assert x == 1", "test_it.py": "from sub.helper import f\ndef test_a():\n    f(1)\n    assert 2 == 2"}
    all = asserted(files, variables=variables)
    assert len(all.all) == 2
    assert not [name for _, directories, _ in os.walk(project.directory) for name in directories if name == "__pycache__"]
    # What a plain run leaves is not taken for what is instrumented, and stays what it is.
    plain = project(files, variables=variables)
    plain.end(plain.ready())
    before = compiled(project.directory)
    assert before
    assert len(asserted(files, variables=variables).all) == 2
    assert compiled(project.directory) == before


def test_what_was_made_once_is_kept_in_the_cache_and_nothing_else_is_taken_from_there(project, asserted):
    cache = os.path.join(project.directory, "cache")
    variables = {"UNFLAKE_CACHE": cache}
    files = {
        "helper.py": "def f(x):\n    assert x == 1",
        "test_it.py": "import pytest\nfrom helper import f\ndef test_a():\n    f(1)\n    with pytest.raises(KeyError): {}[1]\n    x = 2\n    assert not x == 3",
    }
    first = asserted(files, variables=variables)
    kept = os.listdir(os.path.join(cache, "assertions"))
    assert len(kept) == 2
    second = asserted(files, variables=variables)
    assert second.all == first.all and list(second.sites.values()) == list(first.sites.values()) and len(first.all) == 3
    assert os.listdir(os.path.join(cache, "assertions")) == kept
    changed = dict(files, **{"helper.py": "def f(x):\n\n    assert x < 2"})
    third = asserted(changed, variables=variables)
    assert third.one("x < 2") == ("held", [("x", "1")]) and len(os.listdir(os.path.join(cache, "assertions"))) == 3
    for name in kept:
        with open(os.path.join(cache, "assertions", name), "wb") as file:
            file.write(b"nonsense")
    assert asserted(files, variables=variables).all == first.all


def compiled(directory):
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


# In which pytest itself leaves names.
NAMES_SEEN = "class body", "module", "slots", "locals"


@pytest.mark.parametrize("name", list(SOURCES))
def test_helpers_of_all_kinds_are_loaded_as_they_are(asserted, name):
    asserted({"helper.py": SOURCES[name], "test_it.py": "def test_a():\n    import helper"})


@pytest.mark.parametrize("name", [name for name in SOURCES if name not in NAMES_SEEN])
def test_tests_of_all_kinds_are_loaded_as_they_are(asserted, name):
    asserted({"test_it.py": SOURCES[name] + b"\ndef test_a(): pass\n"})


def test_a_syntax_error_is_told_as_without(project):
    seen = []
    for variables in ({}, LAYER):
        agent = project({"helper.py": "assert 1 ==\n", "test_it.py": "def test_a():\n    import helper"}, variables=variables).ready()
        seen.append(agent.run(0)[0]["failure"])
    assert seen[0] == seen[1]


def test_loaders_of_others_load_their_modules(asserted):
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
    all = asserted({"odd.py": "x = ONE\nassert x", "test_it.py": code})
    assert all.gaps == ["odd.py is loaded as it is: Loader loads it"] and len(all.all) == 1


def test_code_that_is_asked_for_without_importing_is_plain(asserted):
    code = """
    import helper, marshal
    def test_a():
        code = helper.__loader__.get_code("helper")
        assert b"unflake" not in marshal.dumps(code)
    """
    asserted({"helper.py": "def f(x): assert x", "test_it.py": code})


def test_a_module_that_was_there_first_is_a_gap(asserted):
    files = {"early.py": "def f(): assert 1", "test_it.py": "import early\ndef test_a(): early.f()"}
    all = asserted(files, args=("-p", "early"))
    assert all.gaps == ["early.py was loaded before it could be looked into"] and all.all == []


def test_modules_that_pytest_imports_by_their_paths(asserted):
    files = {"a/test_it.py": "def test_a():\n    x = 1\n    assert x == 1", "b/test_it.py": "def test_a():\n    x = 2\n    assert x == 2"}
    all = asserted(files, test=1, args=("--import-mode=importlib",))
    assert all.one("x == 2") == ("held", [("x", "2")]) and all.gaps == []


def test_a_module_that_is_written_anew_and_loaded_again(asserted):
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
    all = asserted({"made.py": "def f(x):\n    assert x == 1", "test_it.py": code})
    assert all.all == [("y < 9", "held", [("y", "2")]), ("y", "held", [("y", "True")]), ("x == 1", "held", [("x", "1")])]
