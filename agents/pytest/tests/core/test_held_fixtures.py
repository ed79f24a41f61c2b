"""`run` with `hold`: fixtures of wider scopes stay set up for the next order."""

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


def read_log(unflake):
    path = os.path.join(unflake.directory, "log")
    with open(path) as file:
        entries = file.read().split()
    os.unlink(path)
    return entries


@pytest.mark.parametrize("second", range(6))
def test_two_orders_with_hold_do_what_one_order_does(project, second):
    unflake = project(FILES)
    agent = unflake.ready()
    assert agent.outcomes(0, second) == ["passed"] * 2
    expected = read_log(unflake)
    assert agent.outcomes(0, hold=True) == ["passed"]
    fork = unflake.fork(agent, 1)
    held = read_log(unflake)
    assert held == expected[: len(held)] and held[-1] == "-function"
    assert agent.outcomes(second) == ["passed"]
    assert held + read_log(unflake) == expected
    assert fork.outcomes(second, hold=True) == ["passed"]
    remaining = read_log(unflake)
    assert held + remaining == expected[: len(held + remaining)] and "-session" not in remaining


def test_held_fixtures_are_torn_down_at_the_end(project):
    unflake = project(FILES)
    agent = unflake.ready()
    agent.run(0, hold=True)
    fork = unflake.fork(agent, 1)
    read_log(unflake)
    fork.order("end")
    assert fork.remaining() == [{"event": "bye"}]
    assert not os.path.exists(os.path.join(unflake.directory, "log"))  # A fork tears nothing down.
    assert unflake.end(agent) == 0
    assert read_log(unflake) == ["-class", "-module", "-package", "-session"]


def test_process_without_reports_tears_down_at_the_end(project):
    unflake = project(FILES, reports="no")
    agent = unflake.ready()
    agent.run(0, hold=True)
    read_log(unflake)
    unflake.end(agent)
    assert read_log(unflake) == ["-class", "-module", "-package", "-session"]


def test_failing_tear_down_of_a_held_fixture_is_a_note(project):
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


def test_same_test_again_after_hold(project):
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


def test_failed_fixture_stays_failed_as_between_neighbours(project):
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


def test_threads_of_held_fixtures_prevent_a_fork(project):
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
