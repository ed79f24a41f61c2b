"""Two ways to see the project's code run, for those who want its lines or its calls: `sys.monitoring` where it is there, else
`sys.settrace`. PYTEST_DONT_REWRITE

A line is seen once an attempt, and then as far as possible no more: what is asked is whether it ran. With `sys.monitoring` it is free
from then on; to begin anew only the code that ran is switched off and on again, because to restart all events would have all code of
the process looked at again.
"""

import dis
import sys
import threading
from types import FunctionType

from .. import bring
from .code import tell_lines

# Not those that Python names for debuggers, coverage and profilers: a test that uses one of these must find it free.
TOOLS = 5, 4, 3
NAME = "unflake layers"
RESUME, RETURN = dis.opmap.get("RESUME"), dis.opmap["RETURN_VALUE"]


def watch(own, sheet, wants_lines, calls, library):
    """`calls`: who wants to know of them, or None. `library`: the path of the native tracer, or None."""
    if hasattr(sys, "monitoring"):
        return Monitoring(own, sheet, wants_lines, calls)
    if calls is None and library is not None:
        found, _ = bring("trace.native").load(library)
        if found is not None:
            return bring("layers.native").NativeTracing(found, own, sheet, wants_lines, calls)
    return Tracing(own, sheet, wants_lines, calls)


class Code:
    """Code of the project. It is kept: its address is its name."""

    __slots__ = "code", "file", "lines", "points", "is_touched", "events", "first", "most", "bytes"

    def __init__(self, code, file, points):
        self.code, self.file, self.points = code, file, points
        self.lines, self.is_touched = set(), False


class Watch:
    def __init__(self, own, sheet, wants_lines, calls):
        self._own, self._sheet, self._wants_lines, self._calls = own, sheet, wants_lines, calls
        self._layers = ["code"] * wants_lines + ["behaviour"] * (calls is not None)
        self._codes = {}
        self._touched = []  # Code that has told something since the attempt began.
        self._in_attempt = False

    def _learn(self, code):
        """What is to be known of code that was never seen; None if it is not the project's."""
        file = self._own.file(code.co_filename)
        if file is None:
            return None
        points = self._calls.points(code, file, self._own.function(code)) if self._calls is not None else None
        known = self._codes[id(code)] = Code(code, file, points)
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
        if self._calls is not None:
            self._calls.begin(item)
        self._in_attempt = True
        self._start(touched)

    def end(self, item):
        why = self._stop()
        self._in_attempt = False
        if why is not None:
            for layer in self._layers:
                self._sheet.gap(layer, why)
        if self._wants_lines:
            tell_lines(self._sheet, list(self._touched))
        if self._calls is not None:
            self._calls.end()


class Monitoring(Watch):
    """Takes two numbers: one finds code when it is entered for the first time, the other looks at the project's alone. Events that
    are on everywhere could not be switched off and on again for some code."""

    def __init__(self, *arguments):
        Watch.__init__(self, *arguments)
        self._monitoring = monitoring = sys.monitoring
        events = monitoring.events
        self._start_event, self._line_event, self._return_event = events.PY_START, events.LINE, events.PY_RETURN
        free = [tool for tool in TOOLS if monitoring.get_tool(tool) is None]
        self._tools = free[:2] if len(free) > 1 else []
        if self._tools:
            for tool in self._tools:
                monitoring.use_tool_id(tool, NAME)
            finder, looker = self._tools
            find, *look = self._callbacks(looker, sys._getframe)
            monitoring.register_callback(finder, events.PY_START, find)
            for event, callback in zip((events.PY_START, events.LINE, events.PY_RETURN), look):
                monitoring.register_callback(looker, event, callback)
            monitoring.set_events(finder, events.PY_START)

    def _is_ours(self):
        return bool(self._tools) and all(self._monitoring.get_tool(tool) == NAME for tool in self._tools)

    def _start(self, touched):
        if self._is_ours():
            switch, looker = self._monitoring.set_local_events, self._tools[1]
            for known in touched:
                switch(looker, known.code, 0)
                switch(looker, known.code, known.events)

    def _stop(self):
        """Why not everything was seen."""
        if not self._tools:
            return "what ran was not seen: the numbers of sys.monitoring are taken by other tools"
        return None if self._is_ours() else "what ran was not seen: its number of sys.monitoring was given to another tool"

    def _equip(self, known):
        """The events that code has to tell of."""
        known.events, known.first = 0, None
        if self._wants_lines:
            known.events, known.first = self._line_event, first_line(known.code)
        if known.points is not None:
            known.events |= self._return_event
        if known.points is not None or known.first is not None:
            known.events |= self._start_event
        return known.events

    def _callbacks(self, looker, frame):
        codes, calls, touch, disable = self._codes, self._calls, self._touch, self._monitoring.DISABLE
        switch = self._monitoring.set_local_events

        def find(code, offset):
            known = self._learn(code) if id(code) not in codes else None
            if known is not None:
                switch(looker, code, self._equip(known))
                enter(known, frame(1))
            return disable

        def enter(known, called):
            if known.first is not None:
                known.lines.add(known.first)
                touch(known)
            if known.points is None:
                return disable
            if not self._in_attempt or calls.enter(known.points, called):
                return None
            touch(known)
            return disable

        def start(code, offset):
            known = codes.get(id(code))
            return enter(known, frame(1)) if known is not None else disable

        def line(code, number):
            known = codes.get(id(code))
            if known is not None:
                known.lines.add(number)
                if not known.is_touched:  # Here, because it is asked for every line.
                    touch(known)
            return disable

        def leave(code, offset, value):
            known = codes.get(id(code))
            if known is None or known.points is None:
                return disable
            if not self._in_attempt or calls.leave(known.points, frame(1), value):
                return None
            touch(known)
            return disable

        return find, start, line, leave


