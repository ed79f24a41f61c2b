"""The connection to unflake: events out, orders in, one JSON object a line.

It survives tests that close descriptors, patch modules or fork: it keeps references from before
the project's code was loaded, never writes to a descriptor that is no longer its own, and connects
again when its descriptor was closed.
"""

import _socket  # The C type: tests and plugins (pytest-socket) patch socket.socket, not this.
import errno
import fcntl
import json
import os
import weakref

PROTOCOL = 1
# Out of reach of tests that close low descriptors; lower where the limit on open files is low.
HIGH_DESCRIPTORS = 900, 200, 10


def move_high(descriptor, control=fcntl.fcntl, duplicate=fcntl.F_DUPFD_CLOEXEC, close=os.close):
    """Moves an open file to a high descriptor that is closed on exec."""
    for lowest in HIGH_DESCRIPTORS:
        try:
            high = control(descriptor, duplicate, lowest)
        except OSError:
            continue
        close(descriptor)
        return high
    return descriptor


def escape_surrogates(text):
    """Escapes lone surrogates, which JSON parsers reject, so that they stay readable."""
    return "".join(("\\\\u%04x" % ord(c)) if 0xD800 <= ord(c) < 0xE000 else c for c in text)


class OwnDescriptor:
    """A descriptor of the agent's, which tests may close or replace at any time."""

    fstat, close_number, move_high = os.fstat, os.close, staticmethod(move_high)

    def __init__(self):
        self.number = self._identity = None

    def set(self, number):
        """Takes an open descriptor over, under a high number."""
        self.number = self.move_high(number)
        self._identity = self._identify()

    def is_ours(self):
        return self._identity is not None and self._identify() == self._identity

    def numbers(self):
        return {self.number} if self.is_ours() else set()

    def close(self):
        """Closes it, unless its descriptor now belongs to another file now."""
        if self.is_ours():
            self.close_number(self.number)
        self.number = self._identity = None

    def _identify(self):
        try:
            file = self.fstat(self.number)
        except OSError:
            return None
        return file.st_dev, file.st_ino


class Wire:
    def __init__(self, path, hello):
        self._path = path
        self._hello = hello
        self._received = b""
        self._connections = 0
        self._socket, self._descriptor = None, OwnDescriptor()
        self._new_socket, self._family = _socket.socket, (_socket.AF_UNIX, _socket.SOCK_STREAM)
        # A test may have restored the default action of SIGPIPE, which ends the process.
        self._send_flags = getattr(_socket, "MSG_NOSIGNAL", 0)
        self._getpid, self._exit, self._escape = os.getpid, os._exit, escape_surrogates
        self._encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
        self._decode = json.JSONDecoder().decode
        self._pid = self._getpid()
        self._lost = errno.EBADF, errno.ENOTSOCK, errno.ENOTCONN

    def connect(self, **changes):
        """Connects or reconnects, and sends `hello`. `changes` identify a forked process."""
        self.drop()
        if changes:
            self._received = b""  # Orders received before the fork are the parent's.
            self._connections = 0
        self._hello.update(changes)
        if self._connections:
            self._hello["connection"] = self._connections
        else:
            self._hello.pop("connection", None)
        self._connections += 1
        self._pid = self._hello["pid"] = self._getpid()
        try:
            plain = self._new_socket(*self._family)
            plain.connect(self._path)
            self._descriptor.set(plain.detach())
        except OSError:
            self._exit(1)  # unflake has exited.
        self._socket = self._new_socket(fileno=self._descriptor.number)
        self.send_lines(self.encode("hello", **self._hello))

    def drop(self):
        """Closes this process's end. A forked process keeps the connection open for itself."""
        if self._socket is not None:
            self._socket.detach()
            self._descriptor.close()
            self._socket = None

    def close_in_forks(self):
        """Closes the connection in processes that tests fork: a dead process must not seem alive."""

        # A hook outlives everything else: Python 3.8 and 3.9 crash at their end if it frees a socket.
        reference = weakref.ref(self)

        def close():
            wire = reference()
            if wire is not None and wire._getpid() != wire._pid:
                wire._descriptor.close()

        os.register_at_fork(after_in_child=close)

    def descriptors(self):
        return self._descriptor.numbers()

    def _is_ours(self):
        # A test can find the socket object, and detach it from its descriptor.
        return self._socket.fileno() == self._descriptor.number and self._descriptor.is_ours()

    def encode(self, event, **fields):
        text = self._encode({"event": event, **fields})
        try:
            return text.encode() + b"\n"
        except UnicodeEncodeError:
            return self._escape(text).encode() + b"\n"

    def send_lines(self, lines):
        if self._getpid() != self._pid:
            self._exit(0)  # A child that a test forked returned from the test.
        if not self._is_ours():
            self.connect()
        left = memoryview(lines)
        while left:
            try:
                left = left[self._socket.send(left, self._send_flags) :]
            except OSError as error:
                if error.errno not in self._lost:
                    self._exit(1)
                self.connect()
                left = memoryview(lines)

    def send(self, event, **fields):
        self.send_lines(self.encode(event, **fields))

    def next_order(self):
        while b"\n" not in self._received:
            if not self._is_ours():
                self.connect()
                self._received = b""
            try:
                received = self._socket.recv(65536)
            except OSError as error:
                if error.errno not in self._lost:
                    self._exit(1)
                continue
            if not received:
                self._exit(1)
            self._received += received
        line, self._received = self._received.split(b"\n", 1)
        return self._decode(line.decode())
