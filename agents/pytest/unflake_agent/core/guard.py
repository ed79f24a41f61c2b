"""Errors of the agent itself. They end the process, and are never taken for those of a test."""

import os
import traceback

AGENT = "<unflake_agent."
# Modules whose functions call those that they replace: an exception there may be the callee's.
PASS_THROUGH = tuple(
    AGENT + name
    for name in (
        "assertions.calls",
        "assertions.loading",
        "dependencies.child_processes",
        "dependencies.file_access",
        "dependencies.imports",
        "layers.output",
        "layers.playwright",
        "layers.selenium",
    )
)
# Where they are raised is a matter of chance.
ANYWHERE = RecursionError, MemoryError


def is_of_agent(error, trace):
    """Whether an instrument of the agent, called by the project's code, raised this exception."""
    if trace is None or isinstance(error, ANYWHERE):
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    file = trace.tb_frame.f_code.co_filename
    return file.startswith(AGENT) and not file.startswith(PASS_THROUGH)


class AgentGuard:
    """A context in which an exception is an error of the agent.

    The error goes to a file beside the socket, which unflake reads when the process has ended: the
    connection may be what is broken.
    """

    _exit, _open, _write, _format = os._exit, os.open, os.write, staticmethod(traceback.format_exception)
    _getpid = staticmethod(os.getpid)
    _flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC

    def __init__(self, side, environment):
        self._side = side
        self.enter_environment(environment)

    def enter_environment(self, environment):
        """This process is that environment from now on."""
        self._environment, self._pid = environment, self._getpid()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if isinstance(error, Exception):
            self.fail(error)

    def fail(self, error):
        """Records an exception and exits."""
        # A child that a test forked is not the environment.
        if self._side and self._getpid() == self._pid:
            file = self._open("%s/agent-error-%d" % (self._side, self._environment), self._flags, 0o600)
            text = "".join(self._format(type(error), error, error.__traceback__))
            self._write(file, text.encode("utf-8", "backslashreplace"))
        self._exit(3)
