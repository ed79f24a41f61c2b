"""Forks of a process that has collected its tests."""

import os
import re
import subprocess
import sys

import pytest
from driver import AGENT


def test_fork_runs_tests_and_its_own_fork_inherits_its_state(project):
    unflake = project(
        """
        seen = []

        def test_first():
            seen.append(1)

        def test_second():
            assert seen == [1]
        """
    )
    agent = unflake.ready()
    child = unflake.fork(agent, 7)
    assert (child.hello["environment"], child.hello["parent"]) == (7, 0)
    assert child.hello["pid"] == agent.forked["pid"] != agent.hello["pid"]
    assert child.outcomes(0) == ["passed"]
    grandchild = unflake.fork(child, 8)
    assert grandchild.hello["parent"] == 7
    assert grandchild.outcomes(1) == ["passed"]
    assert agent.outcomes(1) == ["failed"]
    assert child.outcomes(1, 0, 1) == ["passed", "passed", "failed"]
    grandchild.order("end")
    assert grandchild.remaining() == [{"event": "bye"}]
    child.order("reap", environment=8)
    assert child.event("reaped") == {"event": "reaped", "environment": 8, "exit": 0}
    child.order("end")
    assert child.remaining() == [{"event": "bye"}]
    agent.order("reap", environment=7)
    assert agent.event("reaped") == {"event": "reaped", "environment": 7, "exit": 0}
    agent.order("reap", environment=99)
    assert agent.event("reaped") == {"event": "reaped", "environment": 99}
    assert unflake.end(agent) == 1


def test_forks_capture_output_separately(project):
    unflake = project(
        """
        import time
        def test_a():
            for n in range(200):
                print("a%d" % n)
                time.sleep(0.0005)
            assert 0
        """
    )
    agent = unflake.ready()
    children = [unflake.fork(agent, n) for n in (1, 2, 3)]
    for one in [agent] + children:
        one.order("run", tests=[0], again=1)
    expected = "".join("a%d\n" % n for n in range(200))
    for one in [agent] + children:
        assert [event["stdout"] == expected for event in one.until("idle") if event["event"] == "done"] == [True, True]
    for child in children:
        child.order("end")
        child.remaining()
    assert unflake.end(agent) == 1
    assert unflake.output.count("test_it.py") < 12  # Forks do not write to the progress display.


def test_forks_have_separate_tmp_paths(project):
    unflake = project("def test_a(tmp_path):\n    (tmp_path / 'x').mkdir()\n    assert 0, str(tmp_path)")
    agent = unflake.ready()
    children = [unflake.fork(agent, n) for n in (1, 2)]
    for child in children:
        child.order("run", tests=[0], again=1)
    done = [event for child in children for event in child.until("idle") if event["event"] == "done"]
    messages = {event["failure"]["message"].split("\n")[0] for event in done}
    assert len(messages) == 4 and not [message for message in messages if "FileExists" in message]


@pytest.mark.parametrize(
    "start, named",
    [
        ("threading.Thread(target=time.sleep, args=(60,), daemon=True, name='pump').start()", "pump"),
        ("_thread.start_new_thread(time.sleep, (60,))", "without a name"),
    ],
)
def test_live_threads_prevent_a_fork(project, start, named):
    unflake = project(
        """
        import _thread, threading, time
        def test_start():
            %s
            time.sleep(0.05)
        """
        % start
    )
    agent = unflake.ready()
    assert agent.ready["unforkable"] is None
    agent.run(0)
    agent.order("fork", environment=2)
    answer = agent.next()
    assert answer["event"] == "unforkable" and answer["environment"] == 2
    assert "threads are alive" in answer["why"] and named in answer["why"]
    assert agent.outcomes(0) == ["passed"]


def test_threads_started_by_collection_are_reported_in_ready(project):
    agent = project(
        """
        import threading, time
        threading.Thread(target=time.sleep, args=(60,), daemon=True, name="pump").start()
        def test_a(): pass
        """
    ).ready()
    assert agent.ready["unforkable"] == "threads are alive: pump"


def draw(agent, test=0):
    return agent.run(test)[0]["failure"]["message"].split("\n")[0]


@pytest.mark.parametrize(
    "setup, is_same",
    [
        ("", False),
        ("random.random()", False),
        ("[random.random() for _ in range(5000)]", False),
        ("random.seed(5)", True),
        ("random.seed(5); [random.random() for _ in range(5000)]", True),
        ("random.setstate(random.Random('x').getstate())", True),
    ],
)
def test_python_randomness_in_forks(project, setup, is_same):
    unflake = project("import random\n%s\ndef test_draw(): assert 0, random.random()" % setup)
    agent = unflake.ready()
    children = [unflake.fork(agent, n) for n in (1, 2)]
    children.append(unflake.fork(children[0], 3))
    draws = {draw(one) for one in children + [agent]}
    assert len(draws) == (1 if is_same else 4)


