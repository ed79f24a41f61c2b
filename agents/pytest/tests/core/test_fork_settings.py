"""Settings that a fork has and the process that was forked has not: schedules, and forced values."""

from race import RACE, WRITE

TESTS = """\
import concurrent.futures
import time
from time import sleep

def test_sleep():
    began = time.monotonic()
    sleep(0.01)
    assert time.monotonic() - began > 0.4

def test_value():
    value = 1
    assert value == 2

def test_future():
    try:
        concurrent.futures.Future().result(timeout=30)
    except concurrent.futures.TimeoutError:
        pass
"""
LINES = TESTS.split("\n")
SLEEP = 1 + LINES.index("    sleep(0.01)")
VALUE = 1 + LINES.index("    value = 1")
RESULT = 1 + LINES.index("        concurrent.futures.Future().result(timeout=30)")
SLEEPS, SETS, WAITS = range(3)


def outcomes(project, test, settings, tests=TESTS):
    """Without and with these settings, and without them once more, in forks of one process."""
    unflake = project(tests)
    agent = unflake.ready()
    forks = [unflake.fork(agent, 5 + at, **fields) for at, fields in enumerate(({}, {"settings": settings}, {}))]
    return [fork.run(test)[0]["outcome"] for fork in forks]


def test_a_wait_is_forced_under_the_name_that_a_module_gave_it(project):
    assert outcomes(project, SLEEPS, {"forced_value": "test_it.py:%d:wait()=+1" % SLEEP}) == ["failed", "passed", "failed"]


def test_a_value_is_forced(project):
    assert outcomes(project, SETS, {"forced_value": "test_it.py:%d:value=2" % VALUE}) == ["failed", "passed", "failed"]


def test_an_exception_of_a_forced_wait_is_no_error_of_the_agent(project):
    unflake = project(TESTS)
    settings = {"forced_value": "test_it.py:%d:wait()=0" % RESULT}
    assert unflake.fork(unflake.ready(), 5, settings=settings).run(WAITS)[0]["outcome"] == "passed"


def test_threads_are_delayed_in_the_order_of_a_schedule(project):
    hold = "hold=test_it.py:%d@ask-1 after test_it.py:%d@ask-2" % (WRITE, WRITE)
    assert outcomes(project, 0, {"under": hold}, RACE) == ["passed", "failed", "passed"]


def test_a_fork_says_where_it_delayed_threads(project):
    unflake = project(RACE)
    fork = unflake.fork(unflake.ready(), 5, settings={"under": "delay-at=test_it.py:%d" % WRITE})
    assert fork.run(0)[-1].get("delays")
