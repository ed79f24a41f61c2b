"""Errors of the agent itself, and those that only pass through it."""

import pytest
from unflake_agent.core.guard import is_of_agent


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
