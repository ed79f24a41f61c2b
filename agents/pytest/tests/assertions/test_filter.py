"""The assertion filter: which failures it filters, in which test, and nothing else."""

import sys
import textwrap

import pytest
from assertion_reader import BOTH, FILTER, MODES, FilterSession, SharedProject, project_with_tests


@pytest.fixture
def filter_session(project):
    def start(files, *args, variables=BOTH, **options):
        return FilterSession(project(files, *args, variables=variables, **options))

    return start


# A body with a failing assertion, and its expression. The test continues to an `assert` at its end.
BODIES = {
    "assert": ("x = 1\nassert x == 2", "x == 2"),
    "message": ("x = 1\nassert x == 2, 1 / 0", "x == 2"),
    "and": ("x = 1\nassert x and x == 2 and undefined", "x and x == 2 and undefined"),
    "loop": ("for i in range(3):\n    assert i == 1", "i == 1"),
    "side effects": ("log = []\nassert log.append(1) or len(log) == 2\nassert log == [1]", "log.append(1) or len(log) == 2"),
    "walrus": ("assert (y := 3) == 4\nassert y == 3", "(y := 3) == 4"),
    "approx": ("import pytest\nassert 2.0 == pytest.approx(1)", "2.0 == pytest.approx(1)"),
    "a helper within": ("def check(x):\n    assert x > 1\n    return x\nassert check(1) == 1", "x > 1"),
    "raises": ("import pytest\nwith pytest.raises(ValueError):\n    pass", "pytest.raises(ValueError)"),
    "raises at once": ("import pytest\npytest.raises(ValueError, int)", "pytest.raises(ValueError, int)"),
    "match": ("import pytest\nwith pytest.raises(ValueError, match='b'):\n    raise ValueError('a')", "pytest.raises(ValueError, match='b')"),
    "warns": ("import pytest\nwith pytest.warns(UserWarning):\n    pass", "pytest.warns(UserWarning)"),
    "fail": ("import pytest\npytest.fail('no')", "pytest.fail('no')"),
    "mock": ("from unittest.mock import Mock\nm = Mock()\nm.assert_called()", "m.assert_called()"),
    "in try": ("try:\n    assert 1 == 2\nfinally:\n    pass", "1 == 2"),
    "in another try": ("try:\n    assert 1 == 2\nexcept (KeyError, OSError):\n    pass", "1 == 2"),
    "in a try that only looks": ("try:\n    assert 1 == 2\nexcept Exception as error:\n    print(error)\n    raise", "1 == 2"),
    "in raises of another": ("import pytest\nwith pytest.raises(KeyError):\n    assert 1 == 2\n    {}[1]", "1 == 2"),
    "thread": ("import threading\ndef f():\n    assert 1 == 2\nt = threading.Thread(target=f)\nt.start(); t.join()", "1 == 2"),
    "task": ("import asyncio\nasync def f():\n    assert 1 == 2\n    return 3\nassert asyncio.run(f()) == 3", "1 == 2"),
}


@pytest.fixture(scope="module", params=MODES)
def filterable(request):
    files, args = project_with_tests({"%d" % n: body + "\nlast = True\nassert last" for n, (body, _) in enumerate(BODIES.values())}, request.param)
    project = SharedProject(files, args, BOTH)
    yield project.session
    project.close()


@pytest.mark.parametrize("name", list(BODIES))
def test_filtered_assertion_does_not_fail_and_the_test_continues(filterable, name):
    number, (_, expression) = list(BODIES).index(name), BODIES[name]
    if name != "thread":
        assert "failed" in [how for _, how in filterable.run("failed", number).outcomes]
    filterable.set_filter(filterable.site(expression, within="_%d." % number), test="test_it.py::test_%d" % number)
    log = filterable.run("passed", number)
    assert log.outcomes[-1] == ("last", "held")
    assert (expression, "filtered") in log.outcomes and "failed" not in [how for _, how in log.outcomes]


METHODS = {
    "equal": ("self.assertEqual(1, 2)", "self.assertEqual(1, 2)"),
    "of lists": ("x = [1]\nself.assertEqual(x, [2], 'm')", "self.assertEqual(x, [2], 'm')"),
    "fail": ("self.fail('no')", "self.fail('no')"),
    "raises": ("with self.assertRaises(ValueError):\n    pass", "self.assertRaises(ValueError)"),
    "raises at once": ("self.assertRaises(ValueError, int, 1)", "self.assertRaises(ValueError, int, 1)"),
    "regex": ("with self.assertRaisesRegex(ValueError, 'b'):\n    raise ValueError('a')", "self.assertRaisesRegex(ValueError, 'b')"),
    "logs": ("with self.assertLogs():\n    pass", "self.assertLogs()"),
    "subtest": ("with self.subTest(x=1):\n    self.assertTrue(0)", "self.assertTrue(0)"),
    "twice": ("for x in (1, 2, 1):\n    self.assertEqual(x, 1)", "self.assertEqual(x, 1)"),
}