@pytest.mark.parametrize(
    "made, is_same",
    [
        ("random.Random()", False),
        ("random.Random(None)", False),
        ("random.Random(5)", True),
        ("random.Random(); own.seed(5)", True),
        ("random.Random(5); own.seed()", False),
        ("random.Random(); own.setstate(random.Random(5).getstate())", True),
        ("type('Own', (random.Random,), {})()", False),
        ("random.Random(); own.random()", False),
    ],
)
def test_generators_of_imported_modules_in_forks(project, made, is_same):
    tests = """
        import random
        watched = random.Random.seed
        own = %s
        def test_draw():
            assert random.Random.seed is not watched  # It is put back.
            assert 0, own.random()
        def test_seed(): own.seed(7)
    """
    unflake = project(tests % made, reports="no")
    agent = unflake.ready()
    children = [unflake.fork(agent, n) for n in (1, 2)]
    children.append(unflake.fork(children[0], 3))
    assert len({draw(one) for one in children}) == (1 if is_same else 3)
    seeded = unflake.fork(agent, 4)
    seeded.run(1)
    assert len({draw(unflake.fork(seeded, n)) for n in (5, 6)}) == 1


def test_first_pass_does_not_watch_generators(project):
    tests = """
        import random
        watched = random.Random.seed
        def test_it(): assert random.Random.seed is watched
    """
    unflake = project(tests)
    assert unflake.ready().run(0)[-1]["outcome"] == "passed"


@pytest.mark.parametrize("made, is_same", [("", False), ("5", True), ("'a text'", True), ("2**9000", True)])
def test_generators_of_plugins_in_forks(project, made, is_same):
    files = {
        "own_plugin.py": "import random\nown = random.Random(%s)" % made,
        "test_it.py": "import own_plugin\ndef test_draw(): assert 0, own_plugin.own.random()",
    }
    unflake = project(files, "-p", "own_plugin", reports="no", variables={"PYTHONPATH": project.directory})
    agent = unflake.ready()
    children = [unflake.fork(agent, n) for n in (1, 2)]
    assert len({draw(one) for one in children}) == (1 if is_same else 2)


@pytest.mark.parametrize(
    "setup, is_same",
    [
        ("", False),
        ("numpy.random.random(5000)", False),
        ("numpy.random.seed(5)", True),
        ("numpy.random.seed(5); numpy.random.random(5000)", True),
    ],
)
def test_numpy_randomness_in_forks(project, setup, is_same):
    pytest.importorskip("numpy")
    unflake = project("import numpy, numpy.random\n%s\ndef test_draw(): assert 0, numpy.random.random()" % setup)
    agent = unflake.ready()
    assert agent.ready["unforkable"] is None
    children = [unflake.fork(agent, n) for n in (1, 2)]
    children.append(unflake.fork(children[0], 3))
    assert len({draw(one) for one in children + [agent]}) == (1 if is_same else 4)


@pytest.mark.parametrize(
    "made, is_same",
    [
        ("default_rng()", False),
        ("default_rng(5)", True),
        ("default_rng(340282366920938463463374607431768211455)", True),  # As long as drawn entropy.
        ("default_rng(); own.random(7)", False),
        ("default_rng(); own.bit_generator.state = numpy.random.PCG64(5).state", True),
        ("RandomState()", False),
        ("RandomState(5)", True),
        ("RandomState(); own.random_sample(5000)", False),
        ("RandomState(); own.seed(5)", True),
        ("Generator(numpy.random.Philox())", False),
        ("Generator(numpy.random.SFC64())", False),
        ("default_rng(numpy.random.SeedSequence().spawn(2)[1])", False),
        ("default_rng(numpy.random.SeedSequence(5).spawn(2)[1])", True),
    ],
)
def test_numpy_generators_of_imported_modules_in_forks(project, made, is_same):
    pytest.importorskip("numpy")
    tests = """
        import numpy.random, random
        watched = random._urandom
        own = numpy.random.%s
        def test_draw():
            assert random._urandom is not watched  # It is put back.
            assert 0, own.uniform(size=3)
        def test_seed(): own.uniform()
    """
    unflake = project(tests % made, reports="no")
    agent = unflake.ready()
    children = [unflake.fork(agent, n) for n in (1, 2)]
    children.append(unflake.fork(children[0], 3))
    draws = {draw(one) for one in children}
    assert len(draws) == (1 if is_same else 3), draws


