"""Where a test hangs or crashed: faulthandler writes stacks to a file in the side directory. PYTEST_DONT_REWRITE"""

import faulthandler
import os
import signal

from .wire import raised


def free_signal():
    """A real-time signal that the C library and common profilers leave alone; None where there are none (macOS)."""
    return getattr(signal, "SIGRTMAX", 3) - 3 or None


class Stacks:
    def __init__(self, directory):
        self._directory = directory
        self._signal = free_signal()
        self._descriptor = None
        self._identity = None
        self._open, self._fstat, self._close, self._raised = os.open, os.fstat, os.close, raised
        self._flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._enable, self._register = faulthandler.enable, faulthandler.register

    def open(self, environment):
        """From now on stacks go to the file of this environment."""
        if self._directory is None:
            return
        old = self._descriptor if self._is_ours() else None
        try:
            path = "%s/stack-%d" % (self._directory, environment)
            self._descriptor = self._raised(self._open(path, self._flags, 0o600))
        except OSError:
            return
        self._environment, self._identity = environment, self._identify()
        self._enable(file=self._descriptor, all_threads=True)
        if self._signal:
            self._register(self._signal, file=self._descriptor, all_threads=True)
        if old is not None:
            self._close(old)

    def keep(self):
        """Opens the file again if a test has closed it, and takes the handlers back if a test has moved them."""
        if self._descriptor is None:
            return
        if not self._is_ours():
            self.open(self._environment)
        else:
            self._enable(file=self._descriptor, all_threads=True)

    def descriptors(self):
        """The number that is taken by the file."""
        return {self._descriptor} if self._is_ours() else set()

    def _identify(self):
        try:
            file = self._fstat(self._descriptor)
        except OSError:
            return None
        return file.st_dev, file.st_ino

    def _is_ours(self):
        return self._descriptor is not None and self._identity is not None and self._identify() == self._identity
