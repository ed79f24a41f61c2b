import json
import os
import sys
import tempfile
import textwrap

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from driver import Unflake  # noqa: E402


def pytest_addoption(parser):
    parser.addoption("--record", action="store_true", help="write the golden transcripts anew")


@pytest.fixture
def project():
    """Makes a project of files, and starts pytest with the agent in it: project({"test_a.py": "…"}, "-q")."""
    started = []

    # Not tmp_path: a path to a socket must be short.
    with tempfile.TemporaryDirectory(prefix="uf") as directory:

        def start(files, *args, **options):
            if isinstance(files, str):
                files = {"test_it.py": files}
            for name, text in files.items():
                path = os.path.join(directory, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                if isinstance(text, str):
                    text = textwrap.dedent(text).encode("utf-8", "surrogatepass")
                with open(path, "wb") as file:
                    file.write(text)
            started.append(Unflake(os.path.realpath(directory), *args, **options))
            return started[-1]

        start.directory = os.path.realpath(directory)
        yield start
        for unflake in started:
            unflake.close()


@pytest.fixture
def depends(project):
    """Runs tests by number, all in one process; what the last one depended on."""

    def run(files, *tests, args=(), mode={"UNFLAKE_DEPENDENCIES": "file"}, forked=False, outcome="passed", **options):
        unflake = project(files, *args, variables=dict(mode, **options.pop("variables", {})), **options)
        agent = first = unflake.ready()
        if forked:
            agent = unflake.fork(agent, 5)
        done = agent.run(*(tests or (0,)))
        assert done[-1]["outcome"] == outcome, done[-1]
        with open(done[-1]["dependencies"]) as file:
            told = json.load(file)
        assert told["root"] == project.directory and told["format"] == 1
        if not forked:
            unflake.end(first)
        return told

    run.directory = project.directory
    return run


@pytest.fixture
def traced(project):
    """Starts pytest in a project so that its attempts are traced: natively or in Python."""
    from traces import NATIVE, Traced

    def start(files, way="python", mode="lines", forked=False, variables={}, **options):
        told = dict(variables, UNFLAKE_TRACED=mode, UNFLAKE_TRACER="python" if way == "python" else NATIVE)
        return Traced(project(files, variables=told, **options), forked)

    return start


@pytest.fixture
def looked(project):
    """Starts pytest in a project so that it is told what its attempts look like at some layers."""
    from sheets import Looked

    def start(files, layers, *args, forked=False, variables={}, **options):
        unflake = project(files, *args, variables=dict(variables, UNFLAKE_LAYERS=layers), **options)
        connection = unflake.ready()
        return Looked(unflake, unflake.fork(connection, 5) if forked else connection)

    return start


@pytest.fixture
def asserted(project):
    """Runs a test by its number with the instrument; what it told of its assertions."""
    from asserted import LAYER, Told

    def run(files, test=0, outcome="passed", args=(), **options):
        unflake = project(files, *args, variables=dict(LAYER, **options.pop("variables", {})), **options)
        agent = unflake.ready()
        done = agent.run(test)[0]
        assert done["outcome"] == outcome, done
        unflake.end(agent)
        return Told(done)

    return run
