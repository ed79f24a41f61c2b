"""Start and end of a session: environment, collection, the user's options and plugins, reports."""

import os
import signal
import subprocess
import sys
import time

import pytest
from driver import AGENT


def test_project_does_not_see_unflake(project):
    unflake = project(
        """
        import os, subprocess, sys
        pytest_plugins = ["pytester"]

        def test_environment():
            assert not [name for name in os.environ if name.startswith("UNFLAKE")]
            assert os.environ.get("PYTEST_PLUGINS") is None
            assert os.environ["PYTHONPATH"] == "mine"
            assert not [entry for entry in sys.path if entry.endswith(os.path.join("agents", "pytest"))]

        def test_subprocess(pytester):
            pytester.makepyfile("def test_a(): pass")
            result = pytester.runpytest_subprocess("--trace-config")
            assert "unflake" not in result.stdout.str()
            result.assert_outcomes(passed=1)

        def test_in_process(pytester):
            pytester.makepyfile("def test_a(): assert 0")
            result = pytester.runpytest_inprocess("--trace-config")
            assert "unflake" not in result.stdout.str()
            result.assert_outcomes(failed=1)
        """.replace("pytester", "testdir" if pytest.__version__ < "6.3" else "pytester").replace(
            'pytest_plugins = ["testdir"]', 'pytest_plugins = ["pytester"]'
        ),
        variables={"PYTHONPATH": "mine"},
    )
    agent = unflake.ready()
    events = agent.events_of_run(0, 1, 2)
    assert [event["event"] for event in events] == ["start", "done"] * 3 + ["idle"], events
    assert [event["outcome"] for event in events if "outcome" in event] == ["passed"] * 3, events
    assert unflake.end(agent) == 0


def test_without_the_socket_the_agent_does_nothing(project):
    unflake = project("def test_a(): pass", variables={})
    agent = unflake.ready()
    assert unflake.end(agent) == 0
    env = dict(os.environ, PYTHONPATH=AGENT, PYTEST_PLUGINS="unflake_agent", UNFLAKE_SIDE="kept")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=unflake.directory,
        env=env,
        stdout=subprocess.PIPE,
        timeout=30,
    )
    assert ran.returncode == 0 and b"1 passed" in ran.stdout


def test_ids_with_unusual_characters_are_unique(project):
    agent = project(
        {
            "conftest.py": """
            def pytest_collection_modifyitems(items):
                last = items[-1]
                items.append(type(last).from_parent(last.parent, name=last.name))
                setattr(last.module, "test_\\udc80", lambda: None)
                items.append(type(last).from_parent(last.parent, name="test_\\udc80"))
            """,
            "test_it.py": r'''
            import pytest

            @pytest.mark.parametrize("x", [1, 2, 3], ids=["a b", "quo\"te", "new\nline"])
            def test_odd(x): pass

            def test_twice(): pass
            ''',
        }
    ).ready()
    names = [name.split("::")[1] for name in agent.ids]
    assert names[-3:] == ["test_twice", "test_twice (2)", "test_\\udc80"]
    assert 'test_odd[quo"te]' in names
    assert len(set(names)) == 6
    assert agent.outcomes(*range(6)) == ["passed"] * 6


def test_many_tests_are_listed_in_batches(project):
    agent = project(
        "import pytest\n@pytest.mark.parametrize('n', range(450))\ndef test_n(n): pass\n"
    ).ready()
    parts = [len(event["tests"]) for event in agent.events if event["event"] == "listed"]
    assert parts == [200, 200, 50] and [test["n"] for test in agent.tests] == list(range(450))


def test_the_closest_group_of_a_test_is_a_resource_that_it_needs(project):
    agent = project(
        """
        import pytest
        pytestmark = pytest.mark.xdist_group("module")

        def test_1(): pass

        @pytest.mark.xdist_group(name="class")
        class TestIt:
            def test_2(self): pass

            @pytest.mark.xdist_group("own")
            def test_3(self): pass

        @pytest.mark.xdist_group
        def test_4(): pass
        """
    ).ready()
    groups = [list(test["needs"]["resources"]) for test in agent.tests]
    assert groups == [["module"], ["class"], ["own"], ["default"]]


def test_collection_error_is_a_problem_and_no_test_runs(project):
    unflake = project({"test_bad.py": "import nothing_of_this_name", "test_good.py": "def test_a(): pass"})
    agent = unflake.accept()
    events = agent.remaining()
    assert [event["event"] for event in events] == ["problem", "bye"]
    assert (events[0]["kind"], events[0]["place"]) == ("collection", "test_bad.py")
    assert "nothing_of_this_name" in events[0]["text"]
    assert unflake.wait() == 2