def test_numpy_generators_that_a_fork_spawns(project):
    pytest.importorskip("numpy")
    tests = """
        import numpy.random
        seeds = numpy.random.SeedSequence()
        own = numpy.random.default_rng()
        def test_draw(): assert 0, numpy.random.default_rng(seeds.spawn(1)[0]).random()
        def test_child(): assert 0, own.bit_generator.seed_seq.spawn(1)[0].generate_state(1)
    """
    unflake = project(tests, reports="no")
    agent = unflake.ready()
    for test in (0, 1):
        children = [unflake.fork(agent, 3 * test + n) for n in (1, 2, 3)]
        assert len({draw(one, test) for one in children}) == 3


def test_fork_leads_a_process_group_and_writes_no_reports(project):
    unflake = project("def test_a(): pass", "--junitxml=report.xml")
    agent = unflake.ready()
    child = unflake.fork(agent, 1)
    assert os.getpgid(child.hello["pid"]) == child.hello["pid"]
    child.run(0)
    child.order("end")
    assert child.remaining() == [{"event": "bye"}]
    assert not os.path.exists(os.path.join(unflake.directory, "report.xml"))


def test_fork_exits_when_its_connection_closes(project):
    unflake = project("def test_a(): pass")
    agent = unflake.ready()
    child = unflake.fork(agent, 1)
    child.close()
    agent.order("reap", environment=1)
    assert agent.event("reaped") == {"event": "reaped", "environment": 1, "exit": 1}


LONG = """
import pytest

def deeper(value):
    if value:
        try:
            raise ValueError(
                "no: %s"
                % value,
            )
        finally:
            value = None

# A comment of no test.

class TestIt:
    @pytest.mark.parametrize(
        "value",
        [1, 2],
    )
    def test_a(self, value):
        '''With a
        long text.'''

        deeper(
            value
        )

    @pytest.fixture
    def broken(self):
        assert [
            1,
            2,
        ] == [1]

    def test_b(self, broken):
        pass

def test_last():
    for n in range(3):
        assert n < 2, (
            n)
    else:
        pass
    # The end."""


@pytest.mark.parametrize("style", ["long", "short", "auto", "native"])
def test_failure_text_does_not_depend_on_files_parsed_by_the_fork_server(project, style):
    unflake = project({"test_it.py": LONG}, "--tb=" + style, reports="no")
    agent = unflake.ready()
    tests = range(len(agent.ids))
    agents = [unflake.fork(agent, n) for n in (1, 2, 3)] + [agent]  # Parsed before the second fork.
    failures_by_agent = []
    for one in agents:
        failures = [done["failure"] for done in one.run(*tests)]
        failures_by_agent.append([dict(failure, trace=re.sub("0x[0-9a-f]+", "0x", failure["trace"])) for failure in failures])
    assert len(failures_by_agent[0]) == 4 and failures_by_agent[0] == failures_by_agent[1] == failures_by_agent[2] == failures_by_agent[3]


def test_forks_do_not_parse_files_that_the_fork_server_parsed(project):
    unflake = project(
        """
        import ast, os
        parse = ast.parse
        def noted(text, *args, **named):
            if "def noted" in text:  # And not only the lines that are shown.
                os.mkdir("parsed-by-%d" % os.getpid())
            return parse(text, *args, **named)
        def test_a():
            ast.parse = noted
            assert 0
        """,
        reports="no",
    )
    agent = unflake.ready()
    children = [unflake.fork(agent, n) for n in (1, 2, 3)]
    traces = [child.run(0)[0]["failure"]["trace"] for child in children]
    assert traces[0] == traces[1] == traces[2] and "def test_a" in traces[0]
    parsed = [name for name in os.listdir(unflake.directory) if name.startswith("parsed-by")]
    assert parsed == ["parsed-by-%d" % children[0].hello["pid"]]


def test_file_changed_after_parsing_is_shown_as_it_is(project):
    unflake = project("def test_a():\n    assert 0, 'old'\n", reports="no")
    agent = unflake.ready()
    unflake.fork(agent, 1)
    child = unflake.fork(agent, 2)
    with open(os.path.join(unflake.directory, "test_it.py"), "w") as file:
        file.write("def test_a():\n    assert 0, 'something new'\n")
    assert "something new" in child.run(0)[0]["failure"]["trace"]


