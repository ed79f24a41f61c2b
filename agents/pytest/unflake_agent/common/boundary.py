"""Where the project's code calls the agent: an exception of the agent ends the process there.

The project could catch the exception, and a thread could lose it.
"""

import functools
import os

AGENT = "<unflake_agent."
STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep
INSTALLED = os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep
# Modules whose functions call those that they replace: an exception there may be the callee's.
PASS_THROUGH = tuple(
    AGENT + name
    for name in (
        "assertions.calls",
        "assertions.loading",
        "core.forced_wait",
        "dependencies.child_processes",
        "dependencies.file_access",
        "dependencies.imports",
        "layers.output",
        "layers.playwright",
        "layers.selenium",
        "schedule.event_loop",
    )
)
# Where they are raised is a matter of chance.
ANYWHERE = RecursionError, MemoryError
guards = []  # That of this process, once there is an agent.
failing = set()  # The threads in which a guard records an error.


def is_of_agent(error, trace, callers=PASS_THROUGH):
    """Whether an instrument of the agent, called by the project's code, raised this exception.

    `callers`: modules that may have called the function that raised it.
    """
    if trace is None or isinstance(error, ANYWHERE):
        return False
    files = []
    while trace is not None:
        files.append(trace.tb_frame.f_code.co_filename)
        trace = trace.tb_next
    while len(files) > 1 and _is_standard(files[-1]):
        files.pop()
    return files[-1].startswith(AGENT) and not files[-1].startswith(callers)


def _is_standard(file):
    is_installed = any(part in file for part in INSTALLED)
    return file.startswith("<frozen ") or file.startswith(STANDARD_LIBRARY) and not is_installed


def check(error):
    """Called where the project has called an instrument: ends the process if the instrument failed."""
    if guards and is_of_agent(error, error.__traceback__):
        guards[0].fail(error, True)


def guarded(function):
    """For functions that the project's code reaches, and that call no function of the project."""

    @functools.wraps(function)
    def call(*arguments, **named):
        __tracebackhide__ = True
        try:
            return function(*arguments, **named)
        except Exception as error:
            if guards and is_of_agent(error, error.__traceback__, ()):
                guards[0].fail(error, True)
                return None  # While this thread records an error: what it calls must not fail, too.
            raise

    return call
