"""Fixtures that start pytest with the agent in a temporary project."""

import json
import os
import sys
import tempfile
import textwrap

import pytest

TESTS = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = os.path.join(TESTS, "support"), os.path.dirname(TESTS)

from assertion_reader import LAYER, AssertionLog  # noqa: E402
from driver import FakeUnflake  # noqa: E402
from layer_reader import LayeredPytest  # noqa: E402
from state_session import StateSession  # noqa: E402


def pytest_addoption(parser):
    parser.addoption("--record", action="store_true", help="rewrite the recorded transcripts")


@pytest.fixture
def project():
    """Writes files and starts pytest with the agent there: project({"test_a.py": "…"}, "-q")."""
    started = []

    # Not tmp_path: the path of a socket must be short.
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
            started.append(FakeUnflake(os.path.realpath(directory), *args, **options))
            return started[-1]

        start.directory = os.path.realpath(directory)
        yield start
        for unflake in started:
            unflake.close()


@pytest.fixture
def dependencies(project):
    """Runs tests by number in one process; the dependency report of the last one."""

    def run(files, *tests, args=(), mode="file", forked=False, outcome="passed", **options):
        variables = dict({"UNFLAKE_DEPENDENCIES": mode}, **options.pop("variables", {}))
        unflake = project(files, *args, variables=variables, **options)
        agent = first = unflake.ready()
        if forked:
            agent = unflake.fork(agent, 5)
        done = agent.run(*(tests or (0,)))
        assert done[-1]["outcome"] == outcome, done[-1]
        with open(done[-1]["dependencies"]) as file:
            report = json.load(file)
        assert report["root"] == project.directory and report["format"] == 1
        if not forked:
            unflake.end(first)
        return report

    run.directory = project.directory
    return run


@pytest.fixture
def traced(project):
    """Starts pytest with tracing, by the native or the Python tracer."""
    from trace_reader import NATIVE_TRACER, TracedPytest

    def start(files, tracer="python", mode="lines", forked=False, variables={}, **options):
        settings = dict(variables, UNFLAKE_TRACED=mode, UNFLAKE_TRACER="python" if tracer == "python" else NATIVE_TRACER)
        return TracedPytest(project(files, variables=settings, **options), forked)

    return start


@pytest.fixture
def layered(project):
    """Starts pytest so that its attempts are described at some layers."""

    def start(files, layers, *args, forked=False, variables={}, **options):
        unflake = project(files, *args, variables=dict(variables, UNFLAKE_LAYERS=layers), **options)
        connection = unflake.ready()
        return LayeredPytest(unflake, unflake.fork(connection, 5) if forked else connection)

    return start


@pytest.fixture
def assertions(project):
    """Runs a test by number with instrumented assertions; their results."""

    def run(files, test=0, outcome="passed", args=(), **options):
        unflake = project(files, *args, variables=dict(LAYER, **options.pop("variables", {})), **options)
        agent = unflake.ready()
        done = agent.run(test)[0]
        assert done["outcome"] == outcome, done
        unflake.end(agent)
        return AssertionLog(done)

    return run


@pytest.fixture
def state_session(project):
    return lambda files, *args, **options: StateSession(project(files, *args, **options))
