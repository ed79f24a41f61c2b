"""Sees the lines, branches and calls of the project's code: by `sys.monitoring`, else by `sys.settrace`.

Only whether a line or branch ran matters, so each is seen once per attempt and then costs as little
as possible; lines with `sys.monitoring` nothing. For the next attempt the events of the code that ran are
switched off and on again: restarting all events would make Python instrument all code anew.
"""

import dis
import os
import sys
import threading
from types import FunctionType

from .. import load
from ..common.boundary import check
from .branches import CodeBranches, write_branches

# Not the ids that Python assigns to debuggers, coverage and profilers: tests may use those tools.
TOOLS = 5, 4, 3
TOOL_NAME = "unflake layers"
RESUME, RETURN = dis.opmap.get("RESUME"), dis.opmap["RETURN_VALUE"]


def code_watch(project, file, wants_lines, wants_branches, calls, library):
    """`calls`: the recorder of calls or None. `library`: the path of the native tracer or None."""
    if hasattr(sys, "monitoring"):
        return MonitoringWatch(project, file, wants_lines, wants_branches, calls)
    if calls is None and not wants_branches and library is not None:
        loaded = load("trace.native").load_library(library)
        if loaded is not None:
            return load("layers.native").NativeWatch(loaded, project, file, wants_lines, False, None)
    return SettraceWatch(project, file, wants_lines, wants_branches, calls)


class WatchedCode:
    """Code of the project. Keeping it keeps its address, by which it is known, unique."""

    __slots__ = (
        "code", "file", "lines", "points", "branches", "taken", "has_offsets", "is_touched", "events", "def_line",
        "line_count", "bytecode",
    )

    def __init__(self, code, file, points, branches):
        self.code, self.file, self.points, self.branches = code, file, points, branches
        self.lines, self.taken, self.is_touched = set(), set(), False


class CodeWatch:
    def __init__(self, project, file, wants_lines, wants_branches, calls):
        self._project, self._file, self._wants_lines, self._calls = project, file, wants_lines, calls
        self._wants_branches = wants_branches
        self._layers = ["code"] * wants_lines + ["branch"] * wants_branches + ["behaviour"] * (calls is not None)
        self._codes = {}
        self._touched = []  # Code with events in the current attempt.
        self._in_attempt = False
        os.register_at_fork(after_in_child=self._in_child)

    def _in_child(self):
        """A process that a test forks is not recorded."""
        self._in_attempt = False

    def _learn(self, code):
        """What is known of new code; None if it is not the project's."""
        file = self._project.file(code.co_filename)
        if file is None:
            return None
        points = None
        if self._calls is not None:
            points = self._calls.points(code, file, self._project.qualified_name(code))
        branches = CodeBranches(code) if self._wants_branches else None
        known = self._codes[id(code)] = WatchedCode(code, file, points, branches)
        return known

    def _touch(self, known):
        if not known.is_touched:
            known.is_touched = True
            self._touched.append(known)

    def begin(self, item):
        touched, self._touched[:] = list(self._touched), []
        for known in touched:
            known.is_touched = False
            known.lines.clear()
            known.taken.clear()
        if self._calls is not None:
            self._calls.begin(item)
        self._in_attempt = True
        self._start(touched)

    def end(self, item):
        why = self._stop()
        self._in_attempt = False
        if why is not None:
            for layer in self._layers:
                self._file.gap(layer, why)
        if self._wants_lines:
            _write_lines(self._file, list(self._touched))
        if self._wants_branches:
            write_branches(self._file, list(self._touched))
        if self._calls is not None:
            self._calls.end()


