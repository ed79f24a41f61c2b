"""What a run looked like: lines and output, and the file that tells it."""

import os
import signal
import sys

import pytest
import sheets
from traces import NATIVE

# From 3.12 on there is one way to see lines.
WAYS = [None] if hasattr(sys, "monitoring") else ["python"] + ([NATIVE] if NATIVE else [])


@pytest.fixture(params=WAYS, ids=str)
def code(looked, request):
    """Looks at lines, in every way that there is."""

    def start(files, *args, layers="code", **options):
        return looked(files, layers, *args, variables={"UNFLAKE_TRACER": request.param} if request.param else {}, **options)

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


def test_lines_of_the_project_from_set_up_to_tear_down_in_all_threads(code):
    agent = code(SHOP)
    small = {"shop.py": [3, 5, 8, 9, 12], "test_shop.py": [8, 9, 12, 13]}
    large = {"shop.py": [3, 4], "test_shop.py": [16, 17, 18]}
    for _ in range(3):
        assert agent.sheet(0).lines() == small
        assert agent.sheet(1).lines() == large
    assert agent.sheet(2, "failed").lines() == {"shop.py": [3, 5], "test_shop.py": [21]}


def test_a_copy_tells_the_same(code):
    agent = code(SHOP, forked=True)
    assert agent.sheet(1).lines() == {"shop.py": [3, 4], "test_shop.py": [16, 17, 18]}


def test_without_the_variable_nothing_is_told(project):
    unflake = project(SHOP)
    (done,) = unflake.ready().run(0)
    assert "layers" not in done and not [name for name in os.listdir(unflake.side) if name.startswith("layers")]


@pytest.mark.skipif(hasattr(sys, "monitoring"), reason="sys.monitoring is beside sys.settrace")
def test_beside_another_tracer_there_is_a_gap(code):
    files = {"conftest.py": "import sys\nsys.settrace(lambda *_: None)\n", "test_it.py": "def test():\n    pass\n"}
    sheet = code(files).sheet()
    assert sheet.lines() == {} and "another tracer is at work (conftest)" in sheet.gaps("code")[0]


@pytest.mark.skipif(hasattr(sys, "monitoring"), reason="sys.monitoring is beside sys.settrace")
def test_a_test_that_traces_leaves_a_gap(code):
    taken = code("import sys\n\ndef test():\n    sys.settrace(None)\n").sheet()
    assert taken.lines() == {"test_it.py": [4]} and "begun to trace" in taken.gaps("code")[0]


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="sys.monitoring only")
def test_whoever_takes_its_number_of_sys_monitoring_away_leaves_a_gap(looked):
    given = "import sys\n\ndef test():\n    for tool in range(6):\n        sys.monitoring.free_tool_id(tool)\n"
    assert "another tool" in looked(given, "code").sheet().gaps("code")[0]


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="sys.monitoring only")
def test_tests_find_the_numbers_of_profilers_and_debuggers_free(looked):
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
    assert looked(source, "code,behaviour").sheet().lines() == {"test_it.py": [5, 8, 9, 10, 11, 12]}


WRITES = """
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


def test_what_a_test_writes(looked):
    agent = looked(WRITES, "interface")
    written = agent.sheet(0)
    assert written.out("stdout") == ["set up\ncalled\ntorn down\n"]
    assert len(written.out("stderr")) == 1 and written.out("stderr")[0].startswith("oh ")
    assert agent.sheet(1).out("stdout") == ["mine\n", "rest\n"]
    assert agent.sheet(2).of("out") == []


def test_what_programs_write_that_a_test_runs(looked):
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
    sheet = looked(files, "interface").sheet()
    assert (sheet.out("stdout"), sheet.out("stderr")) == (["1\n"], ["no"])


def test_long_output_is_bounded(looked):
    agent = looked("def test():\n    print('x' * 5000)\n", "interface", limit=100)
    assert "characters left out" in agent.sheet().out("stdout")[0]


def test_what_is_far_too_much_is_cut_and_said(looked):
    source = "def test(capsys):\n    for _ in range(700):\n        print('x' * 150_000)\n        capsys.readouterr()\n    print('end')\n"
    sheet = looked(source, "interface", limit=150_000).sheet()
    assert 300 < len(sheet.out("stdout")) < 500 and "64 MiB" in sheet.gaps("interface")[0]
    assert sheet.all[-1][0] == "gap"


def test_output_that_is_not_captured_is_a_gap(looked):
    sheet = looked(WRITES, "interface", "-s").sheet(0)
    assert sheet.of("out") == [] and "-s" in sheet.gaps("interface")[0]


def test_it_survives_a_test_that_closes_descriptors(code):
    source = "import os\n\ndef test():\n    os.closerange(100, 4000)\n    a = 1\n\ndef test_other():\n    a = 2\n"
    agent = code(source)
    agent.connection.order("run", tests=[0, 1], again=0)
    connection = agent.unflake.accept()
    done = [event for event in agent.connection.rest() + connection.until("idle") if event["event"] == "done"]
    assert [sheets.Sheet(one["layers"]).lines() for one in done] == [{"test_it.py": [4, 5]}, {"test_it.py": [8]}]


def test_it_survives_patches(code):
    source = """
    import json, os

    def test(monkeypatch):
        for name in ("open", "write", "close", "fstat", "getpid"):
            monkeypatch.delattr(os, name)
        monkeypatch.delattr(json, "JSONEncoder")
        x = 1
    """
    assert code(source).sheet().lines() == {"test_it.py": [5, 6, 7, 8]}


def test_a_process_that_the_test_forks_off_has_no_say(code):
    source = """
    import os

    def test():
        pid = os.fork()
        if not pid:
            os._exit(0)
        os.waitpid(pid, 0)
    """
    sheet = code(source).sheet()
    assert sheet.lines() == {"test_it.py": [5, 6, 8]} and "forked" in sheet.gaps("code")[0]
    assert len(sheet.of("gap")) == 1


def test_of_a_process_that_dies_the_file_is_there(looked):
    agent = looked("import os, signal\n\ndef test():\n    os.kill(os.getpid(), signal.SIGKILL)\n", "code,interface")
    agent.connection.order("run", tests=[0], again=0)
    assert agent.unflake.wait() == -signal.SIGKILL
    (name,) = [name for name in os.listdir(agent.unflake.side) if name.startswith("layers-")]
    assert name == "layers-%d-1" % agent.unflake.process.pid
    assert sheets.Sheet(os.path.join(agent.unflake.side, name)).all == [["format", 1]]


def test_every_attempt_has_its_own(code):
    agent = code("def test():\n    assert False\n")
    agent.connection.order("run", tests=[0], again=1)
    done = [event for event in agent.connection.until("idle") if event["event"] == "done"]
    assert [os.path.basename(one["layers"]).rpartition("-")[2] for one in done] == ["1", "2"]


def test_long_loops_and_many_threads(code):
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
    agent = code(source)
    for _ in range(2):
        assert agent.sheet().lines() == {"test_it.py": [5, 6, 7, 13, 14, 15, 16, 17, 18]}
