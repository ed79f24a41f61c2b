"""Errors of the agent itself. They end the process, and are never taken for those of a test."""

import os
import traceback

AGENT = "<unflake_agent."
STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep
INSTALLED = os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep
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
        "schedule.event_loop",
    )
)
# Where they are raised is a matter of chance.
ANYWHERE = RecursionError, MemoryError


def is_of_agent(error, trace):
    """Whether an instrument of the agent, called by the project's code, raised this exception."""
    if trace is None or isinstance(error, ANYWHERE):
        return False
    files = []
    while trace is not None:
        files.append(trace.tb_frame.f_code.co_filename)
        trace = trace.tb_next
    while len(files) > 1 and _is_standard(files[-1]):
        files.pop()
    return files[-1].startswith(AGENT) and not files[-1].startswith(PASS_THROUGH)


def _is_standard(file):
    is_installed = any(part in file for part in INSTALLED)
    return file.startswith("<frozen ") or file.startswith(STANDARD_LIBRARY) and not is_installed


class AgentGuard:
    """A context in which an exception is an error of the agent.

    The error goes to a file beside the socket, which unflake reads when the process has ended: the
    connection may be what is broken.
    """

    _exit, _open, _write, _format = os._exit, os.open, os.write, staticmethod(traceback.format_exception)
    _getpid = staticmethod(os.getpid)
    _flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC

    def __init__(self, side, name):
        self._side = side
        self.enter(name)

    def enter(self, name):
        """This process has that name from now on: the number of its environment, or more."""
        self._name, self._pid = name, self._getpid()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if isinstance(error, Exception):
            self.fail(error)

    def fail(self, error):
        """Records an exception and exits."""
        # A child that a test forked is another process.
        if self._side and self._getpid() == self._pid:
            file = self._open("%s/agent-error-%s" % (self._side, self._name), self._flags, 0o600)
            text = "".join(self._format(type(error), error, error.__traceback__))
            self._write(file, text.encode("utf-8", "backslashreplace"))
        self._exit(3)
