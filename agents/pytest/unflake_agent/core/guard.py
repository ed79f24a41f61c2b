"""Errors of the agent itself. They end the process, and are never taken for those of a test."""

import _thread
import os
import traceback

from ..common.boundary import failing, guards


class AgentGuard:
    """A context in which an exception is an error of the agent.

    The error goes to a file beside the socket, which unflake reads when the process has ended: the
    connection may be what is broken.
    """

    _exit, _open, _write, _format = os._exit, os.open, os.write, staticmethod(traceback.format_exception)
    _getpid, _ident = staticmethod(os.getpid), staticmethod(_thread.get_ident)
    _flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL

    def __init__(self, side, name):
        self._side = side
        self.enter(name)
        guards[:] = [self]

    def enter(self, name):
        """This process has that name from now on: the number of its environment, or more."""
        self._name, self._pid = name, self._getpid()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if isinstance(error, Exception):
            self.fail(error)

    def fail(self, error, is_of_instrument=False):
        """Records an exception and exits."""
        if self._ident() in failing:
            return  # An instrument that watches what follows fails, too.
        failing.add(self._ident())
        # A child that a test forked has no connection, so that much fails there. Instruments do not.
        if self._side and (is_of_instrument or self._getpid() == self._pid):
            try:
                self._record(self._text(error))
            except Exception:
                pass  # Another thread or process was first, or what records is broken, too.
        self._exit(3)

    def _text(self, error):
        try:
            return "".join(self._format(type(error), error, error.__traceback__))
        except Exception:  # Reading the sources is watched by the instrument that failed.
            return "%s: %s\n" % (type(error).__name__, error)

    def _record(self, text):
        file = self._open("%s/agent-error-%s" % (self._side, self._name), self._flags, 0o600)
        self._write(file, text.encode("utf-8", "backslashreplace"))
