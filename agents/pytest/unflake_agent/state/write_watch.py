"""Finds the lines of the project that write watched cells.

After each line of the project's code the cells are checked. A cell that differs, in another way than
before, was written by that line, or by code outside the project that it called. The last such line
left the value. A line continues after a call returns, so the current line is tracked through returns
as well. While no line of the project runs, none is blamed.

Where the checks take long, such as of a generator that a test draws from a million times, the watch
gives up and reports no line.
"""

import os
import sys
import threading
import time

from ..common.boundary import check
from ..common.qualified_names import QualifiedNames
from .repr import is_same

TOOLS = 4, 3, 5, 1, 0, 2
# Seconds that all checks of one watch may take.
MOST_SECONDS = 10.0


class WriteWatch:
    def __init__(self, root, origins):
        self._root, self._of_file = os.path.join(os.path.realpath(root), ""), origins.of_file
        self._real, self._thread = os.path.realpath, threading.get_ident
        self._names = QualifiedNames()
        self._is_project, self._checks = {}, {}
        self._tracer = None
        self._clock, self._seconds = time.perf_counter, 0.0

    def start(self, checks):
        """`checks`: by cell, functions that return how it differs from what was remembered, as a list
        of values, or None."""
        self._checks, self._differences, self._found, self._current = {}, {}, {}, {}
        self._seconds = 0.0
        self.add(checks)
        if self._tracer is None:
            self._tracer = MonitoringTracer(self) if hasattr(sys, "monitoring") else SettraceTracer(self)
            self._tracer.start()

    def is_active(self):
        return self._tracer is not None

    def cells(self):
        return list(self._checks)

    def add(self, checks):
        self._checks.update(checks)
        self._differences.update((path, self._difference(path)) for path in checks)

    def finish(self):
        """Stops, and returns the lines that left the cells as they are, as `written` events."""
        if self._tracer is None:
            return []
        self.stop()
        return [
            {
                "cell": path,
                "file": self._real(code.co_filename)[len(self._root) :],
                "line": line,
                "function": self._names.of_code(code),
            }
            for path, (code, line) in self._found.items()
        ]

    def stop(self):
        if self._tracer is not None:
            self._tracer.stop()
            self._tracer = None

    def is_project(self, code):
        file = code.co_filename
        known = self._is_project.get(file)
        if known is None:
            path = self._real(file)
            # Code that is in no file has a name in angle brackets.
            known = not file.startswith("<") and path.startswith(self._root) and self._of_file(path) == "project"
            self._is_project[file] = known
        return known

    # -- Called by the tracer ----------------------------------------------------------------------

    def before_line(self, code, line):
        """Before a line of the project runs."""
        self._check_all()
        self._current[self._thread()] = code, line

    def after_return(self, frame):
        """A function of the project is left: the line of its caller continues."""
        self._check_all()
        caller = frame.f_back
        while caller is not None and not self.is_project(caller.f_code):
            caller = caller.f_back
        self._current[self._thread()] = (caller.f_code, caller.f_lineno) if caller is not None else None

    def _check_all(self):
        if not self._differences:
            return
        began = self._clock()
        self._check_each(self._current.get(self._thread()))
        self._seconds += self._clock() - began
        if self._seconds > MOST_SECONDS:
            # What was found may not be the last write.
            self._differences, self._found = {}, {}

    def _check_each(self, line):
        for path, before in self._differences.items():
            now = self._difference(path)
            if now is None and before is None or now is not None and before is not None and _is_same(before, now):
                continue
            self._differences[path] = now
            if now is None or line is None:
                self._found.pop(path, None)
            else:
                self._found[path] = line

    def _difference(self, path):
        """How a cell differs, by all its checks; None if it does not."""
        found = []
        for check in self._checks[path]:
            try:
                found.extend(check() or ())
            except Exception:
                pass  # Another thread is changing it.
        return found or None


def _is_same(before, now):
    return len(before) == len(now) and all(is_same(*pair) or _is_equal_state(*pair) for pair in zip(before, now))


def _is_equal_state(one, other):
    """Whether two copies of a state are equal: each reading makes a new one."""
    return getattr(type(one), "is_state", False) is True and type(one) is type(other) and one == other


class MonitoringTracer:
    """From Python 3.12 on."""

    def __init__(self, watch):
        self._watch, self._monitoring, self._frame = watch, sys.monitoring, sys._getframe
        self._tool = None

    def start(self):
        monitoring, events = self._monitoring, self._monitoring.events
        self._tool = next((tool for tool in TOOLS if monitoring.get_tool(tool) is None), None)
        if self._tool is None:
            return
        monitoring.use_tool_id(self._tool, "unflake")
        disable, watch, frame = monitoring.DISABLE, self._watch, self._frame

        def line(code, number):
            try:
                if not watch.is_project(code):
                    return disable
                watch.before_line(code, number)
            except Exception as error:
                check(error)
                raise

        def resume(code, offset):
            try:
                if not watch.is_project(code):
                    return disable
                watch.before_line(code, frame(1).f_lineno)
            except Exception as error:
                check(error)
                raise

        def after_return(code, offset, value):
            try:
                if not watch.is_project(code):
                    return disable
                watch.after_return(frame(1))
            except Exception as error:
                check(error)
                raise

        def unwind(code, offset, error):
            try:
                if watch.is_project(code):
                    watch.after_return(frame(1))
            except Exception as failure:
                check(failure)
                raise

        callbacks = {"LINE": line, "PY_RESUME": resume, "PY_RETURN": after_return, "PY_YIELD": after_return, "PY_UNWIND": unwind}
        for name, callback in callbacks.items():
            monitoring.register_callback(self._tool, getattr(events, name), callback)
        self._callbacks = callbacks
        monitoring.set_events(self._tool, sum(getattr(events, name) for name in callbacks))
        monitoring.restart_events()  # An earlier watch may have disabled lines.

    def stop(self):
        if self._tool is None:
            return
        self._monitoring.set_events(self._tool, 0)
        for name in self._callbacks:
            self._monitoring.register_callback(self._tool, getattr(self._monitoring.events, name), None)
        self._monitoring.free_tool_id(self._tool)


class SettraceTracer:
    """Before Python 3.12. A tracer that was set is restored afterwards."""

    def __init__(self, watch):
        self._watch = watch
        self._get, self._set, self._set_threads = sys.gettrace, sys.settrace, threading.settrace

    def start(self):
        watch = self._watch

        def within(frame, event, argument):
            try:
                if event == "line":
                    watch.before_line(frame.f_code, frame.f_lineno)
                elif event == "return":
                    watch.after_return(frame)
                return within
            except Exception as error:
                check(error)
                raise

        def enter(frame, event, argument):
            try:
                if event != "call" or not watch.is_project(frame.f_code):
                    return None
                # A generator resumes in the middle of a line.
                watch.before_line(frame.f_code, frame.f_lineno)
                return within
            except Exception as error:
                check(error)
                raise

        self._before = self._get(), getattr(threading, "_trace_hook", None)
        self._set_threads(enter)
        self._set(enter)

    def stop(self):
        self._set(self._before[0])
        self._set_threads(self._before[1])
