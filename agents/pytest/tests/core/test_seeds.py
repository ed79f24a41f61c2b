"""What tests draw in a world with a seed: in forks, after other tests, and in plain pytest."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from driver import AGENT

DRAWS = """
import random
at_import = random.random()

def test_first():
    random.random()

def test_draw():
    assert 0, [at_import, random.random()]
"""


def seeded(seed):
    return {"UNFLAKE_UNDER": "origins=1,2,3;random=%s;page=/nowhere" % seed}


def drawn(done):
    return re.search(r"AssertionError: (\[.*\])", done[-1]["failure"]["message"]).group(1)


@pytest.fixture
def plain(project, tmp_path):
    """Runs plain pytest as `unflake under` does; what a test has drawn."""
    package = tmp_path / "files" / "unflake_world"
    package.mkdir(parents=True)
    shutil.copy(os.path.join(AGENT, "unflake_world", "__init__.py"), str(package))
    for part in "core", "common", "schedule":
        shutil.copytree(os.path.join(AGENT, "unflake_agent", part), str(package / part))

    def run(seed, *tests):
        variables = dict(os.environ, PYTHONPATH=str(tmp_path / "files"), PYTEST_PLUGINS="unflake_world", **seeded(seed))
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"] + list(tests)
        output = subprocess.run(command, cwd=project.directory, env=variables, stdout=subprocess.PIPE).stdout
        return re.search(r"AssertionError: (\[.*\])", output.decode()).group(1)

    return run


def test_a_seed_decides_what_a_test_draws_wherever_it_runs(project, plain):
    unflake = project(DRAWS, variables=seeded(4))
    agent = unflake.ready()
    alone = drawn(unflake.fork(agent, 5).run(1))
    assert drawn(unflake.fork(agent, 6).run(1)) == alone
    assert drawn(unflake.fork(agent, 7).run(0, 1)) == alone
    assert drawn(agent.run(0, 0, 1)) == alone
    assert plain(4, "test_it.py::test_draw") == plain(4) == alone
    assert plain(5) != alone


def test_without_a_seed_every_process_draws(project):
    unflake = project(DRAWS)
    agent = unflake.ready()
    assert drawn(unflake.fork(agent, 5).run(1)) != drawn(unflake.fork(agent, 6).run(1))


@pytest.mark.parametrize("module", ["random", "numpy.random"])
def test_a_seed_of_the_project_stays(project, module):
    pytest.importorskip(module)
    tests = "import %s as r\nr.seed(3)\nfirst = r.random(); r.seed(3)\ndef test_draw(): assert 0, [first == r.random()]"
    for seed in 4, 5:
        unflake = project(tests % module, variables=seeded(seed))
        assert drawn(unflake.fork(unflake.ready(), 5).run(0)) == "[True]"


def test_numpy_draws_by_the_seed(project):
    pytest.importorskip("numpy")
    tests = "import numpy.random\ndef test_draw(): assert 0, [numpy.random.random()]"
    draws = []
    for seed in 4, 4, 5:
        unflake = project(tests, variables=seeded(seed))
        draws.append(drawn(unflake.fork(unflake.ready(), 5).run(0)))
    assert draws[0] == draws[1] != draws[2]


# As these libraries keep their generators.
FAKER = """
import random
mod_random = random.Random()
%s
"""
HYPOTHESIS = "global_force_seed = %s"
LIBRARIES = """
import faker.generator, hypothesis.core
def test_draw(): assert 0, [faker.generator.mod_random.random(), hypothesis.core.global_force_seed]
"""


def test_faker_and_hypothesis_draw_by_the_seed_unless_the_project_seeds_them(project):
    def draw(seed, is_seeded, force):
        faker = FAKER % ("mod_random.seed(3)" if is_seeded else "")
        files = {"faker/__init__.py": "", "faker/generator.py": faker, "hypothesis/core.py": HYPOTHESIS % force}
        files.update({"hypothesis/__init__.py": "", "test_it.py": LIBRARIES})
        unflake = project(files, variables=seeded(seed))
        return eval(drawn(unflake.fork(unflake.ready(), 5).run(0)))

    first = draw(4, False, None)
    assert draw(4, False, None) == first
    other = draw(5, False, None)
    assert first[0] != other[0] and first[1] != other[1]
    assert draw(4, True, 99)[1] == 99
    assert draw(4, True, 99)[0] == draw(5, True, 99)[0]


RANDOMLY = """
default_seed = 77
def pytest_addoption(parser):
    parser.addoption("--randomly-seed", default="default", dest="randomly_seed")
"""


def test_pytest_randomly_gets_a_seed_unless_the_user_gives_one(project):
    def seed(world, *arguments):
        tests = "def test_draw(request): assert 0, [request.config.option.randomly_seed]"
        files = {"pytest_randomly.py": RANDOMLY, "test_it.py": tests}
        arguments = ("-p", "pytest_randomly") + arguments
        unflake = project(files, *arguments, variables=dict(seeded(world), PYTHONPATH=project.directory))
        return eval(drawn(unflake.ready().run(0)))[0]

    assert seed(4) == seed(4) != seed(5)
    assert seed(4, "--randomly-seed", "12") == "12"