class Tracing(Watch):
    def __init__(self, *arguments):
        Watch.__init__(self, *arguments)
        self._get, self._set, self._set_threads = sys.gettrace, sys.settrace, threading.settrace
        self._enter = self._callback()
        self._other = None

    def _start(self, touched):
        before = self._get()
        self._other = None
        if before is not None and before is not self._enter:
            # A function, or an object of a class, of some module.
            module = before.__module__ if type(before) is FunctionType else getattr(type(before), "__module__", "?")
            self._other = str(module).partition(".")[0]
            return
        self._set_threads(self._enter)
        self._trace()

    def _trace(self):
        self._set(self._enter)

    def _stop(self):
        if self._other is not None:
            return "what ran was not seen: another tracer is at work (%s)" % self._other
        taken = self._get() is not self._enter
        if not taken:
            self._set(None)
        self._set_threads(None)
        return "what ran was not seen any more after somebody else had begun to trace" if taken else None

    def _callback(self):
        codes, own, calls, touch, wants_lines = self._codes, self._own, self._calls, self._touch, self._wants_lines

        def within(frame, event, argument):
            if event == "line":
                known = codes[id(frame.f_code)]
                known.lines.add(frame.f_lineno)
                if len(known.lines) >= known.most:
                    frame.f_trace_lines = False
            elif event == "return" and self._in_attempt:
                known = codes[id(frame.f_code)]
                # A tracer is told of `return`, of `yield` and of an exception alike.
                if known.points is not None and known.bytes[frame.f_lasti] == RETURN:
                    calls.leave(known.points, frame, argument)
            return within

        def enter(frame, event, argument):
            code = frame.f_code
            known = codes.get(id(code))
            if known is None:
                if own.file(code.co_filename) is None:
                    return None
                known = self._learn(code)
                known.most, known.bytes = lines_in(code), code.co_code
            touch(known)
            has_lines, has_calls = wants_lines and len(known.lines) < known.most, False
            if known.points is not None and self._in_attempt:
                if begins(known, frame.f_lasti):
                    calls.enter(known.points, frame)
                has_calls = calls.may_leave(known.points)
            if not has_lines and not has_calls:
                return None
            frame.f_trace_lines = has_lines
            return within

        return enter


def beginning(code):
    """Where the part of a function begins that is its own: from 3.11 on something else comes before it."""
    return 2 * code.co_code[::2].index(RESUME) + 2 if RESUME is not None else 0


def first_line(code):
    """The line in which a function and its body begin, as in `def f(): return 1`, of which some Pythons tell nothing."""
    begin = beginning(code)
    before, after = [next((line for start, end, line in code.co_lines() if start <= at < end), None) for at in (begin - 2, begin)]
    return after if before == after else None


def lines_in(code):
    """How many lines of a function a tracer may see; rather too many than too few."""
    if not hasattr(code, "co_lines"):
        return len({line for _, line in dis.findlinestarts(code)})
    begin = beginning(code)
    return len({line for _, end, line in code.co_lines() if line is not None and end > begin})


def begins(known, at):
    """Whether a function is entered there, and not a generator gone on with."""
    return at < 0 if RESUME is None else known.bytes[at] == RESUME and not known.bytes[at + 1]
