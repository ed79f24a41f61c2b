"""Tests that are hard to observe: each passes under plain pytest."""

import _thread
import asyncio
import bdb
import contextlib
import faulthandler
import gc
import importlib
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import traceback

import pytest

import awkward


def child_status(work):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = work()
        finally:
            os._exit(code)
    return os.WEXITSTATUS(os.waitpid(pid, 0)[1])


def put(queue, value):
    queue.put(awkward.double(value))


def test_fork():
    assert child_status(lambda: awkward.double(21)) == 42


def test_fork_of_a_fork():
    assert child_status(lambda: child_status(lambda: awkward.double(3)) + 1) == 7


def test_fork_from_a_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(child_status(lambda: awkward.double(4))))
    thread.start()
    thread.join()
    assert found == [8]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(method):
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    process = context.Process(target=put, args=(queue, 5))
    process.start()
    assert queue.get(timeout=60) == 10
    process.join()
    assert process.exitcode == 0


def test_pool():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(awkward.double, range(5)) == [0, 2, 4, 6, 8]


def test_threads():
    found = []
    threads = [threading.Thread(target=lambda n=n: found.append(awkward.double(n))) for n in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert sorted(found) == list(range(0, 16, 2))


def test_raw_thread():
    done = _thread.allocate_lock()
    done.acquire()
    found = []

    def work():
        found.append(awkward.double(7))
        done.release()

    _thread.start_new_thread(work, ())
    assert done.acquire(timeout=30) and found == [14]


def test_daemon_thread_goes_on():
    begun = threading.Event()

    def work():
        begun.set()
        while True:
            awkward.double(1)
            time.sleep(0.001)

    threading.Thread(target=work, daemon=True).start()
    assert begun.wait(30)


def test_exec_in_a_child():
    def work():
        os.execv(sys.executable, [sys.executable, "-c", "import sys; sys.exit(9)"])

    assert child_status(work) == 9


def test_exit_without_clean_up():
    code = "import os, awkward; awkward.double(2); os._exit(awkward.double(3))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 6


def test_own_settrace():
    seen = []

    def trace(frame, event, argument):
        if event == "call" and frame.f_code.co_name == "double":
            seen.append(frame.f_lineno)
        return None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        awkward.double(1)
    finally:
        sys.settrace(before)
    assert len(seen) == 1


def test_own_setprofile():
    seen = []
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, argument: seen.append(event) if frame.f_code.co_name == "double" else None)
    try:
        awkward.double(1)
    finally:
        sys.setprofile(before)
    assert seen == ["call", "return"]


def test_settrace_for_threads():
    seen = []
    before = threading.gettrace() if hasattr(threading, "gettrace") else None
    threading.settrace(lambda frame, event, argument: seen.append(event))
    try:
        thread = threading.Thread(target=awkward.double, args=(1,))
        thread.start()
        thread.join()
    finally:
        threading.settrace(before)
    assert "call" in seen


def test_debugger():
    lines = []

    class Debugger(bdb.Bdb):
        def user_line(self, frame):
            if frame.f_code.co_name == "double":
                lines.append(frame.f_lineno)
            self.set_step()

    Debugger().runcall(awkward.double, 2)
    assert lines


def test_coverage_at_the_same_time():
    coverage = pytest.importorskip("coverage")
    measured = coverage.Coverage(data_file=None, include=["*awkward.py"])
    measured.start()
    try:
        importlib.reload(awkward)
        assert awkward.double(4) == 8
    finally:
        measured.stop()
    assert measured.get_data().measured_files()


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="before Python 3.12")
def test_own_monitoring():
    tool, seen = sys.monitoring.DEBUGGER_ID, []
    sys.monitoring.use_tool_id(tool, "own")
    try:
        sys.monitoring.register_callback(tool, sys.monitoring.events.PY_START, lambda code, offset: seen.append(code.co_name))
        sys.monitoring.set_events(tool, sys.monitoring.events.PY_START)
        awkward.double(1)
        sys.monitoring.set_events(tool, 0)
    finally:
        sys.monitoring.free_tool_id(tool)
    assert "double" in seen


