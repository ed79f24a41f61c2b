"""Ordered traces of lines: threads and tasks, limits, forks, and both tracers."""

import os
import signal
import sys

import pytest

import trace_reader
from trace_reader import NATIVE_TRACER, TRACERS


@pytest.fixture(params=TRACERS)
def tracer(request):
    return request.param


THREADS_AND_TASKS = """
import asyncio, threading

def work(found, n):
    for i in range(n):
        found.append(i)

async def child(found, n):
    await asyncio.sleep(0)
    found.append(n)
    await asyncio.sleep(0)
    return n

async def main(found):
    await asyncio.gather(child(found, 1), child(found, 2))

def test():
    found = []
    for n in (2, 3):
        thread = threading.Thread(target=work, args=(found, n))
        thread.start()
        thread.join()
    asyncio.run(main(found))
"""


def test_equal_runs_have_equal_traces(traced, tracer):
    agent = traced(THREADS_AND_TASKS, tracer=tracer)
    first = agent.trace(0)
    assert set(first.threads) - {"loading"} == {"MainThread"} | set(first.names_starting_with("Thread", 2)) | {
        "task main",
        "task child",
        "task child 1",
    }
    assert first.lines("task child") == [9, 10, 11, 12]
    assert first.lines("MainThread")[:3] == [18, 19, 20]
    for _ in range(19):
        other = agent.trace(0)
        assert {name: lines for name, lines in first.threads.items() if name != "loading"} == other.threads


CONTROL_FLOW = """
import contextlib

def numbers(n):
    for i in range(n):
        got = yield i

def deep(n):
    if n:
        return deep(n - 1)
    raise ValueError(n)

@contextlib.contextmanager
def around():
    try:
        yield 1
    finally:
        left = True

def test():
    total = sum(numbers(2))
    squares = [
        n * n
        for n in numbers(2)
    ]
    try:
        deep(2)
    except ValueError as error:
        total += 1
    with around() as one:
        total += one
    while total > 3:
        total -= 1
    words = ",".join(str(n) for n in squares)
"""


def test_generators_exceptions_and_recursion(traced, tracer):
    lines = traced(CONTROL_FLOW, tracer=tracer).trace(0).lines("MainThread")
    assert lines[0:6] == [21, 5, 6, 5, 6, 5]
    raised = lines.index(27)
    assert lines[raised : raised + 9] == [27, 9, 10, 9, 10, 9, 11, 28, 29]
    assert [line for line in lines if line in (16, 18, 31)] == [16, 31, 18]


@pytest.mark.skipif(not NATIVE_TRACER, reason="no native tracer for this Python")
def test_all_tracers_see_the_same(traced):
    for source in (THREADS_AND_TASKS, CONTROL_FLOW):
        native = traced(source, tracer="native").trace(0)
        python = traced(source, tracer="python").trace(0)
        assert native.threads == python.threads
        assert native.tracer != python.tracer


def test_installed_code_is_not_traced(traced, tracer):
    trace = traced("import json\n\ndef test():\n    json.loads('[1]')\n", tracer=tracer).trace(0)
    assert trace.threads == {"loading": [1, 3], "MainThread": [4]}


def test_set_up_and_tear_down_are_traced_and_loading_only_once(traced, tracer):
    source = """
    import pytest

    @pytest.fixture
    def thing():
        yield 1
        gone = True

    def test(thing):
        assert thing
    """
    agent = traced(source, tracer=tracer)
    assert agent.trace(0).lines("MainThread") == [6, 10, 7]
    assert agent.trace(0).threads == {"MainThread": [6, 10, 7]}


def test_fork_has_no_loading(traced, tracer):
    assert traced("def test():\n    pass\n", tracer=tracer, forked=True).trace(0).threads == {"MainThread": [2]}


def test_trace_of_a_killed_test_is_kept(traced, tracer):
    source = "import os, signal\n\ndef test():\n    x = 1\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    agent = traced(source, tracer=tracer)
    agent.die(0)
    assert agent.unflake.wait() == -signal.SIGKILL
    trace = trace_reader.Trace(agent.only_directory())
    assert trace.lines("MainThread") == [4, 5]
    assert not trace.headers["MainThread"].ended