@pytest.fixture(scope="module")
def filterable_methods():
    code = "import unittest\nclass Test(unittest.TestCase):\n"
    for n, (body, _) in enumerate(METHODS.values()):
        code += "    def test_%02d(self):\n" % n + textwrap.indent(body + "\nlast = 1\nself.assertTrue(last)\n", "        ")
    project = SharedProject({"test_it.py": code}, (), BOTH)
    yield project.session
    project.close()


@pytest.mark.parametrize("name", list(METHODS))
def test_filtered_unittest_methods(filterable_methods, name):
    number, (_, expression) = list(METHODS).index(name), METHODS[name]
    filterable_methods.set_filter(filterable_methods.site(expression, within="_%02d." % number), test="test_it.py::Test::test_%02d" % number)
    log = filterable_methods.run("passed", number)
    assert (expression, "filtered") in log.outcomes and log.outcomes[-1] == ("self.assertTrue(last)", "held")


# A body that fails although its assertion is filtered, the result, and the exception of the test.
NOT_FILTERED = {
    "an error in the test": ("x = 1\nassert x / 0 == 2", "x / 0 == 2", "raised", "ZeroDivisionError"),
    "a truth that raises": ("class A:\n    def __bool__(self): raise KeyError(1)\nassert A()", "A()", "raised", "KeyError"),
    "an assertion raised by hand": ("def f(): raise AssertionError('mine')\nassert f()", "f()", "raised", "AssertionError"),
    "another exception": (
        "import pytest\nwith pytest.raises(ValueError):\n    {}[1]",
        "pytest.raises(ValueError)",
        "raised",
        "KeyError",
    ),
    "what follows": ("import pytest\nwith pytest.raises(ValueError) as e:\n    pass\ne.value.args", "pytest.raises(ValueError)", "filtered", "AssertionError"),
}


@pytest.fixture(scope="module", params=MODES)
def not_filtered(request):
    project = SharedProject(*project_with_tests({"%d" % n: one[0] for n, one in enumerate(NOT_FILTERED.values())}, request.param), BOTH)
    yield project.session
    project.close()


@pytest.mark.parametrize("name", list(NOT_FILTERED))
def test_other_exceptions_are_not_filtered(not_filtered, name):
    number, (_, expression, how, kind) = list(NOT_FILTERED).index(name), NOT_FILTERED[name]
    not_filtered.set_filter(not_filtered.site(expression, within="_%d." % number), test="test_it.py::test_%d" % number)
    log = not_filtered.run("failed", number)
    assert log.outcomes[-1] == (expression, how)
    assert log.failure["kind"] == kind


# Bodies that pass because they expect the assertion to fail.
EXPECTED_FAILURES = {
    "pytest.raises": "import pytest\nwith pytest.raises(AssertionError):\n    assert x == 2\n",
    "of all": "import pytest\nwith pytest.raises((KeyError, Exception)):\n    assert x == 2\n",
    "pytest.raises at once": "import pytest\ndef f():\n    assert x == 2\npytest.raises(AssertionError, f)\n",
    "assertRaises": "import unittest\nwith unittest.TestCase().assertRaises(AssertionError):\n    assert x == 2\n",
    "try": "try:\n    assert x == 2\nexcept AssertionError:\n    pass\nelse:\n    1 / 0\n",
    "bare": "try:\n    assert x == 2\nexcept:\n    pass\nelse:\n    1 / 0\n",
    "a name of its own": "errors = (KeyError, AssertionError)\ntry:\n    assert x == 2\nexcept errors:\n    pass\nelse:\n    1 / 0\n",
    "further out": "def f():\n    assert x == 2\ndef g(call):\n    try:\n        call()\n    except Exception:\n        return 1\nassert g(f) == 1\n",
    "suppress": "import contextlib\nafter = 0\nwith contextlib.suppress(AssertionError):\n    assert x == 2\n    after = 1\nassert after == 0\n",
    "retry": "left = [1, 2]\nwhile True:\n    try:\n        assert left.pop() == x\n        break\n    except AssertionError:\n        continue\n",
}


