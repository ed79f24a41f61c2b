"""Shows where a test hangs or crashed: faulthandler writes stacks to the side directory."""

import faulthandler
import os
import signal

from .wire import OwnDescriptor


def stack_signal():
    """A real-time signal that the C library and profilers do not use; None where there is none."""
    return getattr(signal, "SIGRTMAX", 3) - 3 or None


class StackDumps:
    def __init__(self, directory):
        self._directory = directory
        self._signal = stack_signal()
        self._descriptor = OwnDescriptor()
        self._name = None
        self._open, self._flags = os.open, os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._enable, self._register = faulthandler.enable, faulthandler.register

    def open(self, name):
        """Directs stacks to the file of the process of this name."""
        if self._directory is None:
            return
        new = OwnDescriptor()
        try:
            new.set(self._open("%s/stack-%s" % (self._directory, name), self._flags, 0o600))
        except OSError:
            return
        old, self._descriptor, self._name = self._descriptor, new, name
        self._enable(file=new.number, all_threads=True)
        if self._signal:
            self._register(self._signal, file=new.number, all_threads=True)
        old.close()

    def refresh(self):
        """Reopens the file if a test closed it, and resets handlers that a test replaced."""
        if self._name is None:
            return
        if not self._descriptor.is_ours():
            self.open(self._name)
        else:
            self._enable(file=self._descriptor.number, all_threads=True)

    def descriptors(self):
        return self._descriptor.numbers()
