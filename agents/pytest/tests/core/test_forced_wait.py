"""The length of waits that is forced at a line: sleeps and timeouts, of threads and tasks."""

import pytest

TESTS = """\
import asyncio
import queue
import threading
import time
from time import sleep

def seconds(wait):
    began = time.monotonic()
    wait()
    return time.monotonic() - began

def test_sleep():
    def brief():
        sleep(0.01)
    assert seconds(brief) > 0.4

def test_event():
    assert not threading.Event().wait(timeout=30)

def test_queue():
    try:
        queue.Queue().get(True, 30)
    except queue.Empty:
        pass

async def nap():
    await asyncio.sleep(30)

def test_task():
    asyncio.run(nap())

def test_no_timeout():
    thread = threading.Thread(target=seconds, args=(lambda: sleep(0.05),))
    thread.start()
    thread.join()
    assert not thread.is_alive()
"""


def outcome(project, setting, test, **variables):
    unflake = project(TESTS, variables=dict(variables, UNFLAKE_FORCED_VALUE=setting))
    agent = unflake.ready()
    return unflake.fork(agent, 5).run(test)[0]["outcome"]


@pytest.mark.parametrize("line, test", [(18, 1), (22, 2), (27, 3)])
def test_a_wait_ends_at_once(project, line, test):
    assert outcome(project, "test_it.py:%d:wait()=0" % line, test) == "passed"


def test_a_wait_lasts_longer_at_its_line_only(project):
    assert outcome(project, "test_it.py:14:wait()=+0.5", 0) == "passed"
    assert outcome(project, "test_it.py:13:wait()=+0.5", 0) == "failed"


def test_a_second_is_as_long_where_clocks_run_faster(project):
    # Without the shim the clocks run as usual, so that the test sees the longer wait.
    setting = "test_it.py:14:wait()=+0.05"
    assert outcome(project, setting, 0, UNFLAKE_UNDER="speed=10000000;page=1") == "passed"
    assert outcome(project, setting, 0) == "failed"


def test_a_wait_without_a_timeout_is_left_alone(project):
    assert outcome(project, "test_it.py:35:wait()=0", 4) == "passed"
