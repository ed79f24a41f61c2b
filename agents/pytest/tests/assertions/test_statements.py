"""Results of `assert` statements, rewritten by pytest or not."""

import json
import re
import textwrap

import pytest

from assertion_reader import LAYER, MODES, AssertionLog, SharedProject, project_with_test, project_with_tests

# The body of a test, and its results: expression, result, operands.
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


@pytest.fixture(scope="module", params=MODES)
def statements(request):
    suite = SharedProject(*project_with_tests({"%d" % n: body for n, (body, _) in enumerate(STATEMENTS.values())}, request.param), LAYER)
    yield suite.session
    suite.close()


@pytest.mark.parametrize("name", list(STATEMENTS))
def test_operands_and_results(statements, name):
    log = statements.run("passed", list(STATEMENTS).index(name))
    assert log.results == STATEMENTS[name][1] and log.gaps == []


@pytest.mark.parametrize("mode", MODES)
def test_operands_are_evaluated_once_and_in_order(assertions, mode):
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
    files, args = project_with_test(body.format(plain).strip(), mode)
    assertions(files, args=args)


@pytest.mark.parametrize("mode", MODES)
def test_walruses(assertions, mode):
    files, args = project_with_test("assert (x := 3) == 3\nassert x == 3\nassert (y := [x]) and y == [3]", mode)
    log = assertions(files, args=args)
    assert [how for _, how, _ in log.results] == ["held"] * 3
    assert log.results[1] == ("x == 3", "held", [("x", "3")])


@pytest.mark.parametrize("mode", ["rewritten", "plain"])
def test_yields_and_awaits(assertions, mode):
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
    log = assertions(code, args=() if mode == "rewritten" else ("--assert=plain",))
    assert log.only("await two() == 2") == ("held", [("await two()", "2")])
    assert log.only("(yield 1) == 5") == ("held", [("(yield 1)", "5")])
    assert log.sites and log.gaps == []


def test_sites_of_assertions(assertions):
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
    sites = list(assertions(code).sites.values())
    here = {"file": "test_it.py", "function": "TestCart.test_total", "expression": "1 < 2", "ordinal": 0, "line": 4}
    there = {"file": "test_it.py", "function": "TestCart.test_total.<locals>.check", "expression": "x", "ordinal": 0, "line": 7}
    assert sites == [here, there, dict(there, ordinal=1, line=8)]


def test_functions_of_the_same_name_share_ordinals(assertions):
    code = """
    def check(x): assert x == 1
    first = check
    def check(x): assert x == 1
    def test_a():
        check(1)
        first(1)
    """
    assert [site["ordinal"] for site in assertions(code).sites.values()] == [1, 0]


def test_helpers_in_packages_and_conftest_and_fixtures(assertions):
    files = {
        "pkg/__init__.py": "",
        "pkg/deep.py": "def f(x):\n    assert x == 1\n    return x",
        "conftest.py": "import pytest\n@pytest.fixture\ndef one():\n    assert 1 == 1\n    yield 1\n    assert 2 == 2",
        "test_it.py": "from pkg.deep import f\ndef test_a(one): assert f(one)",
    }
    log = assertions(files)
    assert [(site["file"], site["function"]) for site in log.sites.values()] == [
        ("conftest.py", "one"), ("pkg/deep.py", "f"), ("test_it.py", "test_a"), ("conftest.py", "one"),
    ]  # fmt: skip


def test_failed_assertion(assertions):
    log = assertions("def test_a():\n    x = 1\n    assert x == 2", outcome="failed")
    assert log.only("x == 2") == ("failed", [("x", "1")])


def test_assertion_that_raises(assertions):
    log = assertions("def test_a():\n    x = 1\n    assert x / 0 == 2", outcome="failed")
    assert log.only("x / 0 == 2") == ("raised", [("exception", "ZeroDivisionError('division by zero')")])
    assert log.failure["kind"] == "ZeroDivisionError"