def test_continue_on_collection_errors(project):
    unflake = project(
        {"test_bad.py": "1/0", "test_good.py": "def test_a(): pass"}, "--continue-on-collection-errors"
    )
    agent = unflake.ready()
    assert [problem["place"] for problem in agent.problems] == ["test_bad.py"]
    assert agent.outcomes(0) == ["passed"]
    assert unflake.end(agent) == 1


@pytest.mark.parametrize(
    "files, args, kind, text, status",
    [
        ({"conftest.py": "import nothing_here"}, [], "usage", "nothing_here", 4),
        ({}, ["no_such_file.py"], "usage", "no_such_file.py", 4),
        ({"test_a.py": "def test_a(): pass"}, ["--collect-only"], "refused", "--collect-only", 0),
        ({"test_a.py": "def test_a(): pass"}, ["--setup-plan"], "refused", "--setup-plan", 0),
        ({"test_a.py": "def test_a(): pass"}, ["--setup-only"], "refused", "--setup-only", 0),
        (
            {"conftest.py": "def pytest_collection_modifyitems(items): 1/0", "test_a.py": "def test_a(): pass"},
            [],
            "internal",
            "ZeroDivisionError",
            3,
        ),
    ],
)
@pytest.mark.parametrize("reports", ["yes", "no"])
def test_problems_that_prevent_a_run(project, files, args, kind, text, status, reports):
    unflake = project(files, *args, reports=reports)
    agent = unflake.accept()
    problems = [event for event in agent.remaining() if event["event"] == "problem"]
    assert [problem["kind"] for problem in problems] == [kind]
    assert text in problems[0]["text"]
    returned = unflake.wait()
    assert returned == status or reports == "no"


def test_no_tests(project):
    unflake = project("", "-k", "nothing")
    agent = unflake.ready()
    assert (agent.tests, agent.ready["tests"]) == ([], 0)
    assert agent.events_of_run() == [{"event": "idle"}]
    assert unflake.end(agent) == 5


def test_deselected_tests_are_counted(project):
    agent = project("def test_a(): pass\ndef test_b(): pass", "-k", "test_a").ready()
    assert (agent.ready["tests"], agent.ready["deselected"]) == (1, 1)


@pytest.mark.parametrize("option, ran", [("-x", 2), ("--maxfail=2", 3)])
def test_maxfail_counts_tests_not_attempts(project, option, ran):
    unflake = project("def test_a(): pass\ndef test_b(): assert 0\ndef test_c(): assert 0\ndef test_d(): pass", option)
    agent = unflake.ready()
    events = agent.events_of_run(0, 1, 2, 3, again=2)
    assert [event["event"] for event in events[-2:]] == ["stopped", "idle"]
    assert events[-2]["cause"] == "limit" and "stopping after" in events[-2]["why"]
    assert len({event["n"] for event in events if event["event"] == "done"}) == ran
    assert [event["run"] for event in events if event["event"] == "done"].count(2) == ran - 1
    assert agent.outcomes(3, 0) == ["passed", "passed"]
    assert unflake.end(agent) == 1


def test_pytest_exit_determines_the_exit_code(project):
    unflake = project("import pytest\ndef test_a(): pytest.exit('enough', 9)\ndef test_b(): pass")
    agent = unflake.ready()
    events = agent.events_of_run(0, 1, again=3)
    assert [event["event"] for event in events] == ["start", "stopped", "idle"]
    assert events[1] == {"event": "stopped", "cause": "exit", "why": "enough"}
    assert unflake.end(agent) == 9


def test_fixtures_are_torn_down_after_pytest_exit(project):
    agent = project(
        """
        import pytest
        open_ = []

        @pytest.fixture(scope="module")
        def resource():
            open_.append(1)
            yield
            open_.pop()

        def test_exit(resource): pytest.exit("enough")
        def test_interrupt(resource): raise KeyboardInterrupt
        def test_closed(): assert not open_
        """
    ).ready()
    assert agent.events_of_run(0, 2)[-2]["cause"] == "exit"
    assert agent.outcomes(2) == ["passed"]
    assert agent.events_of_run(1, 2)[-2]["why"] == "KeyboardInterrupt"
    assert agent.outcomes(2) == ["passed"]


def test_looponfail_is_rejected(project):
    pytest.importorskip("xdist.looponfail")
    unflake = project("def test_a(): pass", "--looponfail", plugins=True)
    events = unflake.accept().remaining()
    assert [(event["event"], event["kind"]) for event in events if event["event"] == "problem"] == [("problem", "refused")]
    assert unflake.wait() == 4


