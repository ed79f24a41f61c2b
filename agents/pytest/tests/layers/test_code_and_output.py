"""The layers `code` and `interface` without a browser: lines, output, and their file."""

import os
import signal
import sys

import pytest
import layer_reader
from trace_reader import NATIVE_TRACER

# From Python 3.12 on there is only one.
TRACERS = [None] if hasattr(sys, "monitoring") else ["python"] + ([NATIVE_TRACER] if NATIVE_TRACER else [])


@pytest.fixture(params=TRACERS, ids=str)
def with_code(layered, request):
    """Records lines, with every tracer that is available."""

    def start(files, *args, layers="code", **options):
        return layered(files, layers, *args, variables={"UNFLAKE_TRACER": request.param} if request.param else {}, **options)

    return start


SHOP = {
    "shop.py": """
        def price(n):
            if n > 10:
                return n - 1
            return n

        def numbers(n):
            for i in range(n):
                yield i

        class Till:
            def total(self): return sum(numbers(3))
        """,
    "test_shop.py": """
        import threading
        import pytest
        import shop

        @pytest.fixture
        def till():
            yield shop.Till()
            left = True

        def test_small(till):
            assert shop.price(3) == 3
            assert till.total() == 3

        def test_large():
            thread = threading.Thread(target=shop.price, args=(30,))
            thread.start()
            thread.join()

        def test_fails():
            assert shop.price(3) == 4
        """,
}


def test_lines_of_all_phases_and_threads(with_code):
    agent = with_code(SHOP)
    small = {"shop.py": [3, 5, 8, 9, 12], "test_shop.py": [8, 9, 12, 13]}
    large = {"shop.py": [3, 4], "test_shop.py": [16, 17, 18]}
    for _ in range(3):
        assert agent.run(0).lines() == small
        assert agent.run(1).lines() == large
    assert agent.run(2, "failed").lines() == {"shop.py": [3, 5], "test_shop.py": [21]}


def test_fork_records_the_same_lines(with_code):
    agent = with_code(SHOP, forked=True)
    assert agent.run(1).lines() == {"shop.py": [3, 4], "test_shop.py": [16, 17, 18]}


def test_without_the_variable_nothing_is_recorded(project):
    unflake = project(SHOP)
    (done,) = unflake.ready().run(0)
    assert "layers" not in done and not [name for name in os.listdir(unflake.side) if name.startswith("layers")]


@pytest.mark.skipif(hasattr(sys, "monitoring"), reason="sys.monitoring is beside sys.settrace")
def test_another_active_tracer_is_a_gap(with_code):
    files = {"conftest.py": "import sys\nsys.settrace(lambda *_: None)\n", "test_it.py": "def test():\n    pass\n"}
    file = with_code(files).run()
    assert file.lines() == {} and "another tracer is active (conftest)" in file.gaps("code")[0]


@pytest.mark.skipif(hasattr(sys, "monitoring"), reason="sys.monitoring is beside sys.settrace")
def test_test_that_sets_a_tracer_leaves_a_gap(with_code):
    taken = with_code("import sys\n\ndef test():\n    sys.settrace(None)\n").run()
    assert taken.lines() == {"test_it.py": [4]} and "another tracer started" in taken.gaps("code")[0]


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="sys.monitoring only")
def test_freed_monitoring_tool_leaves_a_gap(layered):
    given = "import sys\n\ndef test():\n    for tool in range(6):\n        sys.monitoring.free_tool_id(tool)\n"
    assert "another tool" in layered(given, "code").run().gaps("code")[0]


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="sys.monitoring only")
def test_monitoring_tools_of_profilers_and_debuggers_stay_free(layered):
    source = """
    import cProfile, sys

    def work():
        return 1

    def test():
        profile = cProfile.Profile()
        assert profile.runcall(work) == 1
        for tool in (sys.monitoring.DEBUGGER_ID, sys.monitoring.COVERAGE_ID, sys.monitoring.PROFILER_ID):
            sys.monitoring.use_tool_id(tool, "mine")
            sys.monitoring.free_tool_id(tool)
    """
    assert layered(source, "code,behaviour").run().lines() == {"test_it.py": [5, 8, 9, 10, 11, 12]}


WRITING_TESTS = """
import sys
import pytest

@pytest.fixture
def noisy():
    print("set up")
    yield
    print("torn down")

def test_writes(noisy):
    print("called")
    sys.stderr.write("oh \\udc80\\n")

def test_reads(capsys):
    print("mine")
    assert capsys.readouterr().out == "mine\\n"
    print("rest")

def test_is_silent():
    pass
"""


