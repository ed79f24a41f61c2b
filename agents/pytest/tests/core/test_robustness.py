"""The agent survives the code that it watches."""

import os
import signal
import time

import pytest
from driver import ConnectionClosed

NEXT_TEST = "\ndef test_after(): pass\n"


@pytest.mark.parametrize(
    # "# pytest" marks harm to pytest itself: every later test is an error, which the agent reports.
    "harm",
    [
        "import time; time.perf_counter = time.time = lambda: 1/0",
        "import os; os.getpid = os.write = os.fstat = os.fork = os.close = None  # pytest",
        "import random; random.random = random.getstate = random.Random = None",
        "import builtins; builtins.open = lambda *a, **k: 1/0",
        "import json; json.dumps = json.loads = json.JSONEncoder = json.JSONDecoder = None",
        "import socket; socket.socket = socket.create_connection = None",
        "import sys; sys.stdout.close(); sys.stdout = None  # pytest",
        "import os; os.closerange(3, 256)  # pytest",
        "import os; [os.close(n) for n in map(int, os.listdir('/proc/self/fd')) if n > 800 and os.path.exists('/proc/self/fd/%d' % n)]",
        "import gc, _socket; [s.close() for s in gc.get_objects() if isinstance(s, _socket.socket) and s.family == 1]",
        "import signal; [signal.signal(n, signal.SIG_DFL) for n in (signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)]",
        "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))",
        "import os; os.environ.clear()",
        "import os, tempfile; os.chdir(tempfile.mkdtemp())",
        "import sys; [sys.modules.pop(name) for name in list(sys.modules) if name.startswith('unflake')]",
        "import sys; sys.setrecursionlimit(200)",
        "import os\n    pid = os.fork()\n    if pid == 0: os._exit(0)\n    os.waitpid(pid, 0)",
        "raise KeyboardInterrupt",
        "raise SystemExit(0)",
        "raise GeneratorExit",
    ],
    ids=lambda harm: harm.replace("\n", ";")[:60],
)
def test_agent_survives(project, harm):
    if "/proc" in harm and not os.path.exists("/proc/self/fd"):
        pytest.skip("no /proc")
    unflake = project("def test_harm():\n    %s\n%s" % (harm, NEXT_TEST), "-p", "no:faulthandler")
    agent = unflake.ready()
    for order in ([0], [1, 1]):
        agent.order("run", tests=order, again=0)
        try:
            agent.until("idle")
        except ConnectionClosed:
            # It has connected again; pending events come on the new connection.
            agent = unflake.accept()
            assert agent.hello["environment"] == 0
            agent.until("idle")
    done = [event for event in agent.events if event["event"] == "done"]
    outcomes = {event["outcome"] for event in done[-2:]}
    assert outcomes == {"passed"} or "# pytest" in harm
    assert done[-1]["seconds"] < 1
    child = unflake.fork(agent, 1)
    assert child.outcomes(1) == ["passed"] or "# pytest" in harm


def test_functions_replaced_in_all_modules(project):
    agent = project(
        """
        import sys, time, os, random

        def freeze():
            real = {id(f) for f in (time.time, time.perf_counter, time.monotonic, os.write, os.fstat, os.getpid, os.fork)}
            for module in list(sys.modules.values()):
                if module in (time, os):
                    continue
                for name in dir(module):
                    try:
                        if id(getattr(module, name)) in real:
                            setattr(module, name, lambda *a: 0)
                    except Exception:
                        pass

        def test_freeze(): freeze()
        def test_sleep(): time.sleep(0.05)
        """
    ).ready()
    done = agent.run(0, 1)
    assert [event["outcome"] for event in done] == ["passed", "passed"]
    assert 0.05 <= done[1]["seconds"] < 5


def test_freezegun(project):
    pytest.importorskip("freezegun")
    agent = project(
        """
        import time
        from freezegun import freeze_time

        @freeze_time("2001-01-01")
        def test_frozen(): assert time.localtime().tm_year == 2001
        def test_sleep(): time.sleep(0.05)
        """
    ).ready()
    assert [0 <= done["seconds"] < 5 for done in agent.run(0, 1)] == [True, True]


def test_descriptor_replaced_by_another_file_is_not_written_to(project):
    unflake = project(
        """
        import os

        def test_steal():
            mine = os.open("mine", os.O_WRONLY | os.O_CREAT)
            for n in (900, 200, 10):
                try:
                    os.fstat(n)
                except OSError:
                    continue
                os.dup2(mine, n)
                break

        def test_after(): pass
        """
    )
    agent = unflake.ready()
    agent.order("run", tests=[0, 1], again=0)
    assert agent.remaining() == [{"event": "start", "n": 0, "run": 0}]
    reconnected = unflake.accept()
    assert [event["event"] for event in reconnected.until("idle")] == ["done", "start", "done", "idle"]
    assert reconnected.hello == dict(agent.hello, connection=1)
    assert os.path.getsize(os.path.join(unflake.directory, "mine")) == 0
    assert reconnected.outcomes(1) == ["passed"]
    assert unflake.end(reconnected) == 0


