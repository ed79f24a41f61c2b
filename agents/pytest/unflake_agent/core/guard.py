"""Errors of the agent itself. They end the process, and are never taken for those of a test."""

import os
import traceback


class AgentGuard:
    """A context in which an exception is an error of the agent.

    The error goes to a file beside the socket, which unflake reads when the process has ended: the
    connection may be what is broken.
    """

    _exit, _open, _write, _format = os._exit, os.open, os.write, staticmethod(traceback.format_exc)
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
        if kind is not None and issubclass(kind, Exception):
            self.fail()

    def fail(self):
        """Records the current exception and exits."""
        # A child that a test forked is not the environment.
        if self._side and self._getpid() == self._pid:
            file = self._open("%s/agent-error-%d" % (self._side, self._environment), self._flags, 0o600)
            self._write(file, self._format().encode("utf-8", "backslashreplace"))
        self._exit(3)
