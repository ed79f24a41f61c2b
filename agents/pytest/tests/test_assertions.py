"""What assertions saw: statements, rewritten by pytest or not."""

import json
import os
import re
import textwrap

import pytest

from asserted import LAYER, WAYS, Suite, Told, in_way, in_ways

# A body of a test, and what is told of it: expressions, how they went, what they saw.
STATEMENTS = {
    "comparison": ("x = 3\nassert x + 1 == 4", [("x + 1 == 4", "held", [("x + 1", "4")])]),
    "two sides": ("x, y = [1], (1,)\nassert x != y", [("x != y", "held", [("x", "[1]"), ("y", "(1,)")])]),
    "chain": ("a, b = 1, 2\nassert 0 < a < b", [("0 < a < b", "held", [("a", "1"), ("b", "2")])]),
    "call": ("assert max(1, 2)", [("max(1, 2)", "held", [("max(1, 2)", "2")])]),
    "truth": ("x = [5]\nassert x", [("x", "held", [("x", "True")])]),
    "not": ("x = []\nassert not x", [("not x", "held", [("x", "False")])]),
    "and": ("a, b = 1, 'z'\nassert a == 1 and b in 'xyz'", [("a == 1 and b in 'xyz'", "held", [("a", "1"), ("b", "'z'")])]),
    "short cut": ("a = 1\nassert a == 1 or missing == 2", [("a == 1 or missing == 2", "held", [("a", "1")])]),
    "nested": (
        "a, b, c = 1, 2, 3\nassert (a > 1 or b == 2) and not c == 4",
        [("(a > 1 or b == 2) and not c == 4", "held", [("a", "1"), ("b", "2"), ("c", "3")])],
    ),
    "generator": ("x = [1, 2]\nassert all(i > 0 for i in x)", [("all(i > 0 for i in x)", "held", [("all(i > 0 for i in x)", "True")])]),
    "message": ("x = 1\nassert x == 1, undefined", [("x == 1", "held", [("x", "1")])]),
    "subscript": ("d = {'k': 2}\nassert d['k'] == 2", [("d['k'] == 2", "held", [("d['k']", "2")])]),
    "loop": (
        "for i in range(3):\n    assert i < 3 and (i == 0 or i > 0)",
        [("i < 3 and (i == 0 or i > 0)", "held", [("i", "0"), ("i", "0")])]
        + [("i < 3 and (i == 0 or i > 0)", "held", [("i", n), ("i", n), ("i", n)]) for n in "12"],
    ),
    "always": ("assert True", [("True", "held", [])]),
}


@pytest.fixture
def told(project):
    """Runs a test by its number with the instrument; what it told of its assertions."""

    def run(files, test=0, outcome="passed", args=(), **options):
        unflake = project(files, *args, variables=dict(LAYER, **options.pop("variables", {})), **options)
        agent = unflake.ready()
        done = agent.run(test)[0]
        assert done["outcome"] == outcome, done
        unflake.end(agent)
        return Told(done)

    return run


@pytest.fixture(scope="module", params=WAYS)
def statements(request):
    suite = Suite(*in_ways({"%d" % n: body for n, (body, _) in enumerate(STATEMENTS.values())}, request.param), LAYER)
    yield suite.filtering
    suite.close()


@pytest.mark.parametrize("name", list(STATEMENTS))
def test_statements(statements, name):
    told = statements.run("passed", list(STATEMENTS).index(name))
    assert told.all == STATEMENTS[name][1] and told.gaps == []


@pytest.mark.parametrize("way", WAYS)
def test_each_part_is_evaluated_once_and_in_order(told, way):
    body = """
log = []
def say(x):
    log.append(x)
    return x
class Loud:
    def __init__(self, truth): self.truth = truth
    def __bool__(self):
        log.append(self.truth)
        return self.truth
    def __eq__(self, other): return Loud(True)
assert say(1) == say(1) and (say(0) or say(2))
seen = list(log)
del log[:]
assert Loud(True) and Loud(True) == 1 and not Loud(False)
assert seen + log == {}
"""
    plain = "[1, 1, 0, 2, True, True, False]"
    files, args = in_way(body.format(plain).strip(), way)
    told(files, args=args)


@pytest.mark.parametrize("way", WAYS)
def test_walruses_stay(told, way):
    files, args = in_way("assert (x := 3) == 3\nassert x == 3\nassert (y := [x]) and y == [3]", way)
    all = told(files, args=args)
    assert [how for _, how, _ in all.all] == ["held"] * 3
    assert all.all[1] == ("x == 3", "held", [("x", "3")])