def test_limits_are_recorded_with_the_dropped_events(traced, tracer):
    source = "def test():\n    for i in range(100):\n        i += 1\n"
    trace = traced(source, tracer=tracer, variables={"UNFLAKE_TRACE_THREAD_EVENTS": "50"}).trace(0)
    header = trace.headers["MainThread"]
    assert len(trace.lines("MainThread")) == 50
    assert (header.truncated, header.dropped) == (1, 2 * 100 + 1 - 50)
    trace = traced(source, tracer=tracer, variables={"UNFLAKE_TRACE_EVENTS": "60"}).trace(0)
    assert sum(map(len, trace.threads.values())) == 60
    assert trace.headers["MainThread"].truncated == 2


def test_long_trace_grows(traced, tracer):
    source = "def test():\n    for i in range(60_000):\n        i += 1\n"
    assert len(traced(source, tracer=tracer).trace(0).lines("MainThread")) == 120_001


def test_fork_in_a_test_is_a_process_of_its_own(traced, tracer):
    source = """
    import os

    def test():
        pid = os.fork()
        if not pid:
            child = True
            os._exit(0)
        os.waitpid(pid, 0)
    """
    agent = traced(source, tracer=tracer)
    trace, child = agent.processes(0)
    assert trace.lines("MainThread") == [5, 6, 9]
    assert child.lines("MainThread") == [6, 7, 8]
    assert child.facts["forked"].split()[2:4] == ["main", "0"]


def test_thread_that_outlives_its_test_has_not_ended(traced, tracer):
    source = """
    import threading

    def wait(began, event):
        began.set()
        event.wait()

    def test():
        began = threading.Event()
        threading.Thread(target=wait, args=(began, threading.Event()), daemon=True).start()
        began.wait()
    """
    trace = traced(source, tracer=tracer).trace(0)
    (name,) = trace.names_starting_with("Thread", 1)
    assert trace.lines(name) == [5, 6]
    assert not trace.headers[name].ended and trace.headers["MainThread"].ended


def test_thread_numbers_start_anew_with_each_attempt(traced, tracer):
    source = """
    import threading

    def work():
        pass

    def test():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    """
    agent = traced(source, tracer=tracer)
    first = agent.trace(0)
    second = agent.trace(0)
    assert set(second.threads) == set(first.threads) - {"loading"} and len(second.threads) == 2


@pytest.mark.skipif(hasattr(sys, "monitoring"), reason="sys.monitoring is beside sys.settrace")
def test_test_that_sets_a_tracer_truncates_the_trace(traced, tracer):
    source = "import sys\n\ndef test():\n    x = 1\n    sys.settrace(None)\n    x = 2\n"
    trace = traced(source, tracer=tracer).trace(0)
    assert trace.lines("MainThread")[:2] == [4, 5]
    assert trace.headers["MainThread"].truncated == 4


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="they share sys.settrace")
def test_test_that_sets_a_tracer_is_still_traced(traced, tracer):
    source = "import sys\n\ndef test():\n    sys.settrace(lambda *_: None)\n    x = 2\n    sys.settrace(None)\n    x = 3\n"
    assert traced(source, tracer=tracer).trace(0).lines("MainThread") == [4, 5, 6, 7]


@pytest.mark.skipif(hasattr(sys, "monitoring"), reason="sys.monitoring is beside sys.settrace")
def test_another_active_tracer_is_a_note(traced, tracer):
    files = {"conftest.py": "import sys\nsys.settrace(lambda *_: None)\n", "test_it.py": "def test():\n    pass\n"}
    agent = traced(files, tracer=tracer)
    agent.connection.order("run", tests=[0], again=0)
    events = agent.connection.until("idle")
    assert "trace" not in [event for event in events if event["event"] == "done"][0]
    assert any("another tracer" in event.get("text", "") for event in events)


def test_installed_copy_of_a_project_package_is_project_code(traced, tracer):
    package = "def answer():\n    return 42\n"
    installed = "env/lib/site-packages/pack/__init__.py"
    files = {"src/pack/__init__.py": package, installed: package, "test_it.py": ""}
    files["test_it.py"] = (
        "import os, sys\nsys.path.insert(0, os.path.dirname(os.path.dirname(os.path.join(os.path.dirname(__file__), %r))))\n"
        "import pack\n\ndef test():\n    assert pack.answer() == 42\n" % installed
    )
    trace = traced(files, tracer=tracer).trace(0)
    assert trace.files("MainThread") == ["test_it.py", "src/pack/__init__.py"]


def test_nothing_is_written_outside_of_the_side_directory(traced, tracer):
    agent = traced("def test():\n    pass\n", tracer=tracer)
    agent.trace(0)
    assert sorted(os.listdir(agent.unflake.directory)) in (["s", "side", "test_it.py"], ["__pycache__", "s", "side", "test_it.py"])
