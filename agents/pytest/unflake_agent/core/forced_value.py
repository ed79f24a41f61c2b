"""Forces a variable to a value at one line, to see whether the value decides the outcome of a test.

Standalone: `unflake under` gives this file to pytest without the agent.
"""

import ast
import ctypes
import dis
import sys
import threading

import pytest


def is_in_file(path, end):
    path = path.replace("\\", "/")
    return path == end or path.endswith("/" + end)


class ForcedValue:
    """A plugin. The variable gets the value each time when the line has run, before the next one.

    A setting is `file:line:name=literal`. The file is the end of a path; the name is that of a local
    variable, or of an attribute of one.
    """

    def __init__(self, setting):
        place, _, text = setting.partition("=")
        self._file, line, name = place.rsplit(":", 2)
        self._line = int(line)
        self._first, *self._attributes = name.split(".")
        self._value = ast.literal_eval(text)
        self._targets = {}
        self._settrace, self._threads = sys.settrace, threading.settrace
        self._start()

    def _start(self):
        self._settrace(self._call)
        self._threads(self._call)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        self._start()  # A test before it may have stopped tracing.
        yield

    def _call(self, frame, event, argument):
        code = frame.f_code
        is_target = self._targets.get(code)
        if is_target is None:
            is_target = self._targets[code] = self._is_in(code)
        if not is_target:
            return None
        has_run = False

        def line(frame, event, argument):
            nonlocal has_run
            if has_run and event in ("line", "return"):
                self._force(frame)
            has_run = event == "line" and frame.f_lineno == self._line
            return line

        return line

    def _is_in(self, code):
        return is_in_file(code.co_filename, self._file) and any(line == self._line for _, line in dis.findlinestarts(code))

    def _force(self, frame):
        if not self._attributes:
            frame.f_locals[self._first] = self._value
            if sys.version_info < (3, 13):  # From then on f_locals writes through.
                ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
            return
        holder = frame.f_locals[self._first]
        for name in self._attributes[:-1]:
            holder = getattr(holder, name)
        setattr(holder, self._attributes[-1], self._value)
