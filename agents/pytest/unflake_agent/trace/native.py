"""Records lines with a native library (`agents/pytest/tracer`), which is faster than Python.

The library stores place ids by itself. It calls back here for what happens once: which code is the
project's, the id of a line, the stream of a thread, room for more events.
"""

import ctypes
import os
import sys
import sysconfig

from ..common.boundary import guarded
from .lines import MonitoringTracer, SettraceTracer
from .mapped_files import DROPPED, EventStream

OLDEST_PYTHON = 3, 9


class Cursor(ctypes.Structure):
    """Addresses of the next id, of the end of the room, and of the count of dropped events."""

    _fields_ = [("next", ctypes.c_size_t), ("end", ctypes.c_size_t), ("dropped", ctypes.c_size_t)]


class Callbacks(ctypes.Structure):
    """In the order in which `tracer.rs` declares them."""

    _fields_ = [
        (name, ctypes.py_object)
        for name in ("disable", "none", "learn", "place", "thread", "task", "asyncio", "grow", "tracer", "line")
    ]


class NativeStream(EventStream):
    def __init__(self, *arguments):
        EventStream.__init__(self, *arguments)
        self.cursor, self.base, self.discarded = Cursor(), 0, ctypes.c_uint64()
        self.address = ctypes.addressof(self.cursor)

    def count(self):
        if self.cursor.end:
            self.used = (self.cursor.next - self.base) // 4
        return EventStream.count(self)

    def grow(self):
        self.count()
        cursor = self.cursor
        if EventStream.grow(self):
            cursor.next, cursor.end = self.base, self.base + 4 * self.capacity
            return True
        self._close()
        return False

    def _close(self):
        """From now on the library only counts events."""
        self.count()
        first, cursor = self.file.first, self.cursor
        cursor.dropped = ctypes.addressof(self.discarded) if first is None else first + DROPPED
        cursor.next = cursor.end = 0

    def truncate(self, why, errno=0):
        self.count()
        return EventStream.truncate(self, why, errno)

    def finish(self):
        self.count()
        self.cursor.next = self.cursor.end = 0
        EventStream.finish(self)


def load_library(path):
    """The library; None if this Python or machine cannot use it."""
    if sys.implementation.name != "cpython" or sys.version_info < OLDEST_PYTHON:
        return None
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None
    if not os.path.exists(path) or not os.path.getsize(path):
        return None  # Builds for other machines contain an empty file.
    try:
        return ctypes.PyDLL(path)
    except OSError:
        return None


class Library:
    """The library at work for a recorder."""

    stream = NativeStream

    def __init__(self, library, recorder, tracer=None):
        self._library, self._recorder = library, recorder
        library.unflake_callback.restype = ctypes.py_object
        disable = sys.monitoring.DISABLE if hasattr(sys, "monitoring") else None
        threads = recorder.threads
        self._callbacks = Callbacks(
            disable,
            None,
            guarded(self._learn),
            guarded(self._place),
            guarded(self._thread),
            guarded(self._task),
            guarded(threads.asyncio),
            guarded(self._grow),
            tracer,
            recorder.line,
        )
        self._threads, self._streams = threads, {}
        if not library.unflake_open(ctypes.byref(self._callbacks)):
            raise OSError("this Python lacks a function")
        self.callback = library.unflake_callback()
        self.begin, self.end = library.unflake_begin, library.unflake_end
        self.trace = library.unflake_trace

    def _learn(self, code):
        known = self._recorder.learn(code)
        return None if known is None else (code.co_firstlineno, known.is_async)

    def _place(self, code, line):
        recorder = self._recorder
        return recorder.place(recorder.codes[id(code)], line)

    def _thread(self):
        return self._register(self._threads.of_thread())

    def _task(self, task):
        reference, stream = self._threads.of_task(task)
        return self._register(stream), reference

    def _register(self, stream):
        self._streams[stream.address] = stream  # Also keeps it alive.
        return stream.address

    def _grow(self, address):
        return self._streams[address].grow()

    def forget(self):
        """After an attempt. Threads that still run may use their cursors."""
        for address, stream in list(self._streams.items()):
            if stream.has_ended:
                del self._streams[address]


class NativeMonitoringTracer(MonitoringTracer):
    name = "sys.monitoring, natively"

    def __init__(self, recorder, library):
        MonitoringTracer.__init__(self, recorder)
        self.library = Library(library, recorder)

    def _callbacks(self):
        return {self._monitoring.events.LINE: self.library.callback}


class NativeSettraceTracer(SettraceTracer):
    name = "PyEval_SetTrace"

    def __init__(self, recorder, library):
        SettraceTracer.__init__(self, recorder)
        trace = None

        def enter(frame, event, argument):
            """Called in a new thread, and after code that restores what `sys.gettrace` returned."""
            trace(1)

        self._enter = enter
        self.library = Library(library, recorder, enter)
        trace = self.library.trace

    def _start(self):
        self.library.trace(1)
