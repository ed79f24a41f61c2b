"""Copies of a collected process."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


def test_a_copy_runs_tests_and_a_copy_of_a_copy_keeps_what_it_did(project):
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
    assert grandchild.rest() == [{"event": "bye"}]
    child.order("reap", environment=8)
    assert child.event("reaped") == {"event": "reaped", "environment": 8, "exit": 0}
    child.order("end")
    assert child.rest() == [{"event": "bye"}]
    agent.order("reap", environment=7)
    assert agent.event("reaped") == {"event": "reaped", "environment": 7, "exit": 0}
    agent.order("reap", environment=99)
    assert agent.event("reaped") == {"event": "reaped", "environment": 99}
    assert unflake.end(agent) == 1


def test_output_of_copies_is_their_own(project):
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
        child.rest()
    assert unflake.end(agent) == 1
    assert unflake.out.count("test_it.py") < 12  # Copies do not write into the progress of the first process.


def test_copies_have_temporary_directories_of_their_own(project):
    unflake = project("def test_a(tmp_path):\n    (tmp_path / 'x').mkdir()\n    assert 0, str(tmp_path)")
    agent = unflake.ready()
    children = [unflake.fork(agent, n) for n in (1, 2)]
    for child in children:
        child.order("run", tests=[0], again=1)
    said = [event for child in children for event in child.until("idle") if event["event"] == "done"]
    messages = {event["failure"]["message"].split("\n")[0] for event in said}
    assert len(messages) == 4 and not [message for message in messages if "FileExists" in message]


@pytest.mark.parametrize(
    "start, named",
    [
        ("threading.Thread(target=time.sleep, args=(60,), daemon=True, name='pump').start()", "pump"),
        ("_thread.start_new_thread(time.sleep, (60,))", "without a name"),
    ],
)
def test_live_threads_forbid_a_copy(project, start, named):
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


def test_threads_that_collection_leaves_are_told_with_ready(project):
    agent = project(
        """
        import threading, time
        threading.Thread(target=time.sleep, args=(60,), daemon=True, name="pump").start()
        def test_a(): pass
        """
    ).ready()
    assert agent.ready["unforkable"] == "threads are alive: pump"


def drawn(agent):
    return agent.run(0)[0]["failure"]["message"].split("\n")[0]


@pytest.mark.parametrize(
    "before, same",
    [
        ("", False),
        ("random.random()", False),
        ("[random.random() for _ in range(5000)]", False),
        ("random.seed(5)", True),
        ("random.seed(5); [random.random() for _ in range(5000)]", True),
        ("random.setstate(random.Random('x').getstate())", True),
    ],
)
def test_randomness_of_python(project, before, same):
    unflake = project("import random\n%s\ndef test_draw(): assert 0, random.random()" % before)
    agent = unflake.ready()
    children = [unflake.fork(agent, n) for n in (1, 2)]
    children.append(unflake.fork(children[0], 3))
    numbers = {drawn(one) for one in children + [agent]}
    assert len(numbers) == (1 if same else 4)


@pytest.mark.parametrize(
    "before, same",
    [
        ("", False),
        ("numpy.random.random(5000)", False),
        ("numpy.random.seed(5)", True),
        ("numpy.random.seed(5); numpy.random.random(5000)", True),
    ],
)
def test_randomness_of_numpy(project, before, same):
    pytest.importorskip("numpy")
    unflake = project("import numpy, numpy.random\n%s\ndef test_draw(): assert 0, numpy.random.random()" % before)
    agent = unflake.ready()
    assert agent.ready["unforkable"] is None
    children = [unflake.fork(agent, n) for n in (1, 2)]
    children.append(unflake.fork(children[0], 3))
    assert len({drawn(one) for one in children + [agent]}) == (1 if same else 4)


def test_a_copy_has_its_own_process_group_and_leaves_without_reports(project):
    unflake = project("def test_a(): pass", "--junitxml=report.xml")
    agent = unflake.ready()
    child = unflake.fork(agent, 1)
    assert os.getpgid(child.hello["pid"]) == child.hello["pid"]
    child.run(0)
    child.order("end")
    assert child.rest() == [{"event": "bye"}]
    assert not os.path.exists(os.path.join(unflake.directory, "report.xml"))


def test_a_copy_leaves_when_its_connection_ends(project):
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

# A comment that belongs to nobody.

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
def test_what_copies_say_of_a_failure_does_not_depend_on_what_the_nursery_has_read(project, style):
    unflake = project({"test_it.py": LONG}, "--tb=" + style, reports="no")
    agent = unflake.ready()
    tests = range(len(agent.ids))
    everyone = [unflake.fork(agent, n) for n in (1, 2, 3)] + [agent]  # The file is read before the second copy.
    told = []
    for one in everyone:
        failures = [done["failure"] for done in one.run(*tests)]
        told.append([dict(failure, trace=re.sub("0x[0-9a-f]+", "0x", failure["trace"])) for failure in failures])
    assert len(told[0]) == 4 and told[0] == told[1] == told[2] == told[3]


def test_a_file_that_the_nursery_has_read_is_not_parsed_again(project):
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


def test_a_file_that_changes_after_the_nursery_has_read_it_is_shown_as_it_is(project):
    unflake = project("def test_a():\n    assert 0, 'old'\n", reports="no")
    agent = unflake.ready()
    unflake.fork(agent, 1)
    child = unflake.fork(agent, 2)
    with open(os.path.join(unflake.directory, "test_it.py"), "w") as file:
        file.write("def test_a():\n    assert 0, 'something new'\n")
    assert "something new" in child.run(0)[0]["failure"]["trace"]


def test_a_nursery_with_many_files_reads_none_of_them(project):
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
def test_every_way_to_capture_in_copies(project, capture):
    unflake = project(
        """
        import os, sys
        def test_a():
            print("said")
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
                assert (done["stdout"], done["stderr"]) == ("said\n" + below, "warned\n")


def test_what_was_said_before_a_copy_was_made_is_not_the_copys(project):
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
            "test_it.py": "def test_a():\n    print('said')\n    assert 0",
        },
        reports="no",
    )
    agent = unflake.ready()
    assert unflake.fork(agent, 1).run(0)[0]["stdout"] == "said\n"


def test_a_descriptor_that_a_test_took_over_from_pytest_is_left_alone(project):
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


def test_a_thread_that_was_joined_forbids_nothing():
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
    where = str(Path(__file__).resolve().parent.parent)
    said = subprocess.run([sys.executable, "-c", script], cwd=where, stdout=subprocess.PIPE, check=True).stdout
    assert said.decode().strip() == "{None}"
