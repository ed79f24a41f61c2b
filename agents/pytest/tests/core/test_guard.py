"""Errors of the agent itself, and those that only pass through it."""

import os

import pytest
from unflake_agent.common import boundary
from unflake_agent.common.boundary import is_of_agent
from unflake_agent.core.guard import AgentGuard


def raised_in(file, source):
    try:
        exec(compile(source, file, "exec"), {})
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    "file, source, expected",
    [
        ("<unflake_agent.layers.behaviour>", "1 / 0", True),
        ("<unflake_agent.trace.lines>", "len(5)", True),
        ("<unflake_agent.trace.lines>", "import json; json.dumps(object())", True),
        ("test_it.py", "import json; json.dumps(object())", False),
        ("<unflake_agent.dependencies.file_access>", "open('/nowhere/at/all')", False),
        ("<unflake_agent.assertions.calls>", "assert 0", False),
        ("<unflake_agent.assertions.recorder>", "1 / 0", True),
        ("<unflake_agent.layers.behaviour>", "def f(): f()\nf()", False),
        ("<unflake_agent.layers.behaviour>", "exec(compile('1 / 0', 'test_it.py', 'exec'))", False),
        ("test_it.py", "1 / 0", False),
    ],
)
def test_an_exception_is_of_the_agent_where_an_instrument_raised_it(file, source, expected):
    error = raised_in(file, source)
    assert is_of_agent(error, error.__traceback__) is expected


@pytest.mark.parametrize(
    "file, is_guarded, is_recorded",
    [
        # The function itself fails, and calls none of the project's.
        ("<unflake_agent.assertions.calls>", True, True),
        # What it calls in the project's place may have failed.
        ("<unflake_agent.assertions.calls>", False, False),
        ("<unflake_agent.assertions.recorder>", False, True),
        ("test_it.py", True, False),
    ],
)
def test_an_error_of_an_instrument_is_recorded_in_a_forked_process_too(tmp_path, file, is_guarded, is_recorded):
    AgentGuard(str(tmp_path), "7")
    child = os.fork()
    if not child:
        try:
            names = {}
            exec(compile("def plain(): 1 / 0", file, "exec"), names)
            try:
                (boundary.guarded(names["plain"]) if is_guarded else names["plain"])()
            except Exception as error:
                boundary.check(error)
        finally:
            os._exit(0)
    boundary.guards.clear()
    assert os.WEXITSTATUS(os.waitpid(child, 0)[1]) == (3 if is_recorded else 0)
    assert (tmp_path / "agent-error-7").exists() == is_recorded