@pytest.fixture(scope="module", params=MODES)
def expected_failures(request):
    project = SharedProject(*project_with_tests({"%d" % n: "x = 1\n" + body for n, body in enumerate(EXPECTED_FAILURES.values())}, request.param), BOTH)
    yield project.session
    project.close()


@pytest.mark.parametrize("name", list(EXPECTED_FAILURES))
def test_expected_failure_is_not_filtered(expected_failures, name):
    number, expression = list(EXPECTED_FAILURES).index(name), "left.pop() == x" if name == "retry" else "x == 2"
    expected_failures.set_filter(expected_failures.site(expression, within="_%d." % number), test="test_it.py::test_%d" % number)
    log = expected_failures.run("passed", number)
    assert "filtered" not in [how for _, how in log.outcomes]
    assert any("is not filtered" in words for words in log.gaps)


def test_filter_applies_to_its_test_only(filter_session):
    session = filter_session("def check(x):\n    assert x == 2\ndef test_a(): check(1)\ndef test_b(): check(1)")
    session.set_filter(session.site("x == 2"))
    session.run("passed", 0)
    session.run("failed", 1)
    session.set_filter()
    session.run("failed", 0)


def test_filter_applies_to_its_ordinal_only(filter_session):
    session = filter_session("def test_a():\n    x = 1\n    assert x == 1\n    x = 2\n    assert x == 1")
    session.set_filter(session.site("x == 1", 0))
    session.run("failed")
    session.set_filter(session.site("x == 1", 1))
    session.run("passed")


def test_two_calls_in_one_line_are_filtered_only_if_distinguishable(filter_session):
    code = "import unittest\nclass Test(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(1, 1); self.assertEqual(1, 2)"
    session = filter_session(code)
    session.set_filter(session.site("self.assertEqual(1, 2)"), test="test_it.py::Test::test_a")
    session.run("passed" if sys.version_info >= (3, 11) else "failed")


def test_filter_applies_to_its_parameters_only(filter_session):
    session = filter_session("import pytest\n@pytest.mark.parametrize('x', [1, 2])\ndef test_a(x): assert x == 3")
    session.set_filter(session.site("x == 3"), test="test_it.py::test_a[2]")
    session.run("failed", 0)
    session.run("passed", 1)


def test_filter_works_without_layers(filter_session):
    session = filter_session("def test_a(): assert 1 == 2", variables=FILTER)
    session.set_filter(session.site("1 == 2"))
    assert session.run("passed") is None


def test_forks_inherit_the_filter(project):
    unflake = project("def test_a(): assert 1 == 2", variables=BOTH)
    session = FilterSession(unflake)
    session.set_filter(session.site("1 == 2"))
    assert unflake.fork(session.agent, 4).outcomes(0) == ["passed"]


def test_assertions_in_fixtures_are_filtered(filter_session):
    session = filter_session("import pytest\n@pytest.fixture\ndef one():\n    assert 1 == 2\n    yield\n    assert 3 == 4\ndef test_a(one): pass")
    session.set_filter(session.site("1 == 2"), session.site("3 == 4"))
    assert session.run("passed").outcomes == [("1 == 2", "filtered"), ("3 == 4", "filtered")]


def test_sites_lists_assertions_of_loaded_files(filter_session):
    files = {
        "pkg/helper.py": "def check(x):\n    '''doc'''\n    assert x == 1, 'm'",
        "not_loaded.py": "assert 1",
        "test_it.py": "import unittest, pkg.helper\nclass Test(unittest.TestCase):\n    def test_a(self):\n        self.assertTrue(1)\n        pkg.helper.check(1)",
    }
    first, second = filter_session(files).sites()
    assert dict(first, body="") == {"file": "pkg/helper.py", "function": "check", "expression": "x == 1", "ordinal": 0, "line": 3, "body": ""}
    assert (second["function"], second["expression"], second["line"]) == ("Test.test_a", "self.assertTrue(1)", 4)


def test_body_hash_ignores_name_and_layout(filter_session):
    code = """
    def one(x):
        '''Doc.'''
        y = x + 1
        assert y == (2)
    class Other:
        def moved(x):
            # A comment.
            y = (x
                 + 1)
            assert  y == 2
    def changed(x):
        y = x + 2
        assert y == 2
    def test_a(): pass
    """
    one, moved, changed = [site["body"] for site in filter_session(code).sites()]
    assert one == moved != changed


def test_failing_orders_are_problems(project):
    agent = project("def test_a(): pass", variables=FILTER).ready()
    agent.order("filter", path="/nowhere")
    assert "filter" in agent.event("problem")["text"]
    agent = project("def test_a(): pass").ready()
    agent.order("sites")
    assert "sites" in agent.event("problem")["text"]
