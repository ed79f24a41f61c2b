"""Results of assertions that are calls: unittest, pytest, mocks, NumPy, pandas."""

import sys
import textwrap

import pytest

from assertion_reader import LAYER, SharedProject

KNOWS_COLUMNS = sys.version_info >= (3, 11)


def unittest_class(*bodies):
    code = "import unittest\nimport pytest\nfrom unittest.mock import Mock\nclass Test(unittest.TestCase):\n"
    return code + "".join("    def test_%02d(self):\n%s\n" % (n, textwrap.indent(body, "        ")) for n, body in enumerate(bodies))


@pytest.fixture(scope="module")
def calls():
    calls = SharedProject({"test_it.py": unittest_class(*[one[0] for one in list(CALLS.values()) + list(FAILING.values())])}, (), LAYER)
    yield calls.session
    calls.close()


# The body of a test method, and its results.
CALLS = {
    "equal": ("x = 1\nself.assertEqual(x, 1)", [("self.assertEqual(x, 1)", "held", [("x", "1")])]),
    "lines": ("x = 'a\\nb'\nself.assertEqual(\n    x,\n    'a\\nb',\n)", [("self.assertEqual(x, 'a\\nb')", "held", [("x", "'a\\nb'")])]),
    "keywords": (
        "x, y = [1], (2,)\nself.assertNotEqual(first=x, second=y, msg='m')",
        [("self.assertNotEqual(first=x, second=y, msg='m')", "held", [("x", "[1]"), ("y", "(2,)")])],
    ),
    "star": ("x = 1, 1\nself.assertEqual(*x)", [("self.assertEqual(*x)", "held", [])]),
    "raises": (
        "with self.assertRaises(ValueError):\n    int('x')",
        [("self.assertRaises(ValueError)", "held", [("exception", "ValueError(\"invalid literal for int() with base 10: 'x'\")")])],
    ),
    "raises at once": ("self.assertRaises(ValueError, int, 'x')", [("self.assertRaises(ValueError, int, 'x')", "held", [])]),
    "logs": (
        "import logging\nwith self.assertLogs() as logs:\n    logging.warning('x')\nself.assertEqual(len(logs.output), 1)",
        [("self.assertLogs()", "held", []), ("self.assertEqual(len(logs.output), 1)", "held", [("len(logs.output)", "1")])],
    ),
    "subtest": (
        "for i in range(2):\n    with self.subTest(i=i):\n        self.assertLess(i, 2)",
        [("self.assertLess(i, 2)", "held", [("i", "0")]), ("self.assertLess(i, 2)", "held", [("i", "1")])],
    ),
    "pytest.raises": (
        "with pytest.raises(KeyError, match='k') as error:\n    {}['k']\nassert error.value.args == ('k',)",
        [
            ("pytest.raises(KeyError, match='k')", "held", [("exception", "KeyError('k')")]),
            ("error.value.args == ('k',)", "held", [("error.value.args", "('k',)")]),
        ],
    ),
    "pytest.raises at once": (
        "pytest.raises(KeyError, lambda: {}['k'])",
        [("pytest.raises(KeyError, lambda: {}['k'])", "held", [("exception", "KeyError('k')")])],
    ),
    "pytest.warns": (
        "import warnings\nwith pytest.warns(UserWarning):\n    warnings.warn('w')",
        [("pytest.warns(UserWarning)", "held", [])],
    ),
    "approx": ("x = 0.1 + 0.2\nassert x == pytest.approx(0.3)", [
        ("x == pytest.approx(0.3)", "held", [("x", "0.30000000000000004"), ("pytest.approx(0.3)", "approx(0.3)")])
    ]),
    "mock": (
        "m = Mock()\nm.f(1, k=2)\nm.f.assert_called_once_with(1, k=2)",
        [("m.f.assert_called_once_with(1, k=2)", "held", [("call_count", "1"), ("call_args", "((1,), {'k': 2})")])],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(CALLS))
def test_operands_and_results_of_calls(calls, name):
    log = calls.run("passed", list(CALLS).index(name))
    assert log.results == CALLS[name][1] and log.gaps == []


# A body that fails, its last result, and the exception of the test.
FAILING = {
    "equal": ("x = 1\nself.assertEqual(x, 2)", ("self.assertEqual(x, 2)", "failed", [("x", "1")]), "AssertionError"),
    "fail": ("why = 'no'\nself.fail(why)", ("self.fail(why)", "failed", [("why", "'no'")]), "AssertionError"),
    "pytest.fail": ("pytest.fail('no')", ("pytest.fail('no')", "failed", []), "Failed"),
    "nothing raised": ("with pytest.raises(ValueError):\n    pass", ("pytest.raises(ValueError)", "failed", []), "Failed"),
    "another raised": (
        "with pytest.raises(ValueError):\n    {}[1]",
        ("pytest.raises(ValueError)", "raised", [("exception", "KeyError(1)")]),
        "KeyError",
    ),
    "another raised at once": (
        "self.assertRaises(ValueError, {}.__getitem__, 1)",
        ("self.assertRaises(ValueError, {}.__getitem__, 1)", "raised", [("exception", "KeyError(1)")]),
        "KeyError",
    ),
    "an argument raises": ("self.assertEqual(1 / 0, 1)", None, "ZeroDivisionError"),
    "an assertion inside": (
        "def f():\n    assert 0 == 1\npytest.raises(ValueError, f)",
        ("pytest.raises(ValueError, f)", "raised", [("exception", "AssertionError('assert 0 == 1')")]),
        "AssertionError",
    ),
    "its own comparison": (
        "class Odd:\n    def __eq__(self, other): raise AssertionError('mine')\nself.assertEqual(Odd(), 1)",
        ("self.assertEqual(Odd(), 1)", "raised", [("exception", "AssertionError('mine')")]),
        "AssertionError",
    ),
    "mock": ("m = Mock()\nm.assert_called()", ("m.assert_called()", "failed", [("call_count", "0"), ("call_args", "None")]), "AssertionError"),
}


@pytest.mark.parametrize("name", list(FAILING))
def test_failing_calls(calls, name):
    _, expected, kind = FAILING[name]
    log = calls.run("failed", len(CALLS) + list(FAILING).index(name))
    assert (log.results[-1] if log.results else None) == expected
    assert log.failure["kind"] == kind


def test_site_is_in_helpers_of_the_project_but_not_in_libraries(assertions, project):
    files = {
        "base.py": "import unittest\nclass Base(unittest.TestCase):\n    def check(self, x):\n        self.assertTrue(x)",
        "venv/site-packages/lib.py": "def assert_fine(case, x): case.assertEqual(x, 1)",
        "test_it.py": """
        import sys; sys.path.append("venv/site-packages")
        from base import Base
        import lib
        class TestIt(Base):
            def test_a(self):
                self.check(1)
                lib.assert_fine(self, 1)
        """,
    }
    sites = list(assertions(files).sites.values())
    assert [(one["file"], one["function"], one["expression"]) for one in sites] == [
        ("base.py", "Base.check", "self.assertTrue(x)"),
        ("test_it.py", "TestIt.test_a", "lib.assert_fine(self, 1)"),
    ]


def test_two_calls_in_one_line(assertions):
    log = assertions(unittest_class("x = 1; self.assertEqual(x, 1); self.assertEqual(x, 1)"))
    if KNOWS_COLUMNS:
        assert [one["ordinal"] for one in log.sites.values()] == [0, 1] and log.gaps == []
    else:
        assert log.results == [] and log.gaps == ["test_it.py:6: two assertions in one line cannot be distinguished"]


def test_call_under_another_name_is_a_gap(assertions):
    log = assertions(unittest_class("check = self.assertEqual\ncheck(1, 1)"))
    assert log.results == [] and log.gaps == ["test_it.py:7: an aliased assertion is not recorded"]


def test_imported_names(assertions):
    code = """
    from pytest import raises
    from contextlib import ExitStack
    def test_a():
        with raises(ValueError):
            int("x")
        with ExitStack() as stack:
            stack.enter_context(raises(KeyError))
            {}[1]
    """
    assert assertions(code).outcomes == [("raises(ValueError)", "held"), ("raises(KeyError)", "held")]


def test_unittest_method_patched_by_a_test(assertions):
    code = unittest_class("from unittest import mock\nwith mock.patch.object(unittest.TestCase, 'assertEqual'):\n    self.assertEqual(1, 2)\nself.assertEqual(1, 1)")
    assert assertions(code).outcomes == [("self.assertEqual(1, 1)", "held")]


def test_numpy_assertions(assertions):
    pytest.importorskip("numpy")
    code = """
    import numpy as np
    import numpy.testing as npt
    from numpy.testing import assert_allclose
    def test_a():
        x = np.array([1.0, 2.0])
        assert_allclose(x, [1, 2], atol=0.5)
        npt.assert_array_equal(x, x)
        assert x[0] == np.float64(1)
        with npt.assert_raises(ValueError):
            int("x")
        npt.assert_equal(x, x + 1)
    """
    log = assertions(code, outcome="failed")
    how, operands = log.only("assert_allclose(x, [1, 2], atol=0.5)")
    assert how == "held" and operands[0][0] == "x" and operands[0][1].startswith("array([1.0, 2.0], (2,), float64, ")
    assert log.only("x[0] == np.float64(1)") == ("held", [("x[0]", "float64(1.0)"), ("np.float64(1)", "float64(1.0)")])
    assert log.only("npt.assert_equal(x, x + 1)")[0] == "failed"
    assert [how for _, how in log.outcomes] == ["held"] * 4 + ["failed"]


def test_pandas_assertions(assertions):
    pytest.importorskip("pandas")
    code = """
    import pandas as pd
    from pandas.testing import assert_frame_equal
    def test_a():
        a = pd.DataFrame({"x": [1, 2]})
        assert_frame_equal(a, a.copy())
        assert_frame_equal(a, a + 1)
    """
    assert assertions(code, outcome="failed").outcomes == [("assert_frame_equal(a, a.copy())", "held"), ("assert_frame_equal(a, a + 1)", "failed")]