def test_child_that_returns_from_its_test_sends_nothing(project):
    unflake = project("import os\ndef test_fork(): os.fork()\ndef test_b(): pass")
    agent = unflake.ready()
    events = agent.events_of_run(0, 1)
    assert [event["event"] for event in events] == ["start", "done", "start", "done", "idle"]
    agent.order("end")
    assert agent.remaining()[-1] == {"event": "bye"}


@pytest.mark.parametrize("code, returned", [("os._exit(7)", 7), ("ctypes.string_at(0)", -11), ("os.kill(os.getpid(), 9)", -9)])
def test_death_of_the_process_names_its_test(project, code, returned):
    unflake = project("import os, ctypes\ndef test_a(): pass\ndef test_die():\n    %s\n" % code)
    agent = unflake.ready()
    agent.order("run", tests=[0, 1], again=0)
    assert agent.remaining()[-1] == {"event": "start", "n": 1, "run": 0}
    assert unflake.wait() == returned
    if returned == -11:
        with open(os.path.join(unflake.side, "stack-0")) as file:
            stack = file.read()
        assert "Segmentation fault" in stack and "in test_die" in stack


def test_death_of_a_fork_is_reaped(project):
    unflake = project("import ctypes\ndef test_die(): ctypes.string_at(0)\n")
    agent = unflake.ready()
    child = unflake.fork(agent, 4)
    child.order("run", tests=[0], again=0)
    assert child.remaining() == [{"event": "start", "n": 0, "run": 0}]
    agent.order("reap", environment=4)
    assert agent.event("reaped") == {"event": "reaped", "environment": 4, "signal": 11}
    with open(os.path.join(unflake.side, "stack-4")) as file:
        assert "in test_die" in file.read()


@pytest.mark.parametrize("forked", [False, True])
def test_stack_of_a_hanging_test(project, forked):
    unflake = project("import time\ndef test_hang():\n    time.sleep(100)\n")
    agent = unflake.ready()
    if forked:
        agent = unflake.fork(agent, 3)
    agent.order("run", tests=[0], again=0)
    agent.event("start")
    time.sleep(0.3)
    os.kill(agent.hello["pid"], agent.hello["stack_signal"])
    path = os.path.join(unflake.side, "stack-%d" % agent.environment)
    deadline = time.monotonic() + 5
    while "test_hang" not in open(path).read():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(agent.hello["pid"], signal.SIGKILL)


def test_long_texts_are_shortened_in_the_middle(project):
    agent = project(
        """
        import sys
        def test_message(): assert 0, "x" * 30_000_000
        def test_output():
            for _ in range(20): print("y" * 1_000_000)
            sys.stderr.write("\\x00\\udc80\\U0001f600" * 100_000)
            assert 0
        """,
        limit=5000,
    ).ready()
    message, output = agent.run(0, 1)
    assert len(message["failure"]["message"]) < 5100 and "characters left out" in message["failure"]["message"]
    assert len(message["failure"]["trace"]) < 5100
    assert output["stdout"].startswith("yyy") and "\n... 19995020 characters left out ...\n" in output["stdout"]
    assert len(output["stderr"]) < 5100 + 5 * 5000


def test_longest_texts_fit_a_line(project):
    agent = project(
        """
        import sys
        def test_a():
            print("\\x00" * 1_000_000)
            sys.stderr.write("\\x01" * 1_000_000)
            raise ValueError("\\x02" * 1_000_000)
        """,
        limit=10_000_000,
    ).ready()
    assert agent.outcomes(0) == ["failed"]


def test_invalid_unicode_is_escaped(project):
    agent = project('def test_a():\n    print("\\udcff")\n    raise ValueError("\\ud800 and \\U0001f600")\n', "-s").ready()
    (done,) = agent.run(0)
    assert done["outcome"] == "failed"
    agent = project('def test_a():\n    raise ValueError("\\ud800 and \\U0001f600")\n').ready()
    (done,) = agent.run(0)
    assert done["failure"]["message"] == "ValueError: \\ud800 and \U0001f600"


@pytest.mark.parametrize("capture", ["--capture=fd", "--capture=sys", "-s"])
def test_captured_output_is_sent_with_failures(project, capture):
    agent = project(
        """
        import os, sys, pytest
        @pytest.fixture
        def loud():
            print("set up")
            yield
            print("torn down")
        def test_a(loud):
            print("out")
            print("err", file=sys.stderr)
            os.write(1, b"raw\\n")
            assert 0
        def test_pass(): print("x")
        """,
        capture,
    ).ready()
    failed, passed = agent.run(0, 1)
    assert "stdout" not in passed
    if capture == "-s":
        assert "stdout" not in failed and "stderr" not in failed
    else:
        assert failed["stdout"].split() == ["set", "up", "out"] + ["raw"] * (capture == "--capture=fd") + ["torn", "down"]
        assert failed["stderr"] == "err\n"
