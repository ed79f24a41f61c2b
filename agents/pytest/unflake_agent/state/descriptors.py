"""Open descriptors: which files and sockets a test has left open. PYTEST_DONT_REWRITE"""

import _socket
import os

from .process_state import Group
from ..common.introspect import MISSING


class Descriptors(Group):
    kind = "open descriptor"
    prefix = "descriptor "
    settles = True

    def __init__(self, own):
        self._own = own  # Numbers of the agent's own.
        self._list, self._link, self._open, self._close, self._duplicate = (
            os.listdir,
            os.readlink,
            os.open,
            os.close,
            os.dup2,
        )
        self._null, self._read_write, self._socket = os.devnull, os.O_RDWR, _socket.socket

    def read(self):
        """What is open by number. Numbers name a descriptor, as a process that does the same gets the same ones."""
        found = {}
        try:
            numbers = self._list("/proc/self/fd")
        except OSError:
            return found
        own = self._own()
        for number in map(int, numbers):
            try:
                if number not in own:
                    found["descriptor %d" % number] = self._link("/proc/self/fd/%d" % number)
            except OSError:
                pass  # It was the listing's own.
        return found

    def text(self, path, value):
        if not value.startswith("socket:"):
            return value[:200]
        return self._address(int(path.split()[1])) or "a socket"

    def _address(self, number):
        try:
            one = self._socket(fileno=number)
        except OSError:
            return None
        try:
            family = {_socket.AF_INET: "tcp", _socket.AF_INET6: "tcp6", _socket.AF_UNIX: "unix"}.get(one.family, "a")
            try:
                other = " connected to %s" % (_words(one.getpeername()),)
            except OSError:
                other = ""
            return ("%s socket at %s%s" % (family, _words(one.getsockname()), other))[:200]
        except OSError:
            return None
        finally:
            one.detach()

    def fixed(self, path, old, new):
        if old is not MISSING:
            return "what was open cannot be opened again" if new is MISSING else "another file has its number"
        return None

    def write(self, path, old):
        """Whoever holds the number goes on holding it, but what it stood for is let go."""
        nothing = self._open(self._null, self._read_write)
        self._duplicate(nothing, int(path.split()[1]), False)
        self._close(nothing)


def _words(address):
    if isinstance(address, tuple):
        return "%s:%s" % address[:2]
    return address.decode(errors="replace") if isinstance(address, bytes) else str(address)
