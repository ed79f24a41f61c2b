"""Letting assertions fail: which, in which test, and never anything else."""

import sys
import textwrap

import pytest

from asserted import BOTH, FILTER, WAYS, Filtering, Suite, in_ways


@pytest.fixture
def filtering(project):
    def start(files, *args, variables=BOTH, **options):
        return Filtering(project(files, *args, variables=variables, **options))

    return start


# A body in which the first assertion of this expression fails; the test goes on to the `assert` at its end.
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


@pytest.fixture(scope="module", params=WAYS)
def bodies(request):
    files, args = in_ways({"%d" % n: body + "\nlast = True\nassert last" for n, (body, _) in enumerate(BODIES.values())}, request.param)
    suite = Suite(files, args, BOTH)
    yield suite.filtering
    suite.close()


@pytest.mark.parametrize("name", list(BODIES))
def test_what_is_filtered_cannot_fail_and_the_test_goes_on(bodies, name):
    number, (_, expression) = list(BODIES).index(name), BODIES[name]
    if name != "thread":
        assert "failed" in [how for _, how in bodies.run("failed", number).how]
    bodies.let_fail(bodies.site(expression, within="_%d." % number), test="test_it.py::test_%d" % number)
    told = bodies.run("passed", number)
    assert told.how[-1] == ("last", "held")
    assert (expression, "filtered") in told.how and "failed" not in [how for _, how in told.how]


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
def methods():
    code = "import unittest\nclass Test(unittest.TestCase):\n"
    for n, (body, _) in enumerate(METHODS.values()):
        code += "    def test_%02d(self):\n" % n + textwrap.indent(body + "\nlast = 1\nself.assertTrue(last)\n", "        ")
    suite = Suite({"test_it.py": code}, (), BOTH)
    yield suite.filtering
    suite.close()


@pytest.mark.parametrize("name", list(METHODS))
def test_methods(methods, name):
    number, (_, expression) = list(METHODS).index(name), METHODS[name]
    methods.let_fail(methods.site(expression, within="_%02d." % number), test="test_it.py::Test::test_%02d" % number)
    told = methods.run("passed", number)
    assert (expression, "filtered") in told.how and told.how[-1] == ("self.assertTrue(last)", "held")


# A body that fails although its assertion is filtered, how it is told, and the exception with which it ends.
NEVER = {
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


@pytest.fixture(scope="module", params=WAYS)
def never(request):
    suite = Suite(*in_ways({"%d" % n: one[0] for n, one in enumerate(NEVER.values())}, request.param), BOTH)
    yield suite.filtering
    suite.close()


@pytest.mark.parametrize("name", list(NEVER))
def test_what_is_no_assertion_of_the_list_fails(never, name):
    number, (_, expression, how, kind) = list(NEVER).index(name), NEVER[name]
    never.let_fail(never.site(expression, within="_%d." % number), test="test_it.py::test_%d" % number)
    told = never.run("failed", number)
    assert told.how[-1] == (expression, how)
    assert told.failure["kind"] == kind


# Bodies that pass because somebody waits for the assertion to fail.
WAITED_FOR = {
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


@pytest.fixture(scope="module", params=WAYS)
def waited_for(request):
    suite = Suite(*in_ways({"%d" % n: "x = 1\n" + body for n, body in enumerate(WAITED_FOR.values())}, request.param), BOTH)
    yield suite.filtering
    suite.close()


@pytest.mark.parametrize("name", list(WAITED_FOR))
def test_an_assertion_that_is_waited_for_is_not_filtered(waited_for, name):
    number, expression = list(WAITED_FOR).index(name), "left.pop() == x" if name == "retry" else "x == 2"
    waited_for.let_fail(waited_for.site(expression, within="_%d." % number), test="test_it.py::test_%d" % number)
    told = waited_for.run("passed", number)
    assert "filtered" not in [how for _, how in told.how]
    assert any("is not filtered" in words for words in told.gaps)


def test_only_in_the_test_that_is_named(filtering):
    here = filtering("def check(x):\n    assert x == 2\ndef test_a(): check(1)\ndef test_b(): check(1)")
    here.let_fail(here.site("x == 2"))
    here.run("passed", 0)
    here.run("failed", 1)
    here.let_fail()
    here.run("failed", 0)


def test_only_the_ordinal_that_is_named(filtering):
    here = filtering("def test_a():\n    x = 1\n    assert x == 1\n    x = 2\n    assert x == 1")
    here.let_fail(here.site("x == 1", 0))
    here.run("failed")
    here.let_fail(here.site("x == 1", 1))
    here.run("passed")


def test_of_two_in_one_line_none_is_filtered_unless_they_can_be_told_apart(filtering):
    code = "import unittest\nclass Test(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(1, 1); self.assertEqual(1, 2)"
    here = filtering(code)
    here.let_fail(here.site("self.assertEqual(1, 2)"), test="test_it.py::Test::test_a")
    here.run("passed" if sys.version_info >= (3, 11) else "failed")


def test_parametrised_tests_by_their_own_ids(filtering):
    here = filtering("import pytest\n@pytest.mark.parametrize('x', [1, 2])\ndef test_a(x): assert x == 3")
    here.let_fail(here.site("x == 3"), test="test_it.py::test_a[2]")
    here.run("failed", 0)
    here.run("passed", 1)


def test_without_layers_it_is_filtered_too(filtering):
    here = filtering("def test_a(): assert 1 == 2", variables=FILTER)
    here.let_fail(here.site("1 == 2"))
    assert here.run("passed") is None


def test_copies_filter_as_the_process_does_that_they_are_copies_of(project):
    unflake = project("def test_a(): assert 1 == 2", variables=BOTH)
    here = Filtering(unflake)
    here.let_fail(here.site("1 == 2"))
    assert unflake.fork(here.agent, 4).outcomes(0) == ["passed"]


def test_a_fixture_is_part_of_the_test(filtering):
    here = filtering("import pytest\n@pytest.fixture\ndef one():\n    assert 1 == 2\n    yield\n    assert 3 == 4\ndef test_a(one): pass")
    here.let_fail(here.site("1 == 2"), here.site("3 == 4"))
    assert here.run("passed").how == [("1 == 2", "filtered"), ("3 == 4", "filtered")]


def test_the_list_of_assertions(filtering):
    files = {
        "pkg/helper.py": "def check(x):\n    '''doc'''\n    assert x == 1, 'm'",
        "not_loaded.py": "assert 1",
        "test_it.py": "import unittest, pkg.helper\nclass Test(unittest.TestCase):\n    def test_a(self):\n        self.assertTrue(1)\n        pkg.helper.check(1)",
    }
    first, second = filtering(files).sites()
    assert dict(first, body="") == {"file": "pkg/helper.py", "function": "check", "expression": "x == 1", "ordinal": 0, "line": 3, "body": ""}
    assert (second["function"], second["expression"], second["line"]) == ("Test.test_a", "self.assertTrue(1)", 4)


def test_a_body_is_known_under_another_name_and_in_another_layout(filtering):
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
    one, moved, changed = [site["body"] for site in filtering(code).sites()]
    assert one == moved != changed


def test_orders_that_cannot_be_carried_out(project):
    agent = project("def test_a(): pass", variables=FILTER).ready()
    agent.order("filter", path="/nowhere")
    assert "filter" in agent.event("problem")["text"]
    agent = project("def test_a(): pass").ready()
    agent.order("sites")
    assert "sites" in agent.event("problem")["text"]
