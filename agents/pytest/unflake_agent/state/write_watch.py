"""Which lines of the project write watched cells. PYTEST_DONT_REWRITE

After each line of the project's code the cells are looked at. What differs then was written by that line, or by what it
called outside the project. A line goes on after what it called has returned, so who is at work is followed through
returns as well; where nobody of the project is, nobody is blamed.
"""

import os
import sys
import threading

from ..common.qualified_names import Qualified

MOST_TIMES = 10
TOOLS = 4, 3, 5, 1, 0, 2


class Watch:
    def __init__(self, root, origins):
        self._root, self._of_file = os.path.join(os.path.realpath(root), ""), origins.of_file
        self._real, self._thread, self._frame = os.path.realpath, threading.get_ident, sys._getframe
        self._qualified = Qualified()
        self._ours, self._checks = {}, {}
        self._eyes = None

    def begin(self, cells, checks):
        """From now on. A cell for which there is no check is in nothing that was remembered."""
        self._checks = checks
        self._differing = {path for path in checks if self._differs(path)}
        self._found, self._times, self._at = [], {}, {}
        if self._eyes is None:
            self._eyes = Monitoring(self) if hasattr(sys, "monitoring") else Tracing(self)
            self._eyes.open()

    def end(self):
        """Lines that made a cell differ, in the order in which they did: cell, file, line, function."""
        if self._eyes is None:
            return []
        self.forget()
        return [
            {
                "cell": path,
                "file": self._real(code.co_filename)[len(self._root) :],
                "line": line,
                "function": self._name(code),
            }
            for path, code, line in self._found
        ]

    def forget(self):
        if self._eyes is not None:
            self._eyes.close()
            self._eyes = None

    def _name(self, code):
        name = getattr(code, "co_qualname", None)
        return name or self._qualified(code.co_filename, code.co_firstlineno, code.co_name)

    def is_ours(self, code):
        file = code.co_filename
        known = self._ours.get(file)
        if known is None:
            path = self._real(file)
            # Code that is in no file has a name in brackets.
            known = not file.startswith("<") and path.startswith(self._root) and self._of_file(path) == "project"
            self._ours[file] = known
        return known

    # -- What the eyes see --------------------------------------------------------------------------------------------

    def step(self, code, line):
        """Before a line of the project's."""
        self._look()
        self._at[self._thread()] = code, line

    def leave(self, frame):
        """After the last line of a function of the project's: its caller's line goes on."""
        self._look()
        caller = frame.f_back
        while caller is not None and not self.is_ours(caller.f_code):
            caller = caller.f_back
        self._at[self._thread()] = (caller.f_code, caller.f_lineno) if caller is not None else None

    def _look(self):
        at = self._at.get(self._thread())
        for path in self._checks:
            if self._differs(path):
                if path not in self._differing:
                    self._differing.add(path)
                    self._times[path] = self._times.get(path, 0) + 1
                    if at is not None and self._times[path] <= MOST_TIMES:
                        self._found.append((path,) + at)
            else:
                self._differing.discard(path)

    def _differs(self, path):
        for check in self._checks[path]:
            try:
                if check():
                    return True
            except Exception:
                pass  # It is being changed by somebody else right now.
        return False


class Monitoring:
    """The eyes from 3.12 on."""

    def __init__(self, watch):
        self._watch, self._monitoring, self._frame = watch, sys.monitoring, sys._getframe
        self._tool = None

    def open(self):
        monitoring, events = self._monitoring, self._monitoring.events
        self._tool = next((tool for tool in TOOLS if monitoring.get_tool(tool) is None), None)
        if self._tool is None:
            return
        monitoring.use_tool_id(self._tool, "unflake")
        never, watch, frame = monitoring.DISABLE, self._watch, self._frame

        def line(code, number):
            if not watch.is_ours(code):
                return never
            watch.step(code, number)

        def resume(code, offset):
            if not watch.is_ours(code):
                return never
            watch.step(code, frame(1).f_lineno)

        def leave(code, offset, value):
            if not watch.is_ours(code):
                return never
            watch.leave(frame(1))

        def unwind(code, offset, error):
            if watch.is_ours(code):
                watch.leave(frame(1))

        seers = {"LINE": line, "PY_RESUME": resume, "PY_RETURN": leave, "PY_YIELD": leave, "PY_UNWIND": unwind}
        for name, seer in seers.items():
            monitoring.register_callback(self._tool, getattr(events, name), seer)
        self._seers = seers
        monitoring.set_events(self._tool, sum(getattr(events, name) for name in seers))
        monitoring.restart_events()  # Lines may have been given up by an earlier watch.

    def close(self):
        if self._tool is None:
            return
        self._monitoring.set_events(self._tool, 0)
        for name in self._seers:
            self._monitoring.register_callback(self._tool, getattr(self._monitoring.events, name), None)
        self._monitoring.free_tool_id(self._tool)


class Tracing:
    """The eyes before 3.12. A tracer that was there is put back afterwards."""

    def __init__(self, watch):
        self._watch = watch
        self._get, self._set, self._set_threads = sys.gettrace, sys.settrace, threading.settrace

    def open(self):
        watch = self._watch

        def within(frame, event, argument):
            if event == "line":
                watch.step(frame.f_code, frame.f_lineno)
            elif event == "return":
                watch.leave(frame)
            return within

        def enter(frame, event, argument):
            if event != "call" or not watch.is_ours(frame.f_code):
                return None
            watch.step(frame.f_code, frame.f_lineno)  # A generator goes on in the middle of a line.
            return within

        self._before = self._get(), getattr(threading, "_trace_hook", None)
        self._set_threads(enter)
        self._set(enter)

    def close(self):
        self._set(self._before[0])
        self._set_threads(self._before[1])