def test_fork_server_with_many_files_parses_none(project):
    files = {"test_%d.py" % n: "def test_a():\n    assert 0\n" for n in range(17)}
    files["conftest.py"] = """
        import linecache
        def pytest_runtest_setup(item):
            print(sorted(name for name in linecache.cache if "test_0.py" in name))
        """
    unflake = project(files, reports="no")
    agent = unflake.ready()
    unflake.fork(agent, 1)
    assert unflake.fork(agent, 2).run(0)[0]["stdout"] == "[]\n"


@pytest.mark.parametrize("capture", ["fd", "sys", "tee-sys", "no"])
def test_capture_modes_in_forks(project, capture):
    unflake = project(
        """
        import os, sys
        def test_a():
            print("printed")
            print("warned", file=sys.stderr)
            os.write(1, b"below\\n")
            assert 0
        """,
        "--capture=" + capture,
        reports="no",
    )
    agent = unflake.ready()
    children = [unflake.fork(agent, n) for n in (1, 2)]
    children.append(unflake.fork(children[0], 3))
    below = "below\n" if capture == "fd" else ""
    for child in children:
        for done in child.run(0, again=1):
            if capture == "no":
                assert "stdout" not in done
            else:
                assert (done["stdout"], done["stderr"]) == ("printed\n" + below, "warned\n")


def test_output_before_the_fork_is_not_the_childs(project):
    unflake = project(
        {
            "conftest.py": """
                import os
                def pytest_collection_modifyitems(config):
                    capture = config.pluginmanager.getplugin("capturemanager")
                    capture.resume_global_capture()
                    os.write(1, b"while collecting\\n")
                    capture.suspend_global_capture()
                """,
            "test_it.py": "def test_a():\n    print('printed')\n    assert 0",
        },
        reports="no",
    )
    agent = unflake.ready()
    assert unflake.fork(agent, 1).run(0)[0]["stdout"] == "printed\n"


def test_capture_file_replaced_by_a_test_is_left_alone(project):
    unflake = project(
        """
        import os
        def test_take(request):
            capture = request.config.pluginmanager.getplugin("capturemanager")._global_capturing
            with open("mine", "w") as mine:
                pass
            os.dup2(os.open("mine", os.O_RDWR), capture.err.tmpfile.fileno())
        def test_write():
            os.write(2, b"x")
        """,
        reports="no",
    )
    agent = unflake.ready()
    child = unflake.fork(agent, 1)
    assert child.outcomes(0) == ["passed"]
    assert unflake.fork(child, 2).outcomes(1) == ["passed"]
    assert os.path.getsize(os.path.join(unflake.directory, "mine")) == 0


def test_joined_threads_do_not_prevent_a_fork():
    script = """
import threading
from unflake_agent.core.forks import Forker
forker, seen = Forker(), set()
for _ in range(500):
    threads = [threading.Thread(target=int) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    seen.add(forker.obstacle())
print(seen)
"""
    output = subprocess.run([sys.executable, "-c", script], cwd=AGENT, stdout=subprocess.PIPE, check=True).stdout
    assert output.decode().strip() == "{None}"


def test_forks_do_not_meet_in_shared_memory_but_their_children_do(project):
    unflake = project(
        """
        import mmap
        import multiprocessing

        fork = multiprocessing.get_context("fork")
        event, value, memory = fork.Event(), fork.Value("i", 5), mmap.mmap(-1, 4096)
        memory[0] = 7

        def test_event():
            assert not event.is_set()
            child = fork.Process(target=event.set)
            child.start()
            assert event.wait(30)
            child.join()

        def test_value():
            assert (value.value, memory[0]) == (5, 7)
            value.value = memory[0] = 9
        """
    )
    agent = unflake.ready()
    for environment in (1, 2):
        assert unflake.fork(agent, environment).outcomes(0, 1) == ["passed", "passed"]
    child = unflake.fork(agent, 3)
    assert child.outcomes(1) == ["passed"]
    assert unflake.fork(child, 4).outcomes(1) == ["failed"]
    assert child.outcomes(0) == ["passed"]


def test_memory_that_another_process_uses_stays_shared(project):
    unflake = project(
        """
        import multiprocessing

        fork = multiprocessing.get_context("fork")
        stop, stopped = fork.Event(), fork.Event()

        def serve():
            stop.wait(60)
            stopped.set()

        server = fork.Process(target=serve, daemon=True)
        server.start()

        def test_stop():
            stop.set()
            assert stopped.wait(30)
        """
    )
    assert unflake.fork(unflake.ready(), 1).outcomes(0) == ["passed"]