def test_subinterpreter():
    interpreters = pytest.importorskip("_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters")
    one = interpreters.create()
    try:
        interpreters.run_string(one, "x = sum(range(10))")
    finally:
        interpreters.destroy(one)


def test_gevent():
    gevent = pytest.importorskip("gevent")
    found = []

    def work(n):
        gevent.sleep(0.001)
        found.append(awkward.double(n))

    gevent.joinall([gevent.spawn(work, n) for n in range(4)])
    assert sorted(found) == [0, 2, 4, 6]


def test_greenlet():
    greenlet = pytest.importorskip("greenlet")

    def work(n):
        back = greenlet.getcurrent().parent.switch(awkward.double(n))
        return awkward.double(back)

    one = greenlet.greenlet(work)
    assert (one.switch(2), one.switch(3)) == (4, 6)


def test_asyncio():
    async def work():
        return await asyncio.gather(*[awkward.later(n) for n in range(5)])

    assert asyncio.run(work()) == [0, 2, 4, 6, 8]


def test_deep_recursion():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + 1500)
    try:
        assert awkward.depth(limit + 1000) == limit + 1000
    finally:
        sys.setrecursionlimit(limit)


def test_endless_recursion():
    with pytest.raises(RecursionError):
        awkward.endless(0)
    assert awkward.double(1) == 2


def test_recursion_up_to_the_limit():
    def reached():
        depth = 0

        def deeper():
            nonlocal depth
            depth += 1
            deeper()

        with contextlib.suppress(RecursionError):
            deeper()
        return depth

    # Before Python 3.12 a tracer takes a few frames until it has seen all lines.
    assert abs(reached() - reached()) < 10
    assert reached() > sys.getrecursionlimit() - 200


def test_signal_handler():
    found = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: found.append(awkward.double(number)))
    try:
        os.kill(os.getpid(), signal.SIGUSR1)
        for _ in range(1000):
            if found:
                break
            time.sleep(0.001)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert found == [2 * signal.SIGUSR1]


def test_stack_and_frames():
    frames = awkward.stack()
    assert [frame.name for frame in frames[-2:]] == ["test_stack_and_frames", "stack"]
    try:
        awkward.fails()
    except ValueError as error:
        assert [frame.name for frame in traceback.extract_tb(error.__traceback__)] == ["test_stack_and_frames", "fails"]


def test_locals_and_references():
    one = awkward.Thing()
    before = sys.getrefcount(one)
    awkward.hold(one)
    assert sys.getrefcount(one) == before
    assert awkward.own_locals(3) == {"n": 3, "other": 6}


def test_finalizer_runs_at_once():
    found = []
    one = awkward.Thing()
    one.bye = lambda: found.append(1)
    awkward.hold(one)
    del one
    assert found == [1]


def test_generators_and_exceptions():
    assert list(awkward.numbers(3)) == [0, 1, 2]
    running = awkward.numbers(3)
    next(running)
    running.close()
    with pytest.raises(ZeroDivisionError):
        awkward.divides(0)


def test_hostile_object():
    assert awkward.takes(awkward.Hostile()) is None


def test_closes_foreign_descriptors():
    def work():
        os.closerange(3, 256)
        return awkward.double(4)

    assert child_status(work) == 8


def test_many_objects_and_collection():
    for n in range(1000):
        awkward.hold([n])
    assert gc.collect() >= 0


def test_faulthandler_is_usable():
    faulthandler.is_enabled()
    faulthandler.cancel_dump_traceback_later()


def test_working_directory_and_environment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    assert awkward.double(1) == 2


def test_patched_modules(monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 0.0)
    monkeypatch.setattr(os, "write", None)
    monkeypatch.setattr(os, "open", None)
    monkeypatch.setattr(threading, "settrace", None)
    assert awkward.double(2) == 4
