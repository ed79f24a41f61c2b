"""Runs: fixtures between tests and orders, retries, outcomes."""

import pytest


def test_failing_test_is_retried_until_it_passes(project):
    unflake = project(
        """
        tries = []

        def test_passes():
            pass

        def test_flaky():
            tries.append(1)
            assert len(tries) > 2
        """
    )
    agent = unflake.ready()
    assert agent.ids == ["test_it.py::test_passes", "test_it.py::test_flaky"]
    assert [(test["file"], test["line"]) for test in agent.tests] == [("test_it.py", 4), ("test_it.py", 7)]
    assert agent.ready == {"event": "ready", "tests": 2, "deselected": 0, "unforkable": None}
    done = agent.run(0, 1, again=4)
    assert [(event["n"], event["run"], event["outcome"]) for event in done] == [
        (0, 0, "passed"),
        (1, 0, "failed"),
        (1, 1, "failed"),
        (1, 2, "passed"),
    ]
    failure = done[1]["failure"]
    assert (failure["phase"], failure["kind"]) == ("call", "AssertionError")
    assert (failure["file"], failure["line"]) == ("test_it.py", 9)
    assert failure["message"].startswith("assert 1 > 2")
    assert "test_it.py:9: AssertionError" in failure["trace"]
    assert unflake.end(agent) == 1


def test_a_project_that_reorders_its_tests_is_reported(project):
    unflake = project(
        {
            "conftest.py": "def pytest_collection_modifyitems(items): items.reverse()",
            "test_it.py": "def test_one(): pass\n\ndef test_two(): pass",
        }
    )
    agent = unflake.ready()
    assert agent.ids == ["test_it.py::test_two", "test_it.py::test_one"]
    assert agent.ready["reorders"] is True
    assert unflake.end(agent) == 0


LOG = """
import pytest
log = []

@pytest.fixture(scope="session")
def session():
    log.append("+s")
    yield
    log.append("-s")

@pytest.fixture(scope="module")
def module(session):
    log.append("+m")
    yield
    log.append("-m")

class TestOne:
    @pytest.fixture(scope="class", autouse=True)
    def cls(self, module):
        log.append("+c")
        yield
        log.append("-c")

    def test_a(self):
        log.append("a")

    def test_b(self):
        log.append("b")
        assert 0

def test_last(module):
    log.append("l")

def test_show():
    assert 0, " ".join(log)
"""


def read_log(agent):
    return agent.run(3)[0]["failure"]["message"].split("\n")[0].replace("AssertionError: ", "")


def test_neighbours_share_fixtures_and_the_last_test_tears_all_down(project):
    agent = project(LOG).ready()
    agent.run(0, 1, 2)
    assert read_log(agent) == "+s +m +c a b -c l -m -s"


def test_each_order_begins_and_ends_without_fixtures(project):
    agent = project(LOG).ready()
    agent.run(0)
    agent.run(2)
    assert read_log(agent) == "+s +m +c a -c -m -s +s +m l -m -s"


def test_any_order_and_repetition(project):
    agent = project(LOG).ready()
    agent.run(2, 0, 0, 2)
    assert read_log(agent) == "+s +m l +c a a -c l -m -s"


def test_retry_keeps_the_fixtures_of_the_neighbour(project):
    agent = project(LOG).ready()
    assert agent.outcomes(1, 0, 2, again=2) == ["failed", "failed", "failed", "passed", "passed"]
    assert read_log(agent) == "+s +m +c b b b a -c l -m -s"


def test_retry_has_its_own_instance_request_and_item(project):
    agent = project(
        {
            "conftest.py": """
            def pytest_collection_modifyitems(items):
                for item in items:
                    item.add_marker("kept")
                    item.keywords["given"] = True
                    item.given = 5
            """,
            "pytest.ini": "[pytest]\nmarkers =\n    slow: x\n    kept: x\n",
            "test_it.py": """
            import pytest, unittest
            seen = []

            class TestPlain:
                def test_instance(self, request):
                    node = request.node
                    assert not hasattr(self, "mark")
                    self.mark = 1
                    assert not any(old is node or old is request for old in seen)
                    assert not node.user_properties
                    node.user_properties.append(("a", 1))
                    assert sorted(m.name for m in node.iter_markers()) == ["kept"]
                    node.add_marker("slow")
                    assert "given" in node.keywords and node.given == 5
                    assert node.keywords.node is node
                    seen.extend([node, request])
                    assert 0, "end"

            class TestCase(unittest.TestCase):
                def setUp(self):
                    self.n = getattr(self, "n", 0) + 1

                def test_instance(self):
                    assert self.n == 1
                    assert not any(old is self for old in seen)
                    seen.append(self)
                    assert 0, "end"
            """,
        }
    ).ready()
    for n in (0, 1):
        messages = [done["failure"]["message"].split("\n")[0] for done in agent.run(n, again=2) + agent.run(n)]
        assert messages == ["AssertionError: end"] * 4 or messages == ["AssertionError: end\nassert 0"] * 4


def test_retry_after_a_set_up_error_rebuilds_the_fixture(project):
    agent = project(
        """
        import pytest
        tries = []

        @pytest.fixture(scope="module")
        def database():
            tries.append(1)
            if len(tries) < 3:
                raise OSError("no connection")
            return len(tries)

        def test_one(database):
            assert database == 3

        def test_two(database):
            assert database == 3
        """
    ).ready()
    done = agent.run(0, 1, again=3)
    assert [event["outcome"] for event in done] == ["error", "error", "passed", "passed"]
    assert (done[0]["failure"]["phase"], done[0]["failure"]["kind"]) == ("set-up", "OSError")
    assert done[0]["failure"]["message"] == "OSError: no connection"