@pytest.mark.parametrize("way", ["rewritten", "plain"])
def test_yields_and_awaits_stay(told, way):
    code = """
import asyncio
async def two(): return 2
async def main():
    assert await two() == 2
    assert [i async for i in some()] == [0, 1]
async def some():
    for i in range(2):
        assert (yield i) is None
def give():
    assert (yield 1) == 5
    assert [(yield 2)] != []
def test_a():
    asyncio.run(main())
    g = give()
    assert next(g) == 1
    assert g.send(5) == 2
"""
    all = told(code, args=() if way == "rewritten" else ("--assert=plain",))
    assert all.one("await two() == 2") == ("held", [("await two()", "2")])
    assert all.one("(yield 1) == 5") == ("held", [("(yield 1)", "5")])
    assert all.sites and all.gaps == []


def test_where_it_is(told):
    code = """
    class TestCart:
        def test_total(self):
            assert  (  1 <
        2)   # Yes.
            def check(x):
                assert x
                assert x
            check(1)
            (lambda y: check(y))(2)
    """
    sites = list(told(code).sites.values())
    here = {"file": "test_it.py", "function": "TestCart.test_total", "expression": "1 < 2", "ordinal": 0, "line": 4}
    there = {"file": "test_it.py", "function": "TestCart.test_total.<locals>.check", "expression": "x", "ordinal": 0, "line": 7}
    assert sites == [here, there, dict(there, ordinal=1, line=8)]


def test_functions_of_one_name_share_their_ordinals(told):
    code = """
    def check(x): assert x == 1
    first = check
    def check(x): assert x == 1
    def test_a():
        check(1)
        first(1)
    """
    assert [site["ordinal"] for site in told(code).sites.values()] == [1, 0]


def test_helpers_in_packages_and_conftest_and_fixtures(told):
    files = {
        "pkg/__init__.py": "",
        "pkg/deep.py": "def f(x):\n    assert x == 1\n    return x",
        "conftest.py": "import pytest\n@pytest.fixture\ndef one():\n    assert 1 == 1\n    yield 1\n    assert 2 == 2",
        "test_it.py": "from pkg.deep import f\ndef test_a(one): assert f(one)",
    }
    all = told(files)
    assert [(site["file"], site["function"]) for site in all.sites.values()] == [
        ("conftest.py", "one"), ("pkg/deep.py", "f"), ("test_it.py", "test_a"), ("conftest.py", "one"),
    ]  # fmt: skip


def test_what_failed_and_what_raised(told):
    all = told("def test_a():\n    x = 1\n    assert x == 2", outcome="failed")
    assert all.one("x == 2") == ("failed", [("x", "1")])


def test_what_raised(told):
    all = told("def test_a():\n    x = 1\n    assert x / 0 == 2", outcome="failed")
    assert all.one("x / 0 == 2") == ("raised", [("exception", "ZeroDivisionError('division by zero')")])
    assert all.failure["kind"] == "ZeroDivisionError"


def test_a_truth_that_raises_and_a_message_that_raises(told):
    code = """
    class Odd:
        def __bool__(self): raise ValueError("odd")
    def test_a(): assert Odd()
    def test_b():
        x = 1
        assert x == 2, 1 / 0
    """
    assert told(code, outcome="failed").one("Odd()")[0] == "raised"
    all = told(code, test=1, outcome="failed")
    assert all.one("x == 2") == ("failed", [("x", "1")]) and all.failure["kind"] == "ZeroDivisionError"


def test_parameters_and_threads(told):
    code = """
    import pytest, threading
    def check(x): assert x > 0
    @pytest.mark.parametrize("x", [1, 2])
    def test_a(x):
        threads = [threading.Thread(target=check, args=(x,)) for _ in range(3)]
        for one in threads: one.start()
        for one in threads: one.join()
    """
    assert told(code, test=1).all == [("x > 0", "held", [("x", "2")])] * 3


def test_a_test_that_is_run_again_tells_its_sites_again(project):
    unflake = project("def test_a(): assert 1 == 1", variables=LAYER)
    agent = unflake.ready()
    first, again = [Told(done) for done in agent.run(0, 0)]
    copy = Told(unflake.fork(agent, 3).run(0)[0])
    assert first.lines == again.lines == copy.lines


def test_a_loop_without_end_is_cut_and_says_so(told):
    all = told("def test_a():\n    for i in range(5000):\n        assert i >= 0")
    assert len(all.all) == 1000 and all.gaps == ["more assertions were evaluated than are told"]


