"""Open descriptors: the files and sockets that a test has left open."""

import _socket
import os

from .process_state import StateGroup
from .repr import MISSING


class OpenDescriptors(StateGroup):
    kind = "open descriptor"
    prefix = "descriptor "
    accepts_restored = True

    def __init__(self, agent_descriptors):
        self._agent_descriptors = agent_descriptors
        self._listdir, self._readlink = os.listdir, os.readlink
        self._open, self._close, self._dup2 = os.open, os.close, os.dup2
        self._null, self._read_write, self._socket = os.devnull, os.O_RDWR, _socket.socket

    def read(self):
        """Targets by number. A process that does the same gets the same numbers."""
        found = {}
        try:
            numbers = self._listdir("/proc/self/fd")
        except OSError:
            return found
        agent_descriptors = self._agent_descriptors()
        for number in map(int, numbers):
            try:
                if number not in agent_descriptors:
                    found["descriptor %d" % number] = self._readlink("/proc/self/fd/%d" % number)
            except OSError:
                pass  # The descriptor of the listing itself.
        return found

    def describe(self, path, value):
        if not value.startswith("socket:"):
            return value[:200]
        return self._address(int(path.split()[1])) or "a socket"

    def _address(self, number):
        try:
            socket = self._socket(fileno=number)
        except OSError:
            return None
        try:
            family = {_socket.AF_INET: "tcp", _socket.AF_INET6: "tcp6", _socket.AF_UNIX: "unix"}.get(socket.family, "a")
            try:
                peer = " connected to %s" % (_describe_address(socket.getpeername()),)
            except OSError:
                peer = ""
            return ("%s socket at %s%s" % (family, _describe_address(socket.getsockname()), peer))[:200]
        except OSError:
            return None
        finally:
            socket.detach()

    def why_fixed(self, path, old, new):
        if old is not MISSING:
            return "a closed file cannot be reopened" if new is MISSING else "its descriptor now belongs to another file"
        return None

    def restore(self, path, old):
        """Closes the file or socket but keeps the number in use: an object may still own it."""
        null = self._open(self._null, self._read_write)
        self._dup2(null, int(path.split()[1]), False)
        self._close(null)


def _describe_address(address):
    if isinstance(address, tuple):
        return "%s:%s" % address[:2]
    return address.decode(errors="replace") if isinstance(address, bytes) else str(address)