def test_bool_and_message_that_raise(assertions):
    code = """
    class Odd:
        def __bool__(self): raise ValueError("odd")
    def test_a(): assert Odd()
    def test_b():
        x = 1
        assert x == 2, 1 / 0
    """
    assert assertions(code, outcome="failed").only("Odd()")[0] == "raised"
    log = assertions(code, test=1, outcome="failed")
    assert log.only("x == 2") == ("failed", [("x", "1")]) and log.failure["kind"] == "ZeroDivisionError"


def test_parameters_and_threads(assertions):
    code = """
    import pytest, threading
    def check(x): assert x > 0
    @pytest.mark.parametrize("x", [1, 2])
    def test_a(x):
        threads = [threading.Thread(target=check, args=(x,)) for _ in range(3)]
        for one in threads: one.start()
        for one in threads: one.join()
    """
    assert assertions(code, test=1).results == [("x > 0", "held", [("x", "2")])] * 3


def test_retry_and_fork_describe_their_sites_again(project):
    unflake = project("def test_a(): assert 1 == 1", variables=LAYER)
    agent = unflake.ready()
    first, again = [AssertionLog(done) for done in agent.run(0, 0)]
    fork = AssertionLog(unflake.fork(agent, 3).run(0)[0])
    assert first.lines == again.lines == fork.lines


def test_too_many_results_are_cut_with_a_gap(assertions):
    log = assertions("def test_a():\n    for i in range(5000):\n        assert i >= 0")
    assert len(log.results) == 1000 and log.gaps == ["more assertions were evaluated than are recorded"]


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


def test_failures_look_the_same_as_without_instrumentation(project):
    code = "".join("def test_%d():\n%s\n" % (n, textwrap.indent(body, "    ")) for n, body in enumerate(FAILURES))
    helper = code.replace("def test_", "def check_")
    calls = "import helper\n" + "".join("def test_%d():\n    helper.check_%d()\n" % (n, n) for n in range(len(FAILURES)))
    methods = "".join(METHODS.replace("Test(", "Test%d(" % n) + body + "\n" for n, body in enumerate(METHOD_FAILURES))
    files = {"test_it.py": code, "helper.py": helper, "test_helped.py": calls, "test_methods.py": methods}
    results = []
    for variables in ({}, LAYER):
        unflake = project(files, variables=variables)
        agent = unflake.ready()
        done = agent.run(*range(len(agent.tests)))
        results.append([re.sub(r"0x[0-9a-f]+|id='\d+'", "…", json.dumps([one["outcome"], one.get("failure"), one.get("stdout")])) for one in done])
        unflake.end(agent)
    assert len(results[0]) == 2 * len(FAILURES) + len(METHOD_FAILURES)
    for plain, log in zip(*results):
        assert plain == log


def test_without_the_layer_nothing_is_installed(project):
    agent = project("import builtins\ndef test_a(): assert not [n for n in vars(builtins) if 'unflake' in n]").ready()
    assert agent.outcomes(0) == ["passed"]


def test_assertion_pass_hook_still_works(assertions):
    files = {
        "pytest.ini": "[pytest]\nenable_assertion_pass_hook = true",
        "conftest.py": "passed = []\ndef pytest_assertion_pass(item, lineno, orig, expl): passed.append((lineno, orig, expl))",
        "test_it.py": "import conftest\ndef test_a():\n    x = 1\n    assert x == 1\n    y = conftest.passed\n    assert y == [(4, 'x == 1', '1 == 1')]",
    }
    assert assertions(files).only("x == 1") == ("held", [("x", "1")])


def test_tests_that_patch_builtins_and_set_tracers(assertions):
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
    assert [how for _, how, _ in assertions(code).results] == ["held", "held"]


def test_doctest_is_a_gap(assertions):
    code = '"""\n>>> 1 + 1\n2\n"""\ndef test_a(): assert 1 == 1'
    assert assertions(code, args=("--doctest-modules",)).gaps == ["doctest comparisons are not recorded"]
    assert assertions(code, test=1, args=("--doctest-modules",)).gaps == []