FAILURES = [
    "x = 1\nassert x == 2",
    "x = [1, 2]\ny = [1, 3]\nassert x == y, 'a message'",
    "assert (\n    len('abc')\n    == 4\n)",
    "x = 0\nassert x or not 1",
    "x = 0\nassert (\n    x\n    or not\n    len('a')\n)",
    "x = 0\nassert (\n    x and 1\n    or x ==\n    1\n), (\n    'm'\n)",
    "assert \\\n    len(\n    '') \\\n    in [1, 2,\n3]",
    "assert 1 < 2 < 1",
    "class A:\n    def __repr__(self): return 'A'\nassert A() is None",
    "assert 'a' * 50 == 'a' * 49 + 'b'",
    "assert {'a': 1} == {'a': 2}",
    "assert all(i for i in [1, 0])",
    "assert (x := 3) == 4",
    "import pytest\nassert 1.1 == pytest.approx(1)",
    "raise ValueError('x')",
    "assert undefined",
    "import pytest\nwith pytest.raises(ValueError):\n    pass",
    "import pytest\nwith pytest.raises(ValueError, match='b'):\n    raise ValueError('a')",
    "import pytest\nwith pytest.raises(ValueError):\n    raise KeyError('a')",
    "import pytest\npytest.raises(ValueError, lambda: 1)",
    "import pytest\nwith pytest.warns(UserWarning):\n    pass",
    "import pytest\npytest.fail('no')",
    "import pytest\npytest.raises(ValueError, match='[')",
    "from unittest.mock import Mock\nMock(name='m').assert_called_once_with(1)",
    "import unittest\nunittest.TestCase().assertEqual([1], [2])",
]
METHODS = "import unittest\nclass Test(unittest.TestCase):\n    def test_a(self):\n        "
METHOD_FAILURES = [
    "self.assertEqual(1, 2)",
    "self.assertEqual('a', 'b', 'a message')",
    "self.assertDictEqual({1: 2}, {1: 3})",
    "self.fail('no')",
    "with self.assertRaises(ValueError): pass",
    "with self.assertRaisesRegex(ValueError, 'b'): raise ValueError('a')",
    "with self.assertRaises(ValueError): raise KeyError('a')",
    "self.assertRaises(ValueError, int, '1')",
    "self.assertRaises(ValueError, int, None)",
    "with self.assertLogs(): pass",
    "with self.assertWarns(UserWarning): pass",
]


def test_failures_are_told_as_without(project):
    """Byte by byte what pytest makes of them."""
    code = "".join("def test_%d():\n%s\n" % (n, textwrap.indent(body, "    ")) for n, body in enumerate(FAILURES))
    helper = code.replace("def test_", "def check_")
    calls = "import helper\n" + "".join("def test_%d():\n    helper.check_%d()\n" % (n, n) for n in range(len(FAILURES)))
    methods = "".join(METHODS.replace("Test(", "Test%d(" % n) + body + "\n" for n, body in enumerate(METHOD_FAILURES))
    files = {"test_it.py": code, "helper.py": helper, "test_helped.py": calls, "test_methods.py": methods}
    seen = []
    for variables in ({}, LAYER):
        unflake = project(files, variables=variables)
        agent = unflake.ready()
        done = agent.run(*range(len(agent.tests)))
        seen.append([re.sub(r"0x[0-9a-f]+|id='\d+'", "…", json.dumps([one["outcome"], one.get("failure"), one.get("stdout")])) for one in done])
        unflake.end(agent)
    assert len(seen[0]) == 2 * len(FAILURES) + len(METHOD_FAILURES)
    for plain, told in zip(*seen):
        assert plain == told


def test_nothing_is_added_to_the_project_and_nothing_compiled_is_used(project, told):
    variables = {"PYTHONDONTWRITEBYTECODE": ""}
    files = {"sub/helper.py": "def f(x):\n    assert x == 1", "test_it.py": "from sub.helper import f\ndef test_a():\n    f(1)\n    assert 2 == 2"}
    all = told(files, variables=variables)
    assert len(all.all) == 2
    assert not [name for _, directories, _ in os.walk(project.directory) for name in directories if name == "__pycache__"]
    # What a plain run leaves is not taken for what is instrumented, and stays what it is.
    plain = project(files, variables=variables)
    plain.end(plain.ready())
    before = compiled(project.directory)
    assert before
    assert len(told(files, variables=variables).all) == 2
    assert compiled(project.directory) == before


