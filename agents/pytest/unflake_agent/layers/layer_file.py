"""The file that describes an attempt at each layer (agents/README.md, 36).

Each line is written at once and in one piece, from any thread; only frequent ones are buffered. If
a test closes the descriptor, the file is opened again. A process that a test forks writes nothing:
its lines would mix with those of the test in an arbitrary order. If the system refuses a write, the
attempt has no file at all, since a part of it would pass for the whole.
"""

import _thread
import json
import os

from ..core.wire import OwnDescriptor, escape_surrogates

FORMAT = 1
MAX_BUFFER = 1 << 16
MAX_BYTES = 64 << 20
FULL = "the record exceeds %d MiB; the rest is missing" % (MAX_BYTES >> 20)
FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
# Layers that do not cover processes forked by a test.
NOT_IN_FORKS = "assertion", "code", "branch", "behaviour"


class LayerFile:
    def __init__(self, side, root, truncate, layers):
        self.truncate, self._side, self._root, self._layers = truncate, side, root, layers
        self._encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
        self._open, self._write, self._escape = os.open, os.write, escape_surrogates
        self._getpid, self._relpath, self._new_lock = os.getpid, os.path.relpath, _thread.RLock
        self._lock = self._new_lock()
        self._number, self._path = 0, None
        self._descriptor = OwnDescriptor()
        self._files, self._gaps = {}, set()
        self._buffer, self._buffer_size = [], 0
        self._size = 0
        self._has_forked = self._is_refused = self._is_full = False
        self._names = {}
        os.register_at_fork(after_in_child=self._in_child, after_in_parent=self._in_parent)

    # -- Attempts ----------------------------------------------------------------------------------

    def open(self):
        self._number += 1
        self._files.clear()
        self._gaps.clear()
        self._has_forked = self._is_refused = self._is_full = False
        self._size = 0
        self._path = "%s/layers-%d-%d" % (self._side, self._getpid(), self._number)
        self.write(["format", FORMAT])

    def close(self):
        """The path of the file; None if it is not complete."""
        self.flush()
        path, self._path = self._path, None
        self._descriptor.close()
        return None if self._is_refused else path

    # -- Lines -------------------------------------------------------------------------------------

    def write(self, line):
        """Writes one line; nothing outside of attempts."""
        self.buffer(self.encode(line))
        self.flush()

    def encode(self, line):
        return self._encode(line) + "\n"

    def buffer(self, lines):
        """Adds encoded lines that are written later, with others."""
        if self._path is not None:
            with self._lock:
                self._buffer.append(lines)
                self._buffer_size += len(lines)
                if self._buffer_size > MAX_BUFFER:
                    self.flush()

    def flush(self):
        with self._lock:
            lines, self._buffer_size = "".join(self._buffer), 0
            self._buffer.clear()
            if self._path is None or self._is_refused or not lines:
                return
            try:
                left = lines.encode()
            except UnicodeEncodeError:
                left = self._escape(lines).encode()
            self._size += len(left)
            if self._size > MAX_BYTES:
                if self._is_full:
                    return
                self._is_full = True
                left = "".join(self.encode(["gap", layer, FULL]) for layer in self._layers).encode()
            try:
                if not self._descriptor.is_ours():
                    self._descriptor.set(self._open(self._path, FLAGS, 0o600))
                while left:  # A signal may interrupt a long write.
                    left = left[self._write(self._descriptor.number, left) :]
            except OSError:
                self._is_refused = True

    def file_number(self, path):
        """The number of a file, whose line comes before all that mention it. `path` is real."""
        if self._path is None:
            return 0  # Nothing is written: no attempt runs, or a test has forked this process.
        number = self._files.get(path)
        if number is None:
            with self._lock:
                number = self._files.get(path)
                if number is None:
                    self.buffer(self.encode(["file", len(self._files), self._name(path)]))
                    number = self._files[path] = len(self._files)
        return number

    def _name(self, path):
        name = self._names.get(path)
        if name is None:
            name = self._names[path] = self._relpath(path, self._root)
        return name

    def gap(self, layer, text):
        """Says that a part of a layer is missing. The same text appears once per attempt."""
        with self._lock:
            if (layer, text) not in self._gaps:
                self._gaps.add((layer, text))
                self.write(["gap", layer, self.truncate(text)])

    # -- Forks -------------------------------------------------------------------------------------

    def _in_child(self):
        self._lock = self._new_lock()  # Another thread of the parent may hold the old one.
        self._buffer.clear()
        self.close()

    def _in_parent(self):
        if self._path is not None and not self._has_forked:
            self._has_forked = True
            for layer in NOT_IN_FORKS:
                if layer in self._layers:
                    self.gap(layer, "a process that the test forked was not recorded")
