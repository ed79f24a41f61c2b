"""A value that is forced at a line: in forks, in threads, in attributes, and in plain pytest."""

import os
import shutil
import subprocess
import sys

import pytest
from driver import AGENT

TESTS = """\
import random
import threading

class Dice:
    def roll(self):
        self.number = random.random()
        return self.number

def draw(seen):
    number = random.random()
    seen.append(number)

def test_local():
    seen = []
    draw(seen)
    assert seen == [0.5]

def test_thread():
    seen = []
    thread = threading.Thread(target=draw, args=(seen,))
    thread.start()
    thread.join()
    assert seen == [0.5]

def test_attribute():
    assert Dice().roll() == "six"

def test_stops_tracing():
    import sys
    sys.settrace(None)
"""
LOCAL = "test_it.py:10:number=0.5"


def forced(setting):
    return {"UNFLAKE_FORCED_VALUE": setting}


def outcomes(done):
    return [one["outcome"] for one in done]


def test_a_local_variable_is_forced_in_every_thread_and_fork(project):
    unflake = project(TESTS, variables=forced(LOCAL))
    agent = unflake.ready()
    assert outcomes(unflake.fork(agent, 5).run(0, 1)) == ["passed", "passed"]
    assert outcomes(agent.run(3, 0, 1)) == ["passed", "passed", "passed"]


def test_an_attribute_is_forced(project):
    unflake = project(TESTS, variables=forced("test_it.py:6:self.number='six'"))
    assert outcomes(unflake.ready().run(2, 0)) == ["passed", "failed"]


def test_another_line_and_another_file_are_left_alone(project):
    for setting in "test_it.py:11:number=0.5", "other_test_it.py:10:number=0.5":
        unflake = project(TESTS, variables=forced(setting))
        assert outcomes(unflake.ready().run(0)) == ["failed"]


@pytest.mark.parametrize("setting, code", [(LOCAL, 0), ("test_it.py:10:number=0.25", 1)])
def test_plain_pytest_forces_it_too(project, tmp_path, setting, code):
    project(TESTS)
    package = tmp_path / "files" / "unflake_world"
    package.mkdir(parents=True)
    shutil.copy(os.path.join(AGENT, "unflake_world", "__init__.py"), str(package))
    for part in "core", "common", "schedule":
        shutil.copytree(os.path.join(AGENT, "unflake_agent", part), str(package / part))
    variables = dict(os.environ, PYTHONPATH=str(tmp_path / "files"), PYTEST_PLUGINS="unflake_world", **forced(setting))
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_it.py::test_local"]
    assert subprocess.call(command, cwd=str(project.directory), env=variables, stdout=subprocess.DEVNULL) == code
