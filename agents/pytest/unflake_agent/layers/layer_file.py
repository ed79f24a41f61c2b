"""The file that tells what an attempt looked like (agents/README.md, 36). PYTEST_DONT_REWRITE

Each line is written at once, in one piece, by threads as they come; only those of which there are very many wait for others. The file is opened anew if a test has closed its descriptor. A
process that a test forks off has no say: what it does would be mixed into what the test itself does, in an order that means nothing.
Where the system refuses to write, the attempt has no sheet at all: half a one would be taken for the whole.
"""

import _thread
import json
import os

from ..core.wire import raised, visible

FORMAT = 1
MOST_HELD = 1 << 16
# Of an attempt.
MOST_BYTES = 64 << 20
FULL = "there was more to tell than %d MiB; the rest is missing" % (MOST_BYTES >> 20)
HOW = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
# Layers into whose matters a process that a test forked off is not followed.
NOT_FOLLOWED = "assertion", "code", "behaviour"


class Sheet:
    def __init__(self, side, root, text, layers):
        """`text`: shortens texts. `layers`: what is asked for."""
        self.text, self._side, self._root = text, side, root
        self._encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
        self._open, self._write, self._close, self._fstat = os.open, os.write, os.close, os.fstat
        self._getpid, self._relative, self._raised, self._visible = os.getpid, os.path.relpath, raised, visible
        self._not_followed = [layer for layer in NOT_FOLLOWED if layer in layers]
        self._new_lock = _thread.RLock
        self._lock = self._new_lock()
        self._number, self._path = 0, None
        self._descriptor = self._identity = None
        self._files, self._gaps = {}, set()
        self._held, self._held_size = [], 0
        self._forked = self._refused = self._is_full = False
        self._layers, self._size = layers, 0
        self._names = {}
        os.register_at_fork(after_in_child=self._in_child, after_in_parent=self._in_parent)

    # -- An attempt ---------------------------------------------------------------------------------------------------

    def open(self):
        self._number += 1
        self._files.clear()
        self._gaps.clear()
        self._forked = self._refused = self._is_full = False
        self._size = 0
        self._path = "%s/layers-%d-%d" % (self._side, self._getpid(), self._number)
        self.tell(["format", FORMAT])

    def close(self):
        self.flush()
        path, self._path = self._path, None
        if self._is_ours():
            self._close(self._descriptor)
        self._descriptor = self._identity = None
        return None if self._refused else path

    # -- Telling ------------------------------------------------------------------------------------------------------

    def tell(self, line):
        """Writes one line. Nothing, where no attempt is under way."""
        self.hold(self.line(line))
        self.flush()

    def line(self, line):
        return self._encode(line) + "\n"

    def hold(self, lines):
        """Lines that are written with the next ones, or when there are many."""
        if self._path is not None:
            with self._lock:
                self._held.append(lines)
                self._held_size += len(lines)
                if self._held_size > MOST_HELD:
                    self.flush()

    def flush(self):
        with self._lock:
            lines, self._held_size = "".join(self._held), 0
            self._held.clear()
            if self._path is None or self._refused or not lines:
                return
            try:
                left = lines.encode()
            except UnicodeEncodeError:
                left = self._visible(lines).encode()
            self._size += len(left)
            if self._size > MOST_BYTES:
                if self._is_full:
                    return
                self._is_full = True
                left = "".join(self.line(["gap", layer, FULL]) for layer in self._layers).encode()
            try:
                if not self._is_ours():
                    self._take()
                while left:  # A signal may cut a long write short.
                    left = left[self._write(self._descriptor, left) :]
            except OSError:
                self._refused = True

    def file(self, path):
        """The number of a file, which is told before what mentions it. `path`: where it really is, absolute."""
        number = self._files.get(path)
        if number is None:
            with self._lock:
                number = self._files.get(path)
                if number is None and self._path is not None:
                    self.hold(self.line(["file", len(self._files), self.name(path)]))
                    number = self._files[path] = len(self._files)
        return number

    def name(self, path):
        name = self._names.get(path)
        if name is None:
            name = self._names[path] = self._relative(path, self._root)
        return name

    def gap(self, layer, words):
        """Something of a layer was not seen. The same is said once an attempt."""
        with self._lock:
            if (layer, words) not in self._gaps:
                self._gaps.add((layer, words))
                self.tell(["gap", layer, self.text(words)])

    # -- The descriptor -----------------------------------------------------------------------------------------------

    def _take(self):
        self._descriptor = self._raised(self._open(self._path, HOW, 0o600))
        self._identity = self._identify()

    def _identify(self):
        try:
            file = self._fstat(self._descriptor)
        except OSError:
            return None
        return file.st_dev, file.st_ino

    def _is_ours(self):
        return self._identity is not None and self._identify() == self._identity

    def descriptors(self):
        return {self._descriptor} if self._is_ours() else set()

    # -- Copies -------------------------------------------------------------------------------------------------------

    def _in_child(self):
        self._lock = self._new_lock()  # Whoever held it is not here.
        self._held.clear()
        self.close()

    def _in_parent(self):
        if self._path is not None and not self._forked:
            self._forked = True
            for layer in self._not_followed:
                self.gap(layer, "a process that the test forked off was not looked into")