def test_reruns_of_a_plugin_count_as_one_attempt(project):
    pytest.importorskip("pytest_rerunfailures")
    agent = project(
        "tries = []\ndef test_a():\n    tries.append(1)\n    assert len(tries) > 1\ndef test_b():\n    assert 0",
        "--reruns=1",
        plugins=True,
    ).ready()
    events = agent.events_of_run(0, 1, again=1)
    assert [event["outcome"] for event in events if event["event"] == "done"] == ["passed", "failed", "failed"]
    assert [event["event"] for event in events].count("note") == 1
    assert agent.outcomes(0) == ["passed"]


def test_warnings_as_errors(project):
    agent = project(
        """
        import warnings
        def test_quiet(): pass
        def test_loud(): warnings.warn("x")
        """,
        "-W",
        "error",
    ).ready()
    assert agent.outcomes(0, 1, 0) == ["passed", "failed", "passed"]


def test_process_with_reports_writes_them(project):
    unflake = project("def test_a(): pass", "--junitxml=report.xml")
    agent = unflake.ready()
    agent.run(0)
    assert unflake.end(agent) == 0
    with open(os.path.join(unflake.directory, "report.xml")) as file:
        assert 'tests="1"' in file.read()


def test_fork_server_overwrites_no_reports(project):
    pytest.importorskip("pytest_cov")
    kept = {"report.xml": "kept", ".coverage": "kept"}
    unflake = project(
        dict(
            kept,
            **{
                "shop.py": "def f():\n    return 1\n",
                "conftest.py": "def pytest_unconfigure():\n    open('unconfigured', 'w').close()\n",
                "test_it.py": "import shop\ndef test_a(): assert shop.f() == 1\ndef test_b(tmp_path): assert 0",
            }
        ),
        "--junitxml=report.xml",
        "--cov=shop",
        "--cov-report=xml",
        reports="no",
        plugins=True,
    )
    agent = unflake.ready()
    child = unflake.fork(agent, 1)
    assert child.outcomes(0, 1) == ["passed", "failed"]
    child.order("end")
    child.remaining()
    assert not os.path.exists(os.path.join(unflake.directory, "unconfigured"))
    assert unflake.end(agent) == 0
    assert os.path.exists(os.path.join(unflake.directory, "unconfigured"))
    for name in kept:
        with open(os.path.join(unflake.directory, name)) as file:
            assert file.read() == "kept"
    assert not os.path.exists(os.path.join(unflake.directory, "coverage.xml"))


def test_coverage_in_a_process_with_reports(project):
    pytest.importorskip("pytest_cov")
    unflake = project(
        {"shop.py": "def f():\n    return 1\n", "test_it.py": "import shop\ndef test_a(): assert shop.f() == 1"},
        "--cov=shop",
        plugins=True,
    )
    agent = unflake.ready()
    agent.run(0)
    assert unflake.end(agent) == 0
    assert "100%" in unflake.output


def test_interrupt_while_waiting_ends_as_in_pytest(project):
    unflake = project("def test_a(): assert 0", "--junitxml=report.xml")
    agent = unflake.ready()
    agent.run(0)
    os.kill(unflake.process.pid, signal.SIGINT)
    assert agent.remaining() == [{"event": "bye"}]
    assert unflake.wait() == 2
    assert os.path.exists(os.path.join(unflake.directory, "report.xml"))


def test_interrupt_while_a_test_runs(project):
    unflake = project("import time\ndef test_a(): time.sleep(60)\ndef test_b(): pass")
    agent = unflake.ready()
    agent.order("run", tests=[0, 1], again=2)
    agent.event("start")
    time.sleep(0.2)
    os.kill(unflake.process.pid, signal.SIGINT)
    events = agent.until("idle")
    assert [event["event"] for event in events] == ["stopped", "idle"]
    assert events[0]["why"] == "KeyboardInterrupt"
    assert agent.outcomes(1) == ["passed"]


def test_agent_exits_when_unflake_closes_the_connection(project):
    unflake = project("def test_a(): pass")
    agent = unflake.ready()
    agent.close()
    assert unflake.wait() == 1


@pytest.mark.parametrize("option", ["--pdb", "--trace"])
def test_debuggers_are_not_used(project, option):
    agent = project("def test_a(): assert 0", option).ready()
    assert agent.notes == ["%s is ignored: tests run without a terminal" % option]
    assert agent.outcomes(0) == ["failed"]
