"""Ordered traces: lines, strands, limits, and the ways to see them."""

import os
import signal
import sys

import pytest

import traces
from traces import NATIVE, WAYS


@pytest.fixture(params=WAYS)
def way(request):
    return request.param


STRANDS = """
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


def test_equal_runs_have_equal_traces(traced, way):
    agent = traced(STRANDS, way=way)
    first = agent.trace(0)
    assert set(first.strands) - {"loading"} == {"MainThread"} | set(first.names("Thread", 2)) | {
        "task main",
        "task child",
        "task child 1",
    }
    assert first.lines("task child") == [9, 10, 11, 12]
    assert first.lines("MainThread")[:3] == [18, 19, 20]
    for _ in range(19):
        again = agent.trace(0)
        assert {name: lines for name, lines in first.strands.items() if name != "loading"} == again.strands


LINES = """
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


def test_generators_exceptions_and_recursion(traced, way):
    lines = traced(LINES, way=way).trace(0).lines("MainThread")
    assert lines[0:6] == [21, 5, 6, 5, 6, 5]
    raised = lines.index(27)
    assert lines[raised : raised + 9] == [27, 9, 10, 9, 10, 9, 11, 28, 29]
    assert [line for line in lines if line in (16, 18, 31)] == [16, 31, 18]


@pytest.mark.skipif(not NATIVE, reason="no native tracer for this Python")
def test_all_ways_see_the_same(traced):
    for source in (STRANDS, LINES):
        native = traced(source, way="native").trace(0)
        python = traced(source, way="python").trace(0)
        assert native.strands == python.strands
        assert native.tracer != python.tracer


def test_what_is_installed_is_not_told(traced, way):
    trace = traced("import json\n\ndef test():\n    json.loads('[1]')\n", way=way).trace(0)
    assert trace.strands == {"loading": [1, 3], "MainThread": [4]}


def test_set_up_and_tear_down_are_told_and_later_attempts_have_no_loading(traced, way):
    source = """
    import pytest

    @pytest.fixture
    def thing():
        yield 1
        gone = True

    def test(thing):
        assert thing
    """
    agent = traced(source, way=way)
    assert agent.trace(0).lines("MainThread") == [6, 10, 7]
    assert agent.trace(0).strands == {"MainThread": [6, 10, 7]}


def test_a_copy_has_no_loading(traced, way):
    assert traced("def test():\n    pass\n", way=way, forked=True).trace(0).strands == {"MainThread": [2]}


def test_what_a_killed_test_did_is_kept(traced, way):
    source = "import os, signal\n\ndef test():\n    x = 1\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    agent = traced(source, way=way)
    agent.die(0)
    assert agent.unflake.wait() == -signal.SIGKILL
    trace = traces.Trace(agent.only_directory())
    assert trace.lines("MainThread") == [4, 5]
    assert not trace.heads["MainThread"].ended


def test_a_limit_is_said_with_how_much_is_missing(traced, way):
    source = "def test():\n    for i in range(100):\n        i += 1\n"
    trace = traced(source, way=way, variables={"UNFLAKE_TRACE_THREAD_EVENTS": "50"}).trace(0)
    head = trace.heads["MainThread"]
    assert len(trace.lines("MainThread")) == 50
    assert (head.truncated, head.dropped) == (1, 2 * 100 + 1 - 50)
    trace = traced(source, way=way, variables={"UNFLAKE_TRACE_EVENTS": "60"}).trace(0)
    assert sum(map(len, trace.strands.values())) == 60
    assert trace.heads["MainThread"].truncated == 2


def test_a_long_trace_grows(traced, way):
    source = "def test():\n    for i in range(60_000):\n        i += 1\n"
    assert len(traced(source, way=way).trace(0).lines("MainThread")) == 120_001


def test_a_fork_goes_on_as_a_process_of_its_own(traced, way):
    source = """
    import os

    def test():
        pid = os.fork()
        if not pid:
            child = True
            os._exit(0)
        os.waitpid(pid, 0)
    """
    agent = traced(source, way=way)
    trace, copy = agent.parts(0)
    assert trace.lines("MainThread") == [5, 6, 9]
    assert copy.lines("MainThread") == [6, 7, 8]
    assert copy.facts["forked"].split()[2:4] == ["main", "0"]


def test_a_thread_that_goes_on_has_not_ended(traced, way):
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
    trace = traced(source, way=way).trace(0)
    (name,) = trace.names("Thread", 1)
    assert trace.lines(name) == [5, 6]
    assert not trace.heads[name].ended and trace.heads["MainThread"].ended


def test_numbers_of_threads_begin_anew_with_each_attempt(traced, way):
    source = """
    import threading

    def work():
        pass

    def test():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    """
    agent = traced(source, way=way)
    first = agent.trace(0)
    second = agent.trace(0)
    assert set(second.strands) == set(first.strands) - {"loading"} and len(second.strands) == 2


@pytest.mark.skipif(hasattr(sys, "monitoring"), reason="sys.monitoring is beside sys.settrace")
def test_a_test_that_traces_takes_over(traced, way):
    source = "import sys\n\ndef test():\n    x = 1\n    sys.settrace(None)\n    x = 2\n"
    trace = traced(source, way=way).trace(0)
    assert trace.lines("MainThread")[:2] == [4, 5]
    assert trace.heads["MainThread"].truncated == 4


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="they share sys.settrace")
def test_a_test_that_traces_is_traced_all_the_same(traced, way):
    source = "import sys\n\ndef test():\n    sys.settrace(lambda *_: None)\n    x = 2\n    sys.settrace(None)\n    x = 3\n"
    assert traced(source, way=way).trace(0).lines("MainThread") == [4, 5, 6, 7]


@pytest.mark.skipif(hasattr(sys, "monitoring"), reason="sys.monitoring is beside sys.settrace")
def test_beside_another_tracer_nothing_is_told_but_why(traced, way):
    files = {"conftest.py": "import sys\nsys.settrace(lambda *_: None)\n", "test_it.py": "def test():\n    pass\n"}
    agent = traced(files, way=way)
    agent.connection.order("run", tests=[0], again=0)
    events = agent.connection.until("idle")
    assert "trace" not in [event for event in events if event["event"] == "done"][0]
    assert any("another tracer" in event.get("text", "") for event in events)


def test_packages_of_the_project_that_are_installed_are_its_own(traced, way):
    package = "def answer():\n    return 42\n"
    installed = "env/lib/site-packages/pack/__init__.py"
    files = {"src/pack/__init__.py": package, installed: package, "test_it.py": ""}
    files["test_it.py"] = (
        "import os, sys\nsys.path.insert(0, os.path.dirname(os.path.dirname(os.path.join(os.path.dirname(__file__), %r))))\n"
        "import pack\n\ndef test():\n    assert pack.answer() == 42\n" % installed
    )
    trace = traced(files, way=way).trace(0)
    assert trace.files("MainThread") == ["test_it.py", "src/pack/__init__.py"]


def test_the_side_directory_holds_everything(traced, way):
    agent = traced("def test():\n    pass\n", way=way)
    agent.trace(0)
    assert sorted(os.listdir(agent.unflake.directory)) in (["s", "side", "test_it.py"], ["__pycache__", "s", "side", "test_it.py"])
