"""The connection to unflake. It outlives tests that close descriptors, patch modules or fork. PYTEST_DONT_REWRITE"""

import _socket  # The C type: tests and plugins (pytest-socket) patch socket.socket, but cannot patch this.
import errno
import fcntl
import json
import os

PROTOCOL = 1
# Out of reach of tests that close the low descriptors; lower where the limit of open files is low.
HIGH_DESCRIPTORS = 900, 200, 10


def raised(descriptor, control=fcntl.fcntl, duplicate=fcntl.F_DUPFD_CLOEXEC, close=os.close):
    """The same open file under a high number, closed on exec. The given descriptor is closed."""
    for lowest in HIGH_DESCRIPTORS:
        try:
            high = control(descriptor, duplicate, lowest)
        except OSError:
            continue
        close(descriptor)
        return high
    return descriptor


def visible(text):
    """JSON in which halves of surrogate pairs, which parsers refuse, are escapes that can be seen."""
    return "".join(("\\\\u%04x" % ord(c)) if 0xD800 <= ord(c) < 0xE000 else c for c in text)


class Wire:
    """Lines to and from unflake. Everything used while tests run is kept here since before they were loaded."""

    def __init__(self, path, hello):
        self._path = path
        self._hello = hello
        self._buffer = b""
        self._connections = 0
        self._socket = None
        self._identity = None
        self._new_socket, self._kind = _socket.socket, (_socket.AF_UNIX, _socket.SOCK_STREAM)
        self._quietly = getattr(_socket, "MSG_NOSIGNAL", 0)  # A test may have given SIGPIPE back its deadly default.
        self._fstat, self._getpid, self._exit, self._raised = os.fstat, os.getpid, os._exit, raised
        self._close, self._visible = os.close, visible
        self._encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
        self._decode = json.JSONDecoder().decode
        self._pid = self._getpid()
        self._lost = errno.EBADF, errno.ENOTSOCK, errno.ENOTCONN

    def connect(self, **changes):
        """Connects, again if need be, and says hello. With changes it is as somebody else: a copy of the process."""
        self.drop()
        if changes:
            self._buffer = b""  # Orders that came before the copy was made are not for it.
            self._connections = 0
        self._hello.update(changes)
        if self._connections:
            self._hello["connection"] = self._connections
        else:
            self._hello.pop("connection", None)
        self._connections += 1
        self._pid = self._hello["pid"] = self._getpid()
        try:
            plain = self._new_socket(*self._kind)
            plain.connect(self._path)
            descriptor = self._raised(plain.detach())
        except OSError:
            self._exit(1)  # unflake is gone.
        self._socket = self._new_socket(fileno=descriptor)
        self._identity = self._identify()
        self.send(self.line("hello", **self._hello))

    def drop(self):
        """Lets go of the connection, which stays open for whoever else has it."""
        if self._socket is not None:
            ours = self._is_ours()
            descriptor = self._socket.detach()
            if ours:
                self._close(descriptor)
            self._socket = None

    def descriptors(self):
        """The number that is taken by the connection."""
        return {self._socket.fileno()} if self._is_ours() else set()

    def _identify(self):
        try:
            file = self._fstat(self._socket.fileno())
        except (OSError, ValueError, OverflowError):
            return None
        return file.st_dev, file.st_ino

    def _is_ours(self):
        return self._identity is not None and self._identify() == self._identity

    def line(self, event, **fields):
        """An event as bytes."""
        text = self._encode({"event": event, **fields})
        try:
            return text.encode() + b"\n"
        except UnicodeEncodeError:
            return self._visible(text).encode() + b"\n"

    def send(self, lines):
        if self._getpid() != self._pid:
            self._exit(0)  # A test forked, and its copy of this process has come out of the test: it has no say here.
        if not self._is_ours():
            self.connect()
        left = memoryview(lines)
        while left:
            try:
                left = left[self._socket.send(left, self._quietly) :]
            except OSError as error:
                if error.errno not in self._lost:
                    self._exit(1)
                self.connect()
                left = memoryview(lines)

    def tell(self, event, **fields):
        self.send(self.line(event, **fields))

    def next_order(self):
        while b"\n" not in self._buffer:
            if not self._is_ours():
                self.connect()
                self._buffer = b""
            try:
                received = self._socket.recv(65536)
            except OSError as error:
                if error.errno not in self._lost:
                    self._exit(1)
                continue
            if not received:
                self._exit(1)
            self._buffer += received
        line, self._buffer = self._buffer.split(b"\n", 1)
        return self._decode(line.decode())