class MonitoringWatch(CodeWatch):
    """Uses two tool ids: one discovers code when it first runs, the other observes the project's.

    Global events cannot be switched off and on for single code objects.
    """

    def __init__(self, *arguments):
        CodeWatch.__init__(self, *arguments)
        self._monitoring = monitoring = sys.monitoring
        events = monitoring.events
        self._start_event, self._line_event, self._return_event = events.PY_START, events.LINE, events.PY_RETURN
        # From 3.14 on each way is an event of its own, and can be switched off alone.
        self._has_sides = hasattr(events, "BRANCH_LEFT")
        branch_events = (events.BRANCH_LEFT, events.BRANCH_RIGHT) if self._has_sides else (events.BRANCH,)
        self._branch_events = sum(branch_events)
        free = [tool for tool in TOOLS if monitoring.get_tool(tool) is None]
        self._tools = free[:2] if len(free) > 1 else []
        if self._tools:
            for tool in self._tools:
                monitoring.use_tool_id(tool, TOOL_NAME)
            discovery, observer = self._tools
            discover, branch, *observe = self._callbacks(observer, sys._getframe)
            monitoring.register_callback(discovery, events.PY_START, discover)
            for event, callback in zip((events.PY_START, events.LINE, events.PY_RETURN), observe):
                monitoring.register_callback(observer, event, callback)
            for event in branch_events:
                monitoring.register_callback(observer, event, branch)
            monitoring.set_events(discovery, events.PY_START)

    def _has_tools(self):
        return bool(self._tools) and all(self._monitoring.get_tool(tool) == TOOL_NAME for tool in self._tools)

    def _start(self, touched):
        if self._has_tools():
            set_events, observer = self._monitoring.set_local_events, self._tools[1]
            for known in touched:
                set_events(observer, known.code, 0)
                set_events(observer, known.code, known.events)

    def _stop(self):
        """Why not everything was seen; None if it was."""
        if not self._tools:
            return "executed code was not recorded: all tool ids of sys.monitoring are in use"
        return None if self._has_tools() else "executed code was not recorded: another tool took its sys.monitoring id"

    def _choose_events(self, known):
        known.events, known.def_line = 0, None
        if self._wants_lines:
            known.events, known.def_line = self._line_event, line_of_def(known.code)
        if known.branches:
            known.events |= self._branch_events
            known.has_offsets = True
        if known.points is not None:
            known.events |= self._return_event
        if known.points is not None or known.def_line is not None:
            known.events |= self._start_event
        return known.events

    def _callbacks(self, observer, frame):
        codes, calls, touch, disable = self._codes, self._calls, self._touch, self._monitoring.DISABLE
        set_events, has_sides = self._monitoring.set_local_events, self._has_sides

        def discover(code, offset):
            try:
                known = self._learn(code) if id(code) not in codes else None
                if known is not None:
                    set_events(observer, code, self._choose_events(known))
                    enter(known, frame(1))
                return disable
            except Exception as error:
                check(error)
                raise

        def enter(known, called):
            if known.def_line is not None:
                known.lines.add(known.def_line)
                touch(known)
            if known.points is None:
                return disable
            if not self._in_attempt or calls.enter(known.points, called):
                return None
            touch(known)
            return disable

        def start(code, offset):
            try:
                known = codes.get(id(code))
                return enter(known, frame(1)) if known is not None else disable
            except Exception as error:
                check(error)
                raise

        def line(code, number):
            try:
                known = codes.get(id(code))
                if known is not None:
                    known.lines.add(number)
                    if not known.is_touched:  # Checked here because this runs for every line.
                        touch(known)
                return disable
            except Exception as error:
                check(error)
                raise

        def branch(code, offset, destination):
            try:
                known = codes.get(id(code))
                if known is None or not known.branches:
                    return disable
                taken, way = known.taken, (offset, destination)
                if way not in taken:
                    if has_sides or any(before == offset for before, _ in list(taken)):
                        taken.add(way)
                        return disable
                    taken.add(way)
                    touch(known)
                return None
            except Exception as error:
                check(error)
                raise

        def leave(code, offset, value):
            try:
                known = codes.get(id(code))
                if known is None or known.points is None:
                    return disable
                if not self._in_attempt or calls.leave(known.points, frame(1), value):
                    return None
                touch(known)
                return disable
            except Exception as error:
                check(error)
                raise

        return discover, branch, start, line, leave


