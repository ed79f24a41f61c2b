"""Sessions that grow: what wider scopes have set up is left standing after an order that holds."""

import os

import pytest

SCOPES = """
    import pytest

    def fixture(scope):
        @pytest.fixture(scope=scope)
        def one(request):
            log("+" + scope)
            yield
            log("-" + scope)
        return one

    def log(word):
        with open("log", "a") as file:
            file.write(word + " ")

    package, module, klass, function, session = map(fixture, ("package", "module", "class", "function", "session"))

    @pytest.fixture
    def all_of_them(session, package, module, klass, function):
        pass
"""
TESTS = """
    from conftest import log

    class TestA:
        def test_a(self, all_of_them): log("a")
        def test_b(self, all_of_them): log("b")

    class TestC:
        def test_c(self, all_of_them): log("c")
"""
FILES = {"conftest.py": SCOPES, "test_1.py": TESTS, "test_2.py": TESTS}


def written(unflake):
    path = os.path.join(unflake.directory, "log")
    with open(path) as file:
        words = file.read().split()
    os.unlink(path)
    return words


@pytest.mark.parametrize("second", range(6))
def test_what_ran_in_two_orders_is_what_would_have_run_in_one(project, second):
    unflake = project(FILES)
    agent = unflake.ready()
    assert agent.outcomes(0, second) == ["passed"] * 2
    expected = written(unflake)
    assert agent.outcomes(0, hold=True) == ["passed"]
    copy = unflake.fork(agent, 1)
    held = written(unflake)
    assert held == expected[: len(held)] and held[-1] == "-function"
    assert agent.outcomes(second) == ["passed"]
    assert held + written(unflake) == expected
    assert copy.outcomes(second, hold=True) == ["passed"]
    rest = written(unflake)
    assert held + rest == expected[: len(held + rest)] and "-session" not in rest


def test_all_that_is_held_is_torn_down_at_the_end(project):
    unflake = project(FILES)
    agent = unflake.ready()
    agent.run(0, hold=True)
    copy = unflake.fork(agent, 1)
    written(unflake)
    copy.order("end")
    assert copy.rest() == [{"event": "bye"}]
    assert not os.path.exists(os.path.join(unflake.directory, "log"))  # A copy leaves as it is.
    assert unflake.end(agent) == 0
    assert written(unflake) == ["-class", "-module", "-package", "-session"]


def test_what_writes_no_reports_tears_down_at_the_end_too(project):
    unflake = project(FILES, reports="no")
    agent = unflake.ready()
    agent.run(0, hold=True)
    written(unflake)
    unflake.end(agent)
    assert written(unflake) == ["-class", "-module", "-package", "-session"]


def test_a_shared_tear_down_that_fails_later_is_a_note(project):
    unflake = project(
        """
        import pytest

        @pytest.fixture(scope="class")
        def printer():
            yield
            raise RuntimeError("still busy")

        class TestA:
            def test_a(self, printer): pass

        def test_b(): pass
        """
    )
    agent = unflake.ready()
    assert agent.outcomes(0, hold=True) == ["passed"]
    events = agent.events_of_run(1)
    assert [event["text"] for event in events if event["event"] == "note"] == ["a tear-down failed: still busy"]
    assert [event["outcome"] for event in events if event["event"] == "done"] == ["passed"]
    assert unflake.end(agent) == 0


def test_the_same_test_again_after_itself(project):
    unflake = project(
        """
        import pytest

        @pytest.fixture(scope="session")
        def served():
            return []

        def test_once(served):
            served.append(1)
            assert len(served) == 1
        """
    )
    agent = unflake.ready()
    assert agent.outcomes(0, hold=True) == ["passed"]
    assert agent.outcomes(0, hold=True) == ["failed"]
    assert agent.outcomes(0, again=1, hold=True) == ["failed", "failed"]


def test_a_fixture_that_failed_stays_failed_as_between_neighbours(project):
    unflake = project(
        """
        import pytest
        tries = []

        @pytest.fixture(scope="module")
        def service():
            tries.append(1)
            raise RuntimeError("no answer %d" % len(tries))

        def test_a(service): pass
        def test_b(service): pass
        """
    )
    agent = unflake.ready()
    assert agent.run(0, hold=True)[0]["failure"]["message"].endswith("no answer 1")
    assert agent.run(1)[0]["failure"]["message"].endswith("no answer 1")
    assert agent.run(1)[0]["failure"]["message"].endswith("no answer 2")


def test_threads_of_what_is_held_forbid_copies(project):
    unflake = project(
        """
        import threading, pytest

        @pytest.fixture(scope="session")
        def server():
            stop = threading.Event()
            thread = threading.Thread(target=stop.wait, name="server")
            thread.start()
            yield
            stop.set()
            thread.join()

        def test_a(server): pass
        def test_b(): pass
        """
    )
    agent = unflake.ready()
    agent.run(0, hold=True)
    agent.order("fork", environment=1)
    assert "server" in agent.event("unforkable")["why"]
    agent.run(1)
    unflake.fork(agent, 2)