def test_what_was_made_once_is_kept_in_the_cache_and_nothing_else_is_taken_from_there(project, told):
    cache = os.path.join(project.directory, "cache")
    variables = {"UNFLAKE_CACHE": cache}
    files = {
        "helper.py": "def f(x):\n    assert x == 1",
        "test_it.py": "import pytest\nfrom helper import f\ndef test_a():\n    f(1)\n    with pytest.raises(KeyError): {}[1]\n    x = 2\n    assert not x == 3",
    }
    first = told(files, variables=variables)
    kept = os.listdir(os.path.join(cache, "assertions"))
    assert len(kept) == 2
    second = told(files, variables=variables)
    assert second.all == first.all and list(second.sites.values()) == list(first.sites.values()) and len(first.all) == 3
    assert os.listdir(os.path.join(cache, "assertions")) == kept
    changed = dict(files, **{"helper.py": "def f(x):\n\n    assert x < 2"})
    third = told(changed, variables=variables)
    assert third.one("x < 2") == ("held", [("x", "1")]) and len(os.listdir(os.path.join(cache, "assertions"))) == 3
    for name in kept:
        with open(os.path.join(cache, "assertions", name), "wb") as file:
            file.write(b"nonsense")
    assert told(files, variables=variables).all == first.all


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
def test_helpers_of_all_kinds_are_loaded_as_they_are(told, name):
    told({"helper.py": SOURCES[name], "test_it.py": "def test_a():\n    import helper"})


@pytest.mark.parametrize("name", [name for name in SOURCES if name not in NAMES_SEEN])
def test_tests_of_all_kinds_are_loaded_as_they_are(told, name):
    told({"test_it.py": SOURCES[name] + b"\ndef test_a(): pass\n"})


def test_a_syntax_error_is_told_as_without(project):
    seen = []
    for variables in ({}, LAYER):
        agent = project({"helper.py": "assert 1 ==\n", "test_it.py": "def test_a():\n    import helper"}, variables=variables).ready()
        seen.append(agent.run(0)[0]["failure"])
    assert seen[0] == seen[1]


def test_loaders_of_others_load_their_modules(told):
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
    all = told({"odd.py": "x = ONE\nassert x", "test_it.py": code})
    assert all.gaps == ["odd.py is loaded as it is: Loader loads it"] and len(all.all) == 1


def test_code_that_is_asked_for_without_importing_is_plain(told):
    code = """
    import helper, marshal
    def test_a():
        code = helper.__loader__.get_code("helper")
        assert b"unflake" not in marshal.dumps(code)
    """
    told({"helper.py": "def f(x): assert x", "test_it.py": code})


def test_without_being_asked_nothing_is_there(project):
    agent = project("import builtins\ndef test_a(): assert not [n for n in vars(builtins) if 'unflake' in n]").ready()
    assert agent.outcomes(0) == ["passed"]


def test_a_hook_for_assertions_that_pass_still_hears_of_them(told):
    files = {
        "pytest.ini": "[pytest]\nenable_assertion_pass_hook = true",
        "conftest.py": "passed = []\ndef pytest_assertion_pass(item, lineno, orig, expl): passed.append((lineno, orig, expl))",
        "test_it.py": "import conftest\ndef test_a():\n    x = 1\n    assert x == 1\n    y = conftest.passed\n    assert y == [(4, 'x == 1', '1 == 1')]",
    }
    assert told(files).one("x == 1") == ("held", [("x", "1")])


def test_tests_that_patch_builtins_and_trace(told):
    code = """
    import builtins, sys
    from unittest import mock
    def test_a():
        with mock.patch.object(builtins, "repr", side_effect=KeyError), mock.patch.object(builtins, "open", None):
            x = [1]
            assert x == [1]
        lines = []
        sys.settrace(lambda *all: lines.append(1))
        assert x == [1]
        sys.settrace(None)
    """
    assert [how for _, how, _ in told(code).all] == ["held", "held"]


def test_a_module_that_was_there_first_is_a_gap(told):
    files = {"early.py": "def f(): assert 1", "test_it.py": "import early\ndef test_a(): early.f()"}
    all = told(files, args=("-p", "early"))
    assert all.gaps == ["early.py was loaded before it could be looked into"] and all.all == []


def test_a_doctest_is_a_gap(told):
    code = '"""\n>>> 1 + 1\n2\n"""\ndef test_a(): assert 1 == 1'
    assert told(code, args=("--doctest-modules",)).gaps == ["what a doctest compares is not told"]
    assert told(code, test=1, args=("--doctest-modules",)).gaps == []


def test_modules_that_pytest_imports_by_their_paths(told):
    files = {"a/test_it.py": "def test_a():\n    x = 1\n    assert x == 1", "b/test_it.py": "def test_a():\n    x = 2\n    assert x == 2"}
    all = told(files, test=1, args=("--import-mode=importlib",))
    assert all.one("x == 2") == ("held", [("x", "2")]) and all.gaps == []


def test_a_module_that_is_written_anew_and_loaded_again(told):
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
    all = told({"made.py": "def f(x):\n    assert x == 1", "test_it.py": code})
    assert all.all == [("y < 9", "held", [("y", "2")]), ("y", "held", [("y", "True")]), ("x == 1", "held", [("x", "1")])]
