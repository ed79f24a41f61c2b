"""The same two ways to see lines, by a library that is not slowed down by being Python (`agents/pytest/tracer`). What happens
once it asks here. PYTEST_DONT_REWRITE"""

import ctypes
import os
import sys
import sysconfig

from .mapped_files import DROPPED, Stream
from .lines import Monitoring, Tracing

OLDEST = 3, 9
LIBRARY = "tracer.so"


class Cursor(ctypes.Structure):
    """Where the library puts the next id: addresses of it, of the end of the room, and of the count of what did not fit."""

    _fields_ = [("at", ctypes.c_size_t), ("end", ctypes.c_size_t), ("dropped", ctypes.c_size_t)]


class Asked(ctypes.Structure):
    _fields_ = [
        (name, ctypes.py_object)
        for name in ("disable", "none", "learn", "place", "thread", "task", "asyncio", "more", "tracer")
    ]


class NativeStream(Stream):
    def __init__(self, *arguments):
        Stream.__init__(self, *arguments)
        self.cursor, self.base, self.nowhere = Cursor(), 0, ctypes.c_uint64()
        self.address = ctypes.addressof(self.cursor)

    def position(self):
        if self.cursor.end:
            self.at = (self.cursor.at - self.base) // 4
        return Stream.position(self)

    def more(self):
        self.position()
        cursor = self.cursor
        if Stream.more(self):
            cursor.at, cursor.end = self.base, self.base + 4 * self.end
            return True
        self.close()
        return False

    def close(self):
        """From now on events are counted only."""
        self.position()
        first, cursor = self.pieces.first, self.cursor
        cursor.dropped = ctypes.addressof(self.nowhere) if first is None else first + DROPPED
        cursor.at = cursor.end = 0

    def truncate(self, why, errno=0):
        self.position()
        return Stream.truncate(self, why, errno)

    def finish(self):
        self.position()
        self.cursor.at = self.cursor.end = 0
        Stream.finish(self)


def load(path):
    """The library, and why it is not there."""
    if sys.implementation.name != "cpython" or sys.version_info < OLDEST:
        return None, "it needs CPython 3.9"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None, "this Python has no global lock"
    if not os.path.exists(path) or not os.path.getsize(path):
        return None, "there is none for this machine"
    try:
        return ctypes.PyDLL(path), None
    except OSError as error:
        return None, str(error)


class Library:
    """The library at work for a recorder."""

    stream = NativeStream

    def __init__(self, library, recorder, tracer=None):
        self._library, self._recorder = library, recorder
        library.unflake_callback.restype = ctypes.py_object
        disable = sys.monitoring.DISABLE if hasattr(sys, "monitoring") else None
        strands = recorder.strands
        self._asked = Asked(
            disable, None, self._learn, self._place, self._thread, self._task, strands.asyncio, self._more, tracer
        )
        self._strands, self._cursors = strands, {}
        if not library.unflake_open(ctypes.byref(self._asked)):
            raise OSError("this Python lacks a function")
        self.callback = library.unflake_callback()
        self.begin, self.end = library.unflake_begin, library.unflake_end
        self.trace = library.unflake_trace

    def _learn(self, code):
        known = self._recorder.learn(code)
        return None if known is None else (code.co_firstlineno, known.asynchronous)

    def _place(self, code, line):
        recorder = self._recorder
        return recorder.place(recorder.codes[id(code)], line)

    def _thread(self):
        return self._known(self._strands.of_thread())

    def _task(self, task):
        reference, stream = self._strands.of_task(task)
        return self._known(stream), reference

    def _known(self, stream):
        self._cursors[stream.address] = stream  # Also keeps it alive.
        return stream.address

    def _more(self, address):
        return self._cursors[address].more()

    def forget(self):
        """After an attempt. Threads that go on may still have their cursors at hand."""
        for address, stream in list(self._cursors.items()):
            if stream.ended:
                del self._cursors[address]


class NativeMonitoring(Monitoring):
    words = "sys.monitoring, natively"

    def __init__(self, recorder, library):
        Monitoring.__init__(self, recorder)
        self.library = Library(library, recorder)

    def _callbacks(self):
        return {self._monitoring.events.LINE: self.library.callback}


class NativeTracing(Tracing):
    words = "PyEval_SetTrace"

    def __init__(self, recorder, library):
        Tracing.__init__(self, recorder)
        trace = None

        def enter(frame, event, argument):
            """Called in a new thread, or where somebody has put back what `sys.gettrace` gave."""
            trace(1)

        self._enter = enter
        self.library = Library(library, recorder, enter)
        trace = self.library.trace

    def _start(self):
        self.library.trace(1)
