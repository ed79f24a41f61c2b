"""Orders sent together, collection of some files only, shared tear-downs, the exit code."""

import json
import os

import pytest

BROKEN_SHARED = """
    import pytest

    @pytest.fixture(scope="%s")
    def printer():
        yield
        raise RuntimeError("still busy")

    class TestPrinter:
        def test_uses_it(self, printer):
            pass

        def test_does_not(self):
            pass
"""


def test_orders_sent_before_a_fork_are_not_executed_by_the_child(project):
    unflake = project("def test_a(): pass")
    agent = unflake.ready()
    orders = [{"order": "fork", "environment": n} for n in (1, 2, 3)] + [{"order": "run", "tests": [0], "again": 0}]
    agent._socket.sendall(b"".join(json.dumps(order).encode() + b"\n" for order in orders))
    events = [event["event"] for event in agent.until("idle")]
    assert events.count("forked") == 3
    forks = [unflake.accept() for _ in (1, 2, 3)]
    assert sorted(fork.environment for fork in forks) == [1, 2, 3]
    for fork in forks:
        assert fork.outcomes(0) == ["passed"]
        fork.order("end")
        assert fork.remaining() == [{"event": "bye"}]


def test_only_collects_some_files_with_the_configuration_of_the_whole_command(project, tmp_path):
    only = tmp_path / "only.json"
    only.write_text(json.dumps([os.path.join(project.directory, "tests", "test_b.py")]))
    unflake = project(
        {
            "conftest.py": "def pytest_addoption(parser): parser.addoption('--colour')",
            "tests/test_a.py": "def test_a(): pass",
            "tests/test_b.py": "def test_b(request): assert request.config.getoption('--colour') == 'red'",
        },
        "tests",
        "--colour=red",
        variables={"UNFLAKE_ONLY": str(only)},
    )
    agent = unflake.ready()
    assert agent.ids == ["tests/test_b.py::test_b"]
    assert agent.outcomes(0) == ["passed"]


@pytest.mark.parametrize("counted, status", [(0, 0), (1, 1)])
@pytest.mark.parametrize("option", ["-q", "-x"])
def test_exit_code_is_computed_from_the_failures_that_count(project, counted, status, option):
    unflake = project("def test_a(): assert 0", option)
    agent = unflake.ready()
    assert agent.outcomes(0) == ["failed"]
    agent.order("end", failed=counted)
    assert agent.remaining() == [{"event": "bye"}]
    assert unflake.wait() == status


@pytest.mark.parametrize("scope", ["class", "module", "session"])
def test_error_in_a_shared_tear_down_has_its_own_phase(project, scope):
    agent = project(BROKEN_SHARED % scope).ready()
    user, other = agent.run(0, 1)
    assert user["outcome"] == "passed"
    assert (other["outcome"], other["failure"]["phase"]) == ("error", "shared-tear-down")


def test_error_in_the_tear_down_of_a_function_fixture_is_the_tests_own(project):
    agent = project(BROKEN_SHARED % "function").ready()
    user, other = agent.run(0, 1)
    assert (user["outcome"], user["failure"]["phase"]) == ("error", "tear-down")
    assert other["outcome"] == "passed"


def test_finalizer_of_a_shared_node_counts_as_shared(project):
    agent = project(
        """
        import pytest
        left = []

        @pytest.fixture(scope="module", autouse=True)
        def checked(request):
            def check(): assert not left
            request.node.addfinalizer(check)

        def test_leaves(): left.append(1)
        def test_is_blamed(): pass
        """
    ).ready()
    assert agent.run(0, 1)[1]["failure"]["phase"] == "shared-tear-down"


def test_shared_fixture_that_failed_twice_is_not_built_for_every_test(project):
    unflake = project(
        """
        import pytest

        @pytest.fixture(scope="session")
        def service():
            open("built", "a").write("x")
            raise RuntimeError("no answer")

        @pytest.mark.parametrize("n", range(8))
        def test_it(service, n): pass
        """
    )
    agent = unflake.ready()
    assert agent.outcomes(*range(8), again=1) == ["error"] * 16
    with open(os.path.join(unflake.directory, "built")) as built:
        # The first attempt, its retry, and once more after the tear-down at the end of the order.
        assert len(built.read()) == 3


def test_code_of_the_agent_has_no_file_names(project):
    agent = project(
        """
        import sys

        def test_a():
            ours = [module for name, module in sys.modules.items() if name.startswith("unflake_agent.")]
            assert ours and all(module.warm_up_tracebacks.__code__.co_filename[0] == "<" for module in ours if hasattr(module, "warm_up_tracebacks"))
        """
    ).ready()
    assert agent.outcomes(0) == ["passed"]


def test_reports_of_forks_are_written_by_the_process_that_was_forked(project):
    unflake = project(
        {"test_a.py": "def test_a(): assert 0", "test_b.py": "import os\ndef test_b(): os._exit(3)"}, "--junitxml=own.xml"
    )
    agent = unflake.ready()
    assert "one_process" not in agent.ready
    for number in (0, 1):
        fork = unflake.fork(agent, 1 + number)
        fork.order("run", tests=[number], again=0, reported=True)
        fork.order("end")
        fork.remaining()
    agent.order("end", failed=0)
    assert agent.remaining()[-1] == {"event": "bye"}
    assert unflake.wait() == 0
    with open(os.path.join(project.directory, "own.xml")) as file:
        own = file.read()
    assert 'tests="2"' in own and 'failures="2"' in own
    assert "assert 0" in own and "the process of this test died" in own


def test_reports_are_written_whatever_a_test_has_replaced(project):
    unflake = project("import json, os\ndef test_a(): os.listdir = json.loads = None")
    agent = unflake.ready()
    assert agent.outcomes(0) == ["passed"]
    agent.order("end", failed=0)
    assert agent.remaining()[-1] == {"event": "bye"}
    assert unflake.wait() == 0


@pytest.mark.parametrize("option", ["-x", "--maxfail=2"])
def test_limits_of_failures_need_one_process(project, option):
    assert "--maxfail" in project("def test_a(): pass", option).ready().ready["one_process"]