def test_output_of_a_test(layered):
    agent = layered(WRITING_TESTS, "interface")
    written = agent.run(0)
    assert written.output("stdout") == ["set up\ncalled\ntorn down\n"]
    assert len(written.output("stderr")) == 1 and written.output("stderr")[0].startswith("oh ")
    assert agent.run(1).output("stdout") == ["mine\n", "rest\n"]
    assert agent.run(2).of("out") == []


def test_output_of_programs_that_a_test_runs(layered):
    files = {
        "tool.py": "import subprocess, sys\n\ndef version():\n"
        "    return subprocess.check_output([sys.executable, '-c', 'print(3)'])\n",
        "test_it.py": """
        import subprocess, sys, tool

        def test():
            ran = subprocess.run([sys.executable, "-c", "import sys; print(1); sys.stderr.write('no')"], stdout=-1, stderr=-1)
            assert ran.stdout == b"1\\n"
            assert tool.version() == b"3\\n"
        """,
    }
    file = layered(files, "interface").run()
    assert (file.output("stdout"), file.output("stderr")) == (["1\n"], ["no"])


def test_long_output_is_shortened(layered):
    agent = layered("def test():\n    print('x' * 5000)\n", "interface", limit=100)
    assert "characters left out" in agent.run().output("stdout")[0]


def test_too_much_output_is_cut_with_a_gap(layered):
    source = "def test(capsys):\n    for _ in range(700):\n        print('x' * 150_000)\n        capsys.readouterr()\n    print('end')\n"
    file = layered(source, "interface", limit=150_000).run()
    assert 300 < len(file.output("stdout")) < 500 and "64 MiB" in file.gaps("interface")[0]
    assert file.all[-1][0] == "gap"


def test_uncaptured_output_is_a_gap(layered):
    file = layered(WRITING_TESTS, "interface", "-s").run(0)
    assert file.of("out") == [] and "-s" in file.gaps("interface")[0]


def test_survives_closed_descriptors(with_code):
    source = "import os\n\ndef test():\n    os.closerange(100, 4000)\n    a = 1\n\ndef test_other():\n    a = 2\n"
    agent = with_code(source)
    agent.connection.order("run", tests=[0, 1], again=0)
    connection = agent.unflake.accept()
    done = [event for event in agent.connection.remaining() + connection.until("idle") if event["event"] == "done"]
    assert [layer_reader.LayerFile(one["layers"]).lines() for one in done] == [{"test_it.py": [4, 5]}, {"test_it.py": [8]}]


def test_survives_patched_modules(with_code):
    source = """
    import json, os

    def test(monkeypatch):
        with monkeypatch.context() as until_pytest_reads_the_output:
            for name in ("open", "write", "close", "fstat", "getpid"):
                until_pytest_reads_the_output.delattr(os, name)
            until_pytest_reads_the_output.delattr(json, "JSONEncoder")
            x = 1
    """
    assert with_code(source).run().lines() == {"test_it.py": [5, 6, 7, 8, 9]}


def test_fork_in_a_test_writes_nothing(with_code):
    source = """
    import os

    def test():
        pid = os.fork()
        if not pid:
            os._exit(0)
        os.waitpid(pid, 0)
    """
    file = with_code(source).run()
    assert file.lines() == {"test_it.py": [5, 6, 8]} and "forked" in file.gaps("code")[0]
    assert len(file.of("gap")) == 1


def test_file_of_a_killed_process_exists(layered):
    agent = layered("import os, signal\n\ndef test():\n    os.kill(os.getpid(), signal.SIGKILL)\n", "code,interface")
    agent.connection.order("run", tests=[0], again=0)
    assert agent.unflake.wait() == -signal.SIGKILL
    (name,) = [name for name in os.listdir(agent.unflake.side) if name.startswith("layers-")]
    assert name == "layers-%d-1" % agent.unflake.process.pid
    assert layer_reader.LayerFile(os.path.join(agent.unflake.side, name)).all == [["format", 1]]


def test_every_attempt_has_its_own_file(with_code):
    agent = with_code("def test():\n    assert False\n")
    agent.connection.order("run", tests=[0], again=1)
    done = [event for event in agent.connection.until("idle") if event["event"] == "done"]
    assert [os.path.basename(one["layers"]).rpartition("-")[2] for one in done] == ["1", "2"]


def test_long_loops_and_many_threads(with_code):
    source = """
    import threading

    def work(n):
        for i in range(20_000):
            n += i
        return n

    def never():
        return 1

    def test():
        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert work(0)
    """
    agent = with_code(source)
    for _ in range(2):
        assert agent.run().lines() == {"test_it.py": [5, 6, 7, 13, 14, 15, 16, 17, 18]}