def test_retry_runs_a_failed_setup_class_again(project):
    agent = project(
        """
        tries = []

        class TestIt:
            @classmethod
            def setup_class(cls):
                tries.append(1)
                assert len(tries) > 1

            def test_a(self):
                pass
        """
    ).ready()
    assert agent.outcomes(0, again=1) == ["error", "passed"]


def test_outcomes(project):
    agent = project(
        """
        import pytest, unittest

        @pytest.fixture
        def bad_end():
            yield
            raise ValueError("bad end")

        def test_pass(): pass
        def test_fail(): raise KeyError("k")
        def test_skip(): pytest.skip("no")
        @pytest.mark.skip
        def test_mark_skip(): pass
        @pytest.mark.xfail
        def test_xfail(): assert 0
        @pytest.mark.xfail
        def test_xpass(): pass
        @pytest.mark.xfail(strict=True)
        def test_strict(): pass
        @pytest.mark.xfail(run=False)
        def test_xfail_norun(): assert 0
        def test_end(bad_end): pass
        def test_both(bad_end): assert 0, "in call"
        def test_exit(): raise SystemExit(3)
        def test_no_traceback(): pytest.fail("why", pytrace=False)
        class TestCase(unittest.TestCase):
            def test_sub(self):
                for i in range(3):
                    with self.subTest(i=i):
                        assert i != 1
            def test_skip(self): self.skipTest("no")
            @unittest.expectedFailure
            def test_expected(self): assert 0
        """
    ).ready()
    done = agent.run(*range(len(agent.tests)))
    by_name = {agent.ids[event["n"]].split("::")[-1]: event for event in done}
    assert {name: event["outcome"] for name, event in by_name.items() if name not in ("test_sub", "test_skip")} == {
        "test_pass": "passed",
        "test_fail": "failed",
        "test_mark_skip": "skipped",
        "test_xfail": "expected-failure",
        "test_xpass": "unexpected-pass",
        "test_strict": "failed",
        "test_xfail_norun": "expected-failure",
        "test_end": "error",
        "test_both": "failed",
        "test_exit": "failed",
        "test_no_traceback": "failed",
        "test_expected": "expected-failure",
    }
    assert [event["outcome"] for event in done if event["n"] in (2, 13)] == ["skipped", "skipped"]
    assert by_name["test_sub"]["outcome"] == "failed"
    assert by_name["test_end"]["failure"]["phase"] == "tear-down"
    both = by_name["test_both"]["failure"]
    assert both["phase"] == "call" and "in call" in both["trace"] and "bad end" in both["trace"]
    assert by_name["test_exit"]["failure"]["kind"] == "SystemExit"
    assert by_name["test_no_traceback"]["failure"]["message"] in ("why", "Failed: why")
    assert "failure" not in by_name["test_xfail"]


def test_retry_of_coroutines(project):
    pytest.importorskip("pytest_asyncio")
    agent = project(
        """
        import asyncio, pytest
        tries = []

        @pytest.mark.asyncio
        async def test_flaky():
            await asyncio.sleep(0)
            tries.append(1)
            assert len(tries) > 2

        class TestIt:
            @pytest.mark.asyncio
            async def test_method(self):
                assert not hasattr(self, "a")
                self.a = 1
                await asyncio.sleep(0)
                assert len(tries) > 4
        """,
        plugins=True,
    ).ready()
    assert agent.outcomes(0, 1, 0, 0, 1, again=2) == ["failed", "failed", "passed"] + ["failed"] * 3 + ["passed"] * 2 + ["passed"]


def test_retry_of_doctests(project):
    agent = project(
        {
            "mod.py": '''
            n = []
            def grow():
                """
                >>> n.append(1)
                >>> len(n) > 2
                True
                """
            ''',
            "doc.txt": ">>> x = 1\n>>> x\n1\n",
        },
        "--doctest-modules",
        "--doctest-glob=*.txt",
    ).ready()
    assert agent.ids == ["doc.txt::doc.txt", "mod.py::mod.grow"]
    assert agent.outcomes(0, 1, 0, 0, again=3) == ["passed", "failed", "failed", "passed", "passed", "passed"]
    assert agent.outcomes(1) == ["passed"]


def test_retry_of_custom_items(project):
    agent = project(
        {
            "conftest.py": """
            import pytest
            tries = []

            if int(pytest.__version__.split(".")[0]) >= 7:
                def pytest_collect_file(file_path, parent):
                    if file_path.suffix == ".yaml":
                        return File.from_parent(parent, path=file_path)
            else:
                def pytest_collect_file(path, parent):
                    if path.ext == ".yaml":
                        return File.from_parent(parent, fspath=path)

            class File(pytest.File):
                def collect(self):
                    yield Item.from_parent(self, name="flaky")

            class Item(pytest.Item):
                def __init__(self, name, parent):
                    super().__init__(name, parent)
                    self.extra = 1
                def runtest(self):
                    assert self.extra == 1
                    assert not any(old is self for old in tries)
                    tries.append(self)
                    assert len(tries) > 2
                def reportinfo(self):
                    return str(self.fspath), 4, self.name
            """,
            "a.yaml": "",
        }
    ).ready()
    assert agent.tests == [{"n": 0, "id": "a.yaml::flaky", "file": "a.yaml", "line": 5}]
    assert agent.outcomes(0, again=5) == ["failed", "failed", "passed"]


def test_unknown_test_number_and_unknown_order_are_problems(project):
    agent = project("def test_a(): pass").ready()
    events = agent.events_of_run(0, 5)
    assert [event["event"] for event in events] == ["problem", "idle"]
    agent.order("dance")
    assert agent.event("problem")["kind"] == "internal"
    assert agent.outcomes(0) == ["passed"]