class SettraceWatch(CodeWatch):
    def __init__(self, *arguments):
        CodeWatch.__init__(self, *arguments)
        self._get, self._set, self._set_threads = sys.gettrace, sys.settrace, threading.settrace
        self._enter = self._callback()
        self._other_tracer = None

    def _start(self, touched):
        before = self._get()
        self._other_tracer = None
        if before is not None and before is not self._enter:
            # A tracer is a function or an object of a class.
            module = before.__module__ if type(before) is FunctionType else getattr(type(before), "__module__", "?")
            self._other_tracer = str(module).partition(".")[0]
            return
        self._set_threads(self._enter)
        self._trace()

    def _trace(self):
        self._set(self._enter)

    def _stop(self):
        """Why not everything was seen; None if it was."""
        if self._other_tracer is not None:
            return "executed code was not recorded: another tracer is active (%s)" % self._other_tracer
        was_replaced = self._get() is not self._enter
        if not was_replaced:
            self._set(None)
        self._set_threads(None)
        return "executed code was not recorded after another tracer started" if was_replaced else None

    def _callback(self):
        codes, project, calls, touch, wants_lines = self._codes, self._project, self._calls, self._touch, self._wants_lines

        def stepping():
            """For one call: remembers the line before."""
            last = [None]

            def step(frame, event, argument):
                try:
                    if event == "line":
                        line = frame.f_lineno
                        codes[id(frame.f_code)].taken.add((last[0], line))
                        last[0] = line
                    within(frame, event, argument)
                    frame.f_trace_lines = True
                    return step
                except Exception as error:
                    check(error)
                    raise

            return step

        def within(frame, event, argument):
            try:
                if event == "line":
                    known = codes[id(frame.f_code)]
                    known.lines.add(frame.f_lineno)
                    if len(known.lines) >= known.line_count:
                        frame.f_trace_lines = False
                elif event == "return" and self._in_attempt:
                    known = codes[id(frame.f_code)]
                    # `return`, `yield` and an exception are the same event.
                    if known.points is not None and known.bytecode[frame.f_lasti] == RETURN:
                        calls.leave(known.points, frame, argument)
                return within
            except Exception as error:
                check(error)
                raise

        def enter(frame, event, argument):
            try:
                code = frame.f_code
                known = codes.get(id(code))
                if known is None:
                    if project.file(code.co_filename) is None:
                        return None
                    known = self._learn(code)
                    known.line_count, known.bytecode = count_lines(code), code.co_code
                touch(known)
                has_lines, has_calls = wants_lines and len(known.lines) < known.line_count, False
                if known.points is not None and self._in_attempt:
                    if is_function_start(known, frame.f_lasti):
                        calls.enter(known.points, frame)
                    has_calls = calls.may_leave(known.points)
                known.has_offsets = False
                if known.branches:
                    frame.f_trace_lines = True
                    return stepping()
                if not has_lines and not has_calls:
                    return None
                frame.f_trace_lines = has_lines
                return within
            except Exception as error:
                check(error)
                raise

        return enter


def body_offset(code):
    """The offset of a function's own instructions. From 3.11 on others come before them."""
    return 2 * code.co_code[::2].index(RESUME) + 2 if RESUME is not None else 0


def line_of_def(code):
    """The line of a one-line function such as `def f(): return 1`; None for others.

    Some Pythons have no line event for it.
    """
    begin = body_offset(code)
    before, after = [next((line for start, end, line in code.co_lines() if start <= at < end), None) for at in (begin - 2, begin)]
    return after if before == after else None


def count_lines(code):
    """At least as many lines as a tracer can see in a function."""
    if not hasattr(code, "co_lines"):
        return len({line for _, line in dis.findlinestarts(code)})
    begin = body_offset(code)
    return len({line for _, end, line in code.co_lines() if line is not None and end > begin})


def is_function_start(known, offset):
    """Whether a call begins there. Otherwise a generator resumes."""
    return offset < 0 if RESUME is None else known.bytecode[offset] == RESUME and not known.bytecode[offset + 1]


def _write_lines(layer_file, codes):
    """Writes the lines of an attempt at its end: one by one would take longer than to run them."""
    files = {}
    for known in codes:
        if known.lines:
            files.setdefault(known.file, set()).update(list(known.lines))  # Threads may still run.
    for file in sorted(files):
        line = ["lines", layer_file.file_number(file), _spans(sorted(files[file]))]
        layer_file.buffer(layer_file.encode(line))


def _spans(lines):
    spans = []
    for line in lines:
        if spans and spans[-1][1] == line - 1:
            spans[-1][1] = line
        else:
            spans.append([line, line])
    return spans
