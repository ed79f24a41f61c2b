"""Sees lines before Python 3.12 through the native tracer (`agents/pytest/tracer`).

The library writes the id of each line to a buffer when the line first runs in an attempt.
"""

import ctypes

from ..common.boundary import guarded
from ..trace.native import Callbacks, Cursor
from .code_watch import SettraceWatch

# Ids in the buffer of one thread.
CAPACITY = 1 << 14


class LineBuffer:
    """Of one thread."""

    def __init__(self):
        self._ids = (ctypes.c_uint32 * CAPACITY)()
        self._base = base = ctypes.addressof(self._ids)
        self._cursor = Cursor(base, base + 4 * CAPACITY, 0)
        self.address = ctypes.addressof(self._cursor)

    def take(self):
        """The ids of the lines that first ran since the last call."""
        count = (self._cursor.next - self._base) // 4
        found = set(self._ids[:count])
        self._cursor.next = self._base
        return found


class NativeWatch(SettraceWatch):
    """For lines only, not for calls."""

    def __init__(self, library, *arguments):
        SettraceWatch.__init__(self, *arguments)
        self._library = library
        self._places, self._found, self._buffers = [None], set(), {}

        def enter(frame, event, argument):
            """Called in a new thread, and after code that restores what `sys.gettrace` returned."""
            library.unflake_trace(1)

        self._enter = enter
        self._callbacks = Callbacks(
            None,
            None,
            guarded(self._learn_natively),
            guarded(self._place),
            guarded(self._thread),
            self._no_task,
            self._no_task,
            guarded(self._grow),
            enter,
            None,
        )
        if not library.unflake_open(ctypes.byref(self._callbacks)):
            raise OSError("this Python lacks a function")

    def _trace(self):
        self._buffers, self._found = {}, set()
        self._library.unflake_begin_once()
        self._library.unflake_trace(1)

    def _stop(self):
        self._library.unflake_end()
        for buffer in list(self._buffers.values()):
            self._found |= buffer.take()
        for place in self._found:
            known, line = self._places[place]
            known.lines.add(line)
            self._touch(known)
        return SettraceWatch._stop(self)

    # -- Called by the library ---------------------------------------------------------------------

    def _learn_natively(self, code):
        known = self._learn(code)
        return None if known is None else (code.co_firstlineno, False)

    def _place(self, code, line):
        self._places.append((self._codes[id(code)], line))
        return len(self._places) - 1

    def _thread(self):
        buffer = LineBuffer()
        self._buffers[buffer.address] = buffer
        return buffer.address

    def _no_task(self, *_):
        """The thread's buffer serves all its tasks."""

    def _grow(self, address):
        self._found |= self._buffers[address].take()
        return True
