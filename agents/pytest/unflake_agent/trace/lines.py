"""Sees the lines of the project's code as they run: by `sys.monitoring`, else by `sys.settrace`."""

import dis
import sys
import threading

from ..common.boundary import check
from .mapped_files import TRACER_REPLACED
from .name_chains import lines_of
from .threads import ASYNC_FLAGS

TOOLS = 4, 3, 5, 1, 0, 2
TOOL_NAME = "unflake trace"
UNKNOWN = object()
RETURN = dis.opmap["RETURN_VALUE"]
GENERATOR_FLAGS = 0x20 | ASYNC_FLAGS


class TracedCode:
    """Code of the project. Keeping it keeps its address, by which it is known, unique."""

    __slots__ = "code", "file", "function", "places", "is_async", "_bytecode", "_lines"

    def __init__(self, code, file, function):
        self.code, self.file, self.function = code, file, function
        self.places = {}
        self.is_async = bool(code.co_flags & ASYNC_FLAGS)
        self._bytecode = self._lines = None

    def line(self, number):
        """What a line mentions, or None."""
        if self._lines is None:
            self._lines = lines_of(self.code)
        return self._lines.get(number)

    def returns_at(self, offset):
        """Whether a function returns there. `sys.settrace` reports yields and exceptions alike."""
        if self._bytecode is None:
            self._bytecode = self.code.co_code
        return self._bytecode[offset] == RETURN


class LineRecorder:
    """Records the lines of the current attempt."""

    def __init__(self, project, threads, variables=None, nondeterminism=None, line=None):
        """`variables` and `nondeterminism` are None unless values are recorded. `line`: also called."""
        self.project, self.threads = project, threads
        self.variables, self.nondeterminism = variables, nondeterminism
        self.process = self._paused = None
        self.library, self.line = None, line
        self.codes = {}
        self._kept = []  # Other code too, so that its address stays unique.
        self.places = None

    def begin(self, process):
        self.threads.begin(process)
        if self.variables is not None:
            self.variables.begin(process)
            self.nondeterminism.begin(process)
        self.process = process
        if self.library is not None:
            self.library.begin()

    def pause(self):
        """Records nothing until `resume`."""
        if self.library is not None:
            self.library.end()
        self._paused, self.process = self.process, None

    def resume(self):
        self.process = self._paused
        if self.library is not None:
            self.library.begin()  # This thread may have another stream now.

    def end(self):
        process, self.process = self.process, None
        if self.library is not None:
            self.library.end()
        self.threads.end()
        if self.variables is not None:
            self.variables.end()
        process.finish()
        if self.library is not None:
            self.library.forget()

    def tracer_was_replaced(self):
        """Another tracer was set, so the main thread's stream stops somewhere."""
        stream = self.threads.current()
        if stream.count():
            stream.truncate(TRACER_REPLACED)

    def learn(self, code):
        """What is known of new code; None if it is not the project's."""
        file = self.project.file(code.co_filename)
        known = TracedCode(code, file, self.project.qualified_name(code)) if file is not None else None
        self._kept.append(code)
        self.codes[id(code)] = known
        return known

    def place(self, known, line):
        return known.places.get(line) or self.places.add(known, line)

    def step(self, known, line, frame=None):
        """A line is about to run. `frame`: only if values are recorded."""
        if known.is_async:
            self.threads.saw_coroutine()
        process, stream = self.process, self.threads.current()
        if stream.process is not process:
            return  # The attempt has ended, and this thread still runs.
        if frame is not None:
            self.variables.before(frame, stream)
        place = self.place(known, line)
        stream.add(place)
        if frame is not None:
            mentioned = known.line(line)
            self.variables.after(frame, place, mentioned, stream)
            self.nondeterminism.before(frame, mentioned, place)
        if self.line is not None:
            self.line(known.code, line)

    def suspend(self, frame):
        """A generator or coroutine yields."""
        self.variables.before(frame, self.threads.current())

    def leave(self, frame, *value):
        self.variables.leave(frame, self.threads.current(), *value)


class MonitoringTracer:
    library = None
    name = "sys.monitoring"

    def __init__(self, recorder):
        self._recorder, self._monitoring, self._frame = recorder, sys.monitoring, sys._getframe
        self._tool, self._events = None, 0

    def start(self):
        """Why it cannot start; None if it has."""
        monitoring = self._monitoring
        self._tool = next((tool for tool in TOOLS if monitoring.get_tool(tool) is None), None)
        if self._tool is None:
            return "all tool ids of sys.monitoring are in use"
        monitoring.use_tool_id(self._tool, TOOL_NAME)
        for event, callback in self._callbacks().items():
            self._events |= event
            monitoring.register_callback(self._tool, event, callback)
        monitoring.set_events(self._tool, self._events)
        return None

    def begin(self):
        """Events are always on; the recorder ignores those outside of attempts."""

    def end(self):
        """Whether other code has freed the tool id or changed its events."""
        return self._monitoring.get_tool(self._tool) != TOOL_NAME or self._monitoring.get_events(self._tool) != self._events

    def _callbacks(self):
        recorder, codes, frame, events = self._recorder, self._recorder.codes, self._frame, self._monitoring.events
        learn, disable = recorder.learn, self._monitoring.DISABLE

        def line(code, number):
            try:
                known = codes.get(id(code), UNKNOWN)
                if known is UNKNOWN:
                    known = learn(code)
                if known is None:
                    return disable
                if recorder.process is not None:
                    recorder.step(known, number)
                return None
            except Exception as error:
                check(error)
                raise

        def line_with_values(code, number):
            try:
                known = codes.get(id(code), UNKNOWN)
                if known is UNKNOWN:
                    known = learn(code)
                if known is None:
                    return disable
                if recorder.process is not None:
                    recorder.step(known, number, frame(1))
                return None
            except Exception as error:
                check(error)
                raise

        def returns(code, offset, value):
            try:
                if codes.get(id(code)) is None:
                    return disable
                if recorder.process is not None:
                    recorder.leave(frame(1), value)
                return None
            except Exception as error:
                check(error)
                raise

        def yields(code, offset, value):
            try:
                if codes.get(id(code)) is None:
                    return disable
                if recorder.process is not None:
                    recorder.suspend(frame(1))
                return None
            except Exception as error:
                check(error)
                raise

        def unwinds(code, offset, error):
            try:
                if codes.get(id(code)) is not None and recorder.process is not None:
                    recorder.leave(frame(1))
            except Exception as failure:
                check(failure)
                raise

        if recorder.variables is None:
            return {events.LINE: line}
        return {
            events.LINE: line_with_values,
            events.PY_RETURN: returns,
            events.PY_YIELD: yields,
            events.PY_UNWIND: unwinds,
        }


class SettraceTracer:
    library = None
    name = "sys.settrace"

    def __init__(self, recorder):
        self._recorder = recorder
        self._get, self._set, self._set_threads = sys.gettrace, sys.settrace, threading.settrace
        self._enter = self._callback()

    def start(self):
        return None

    def begin(self):
        """Why it cannot begin; None if it has."""
        before = self._get()
        if before is not None and before is not self._enter:
            name = getattr(type(before), "__module__", "?").partition(".")[0]
            return "another tracer is active (%s)" % name
        self._set_threads(self._enter)
        self._start()
        return None

    def _start(self):
        self._set(self._enter)

    def end(self):
        """Whether another tracer was set meanwhile."""
        was_replaced = self._get() is not self._enter
        if not was_replaced:
            self._set(None)
        self._set_threads(None)
        return was_replaced

    def _callback(self):
        recorder, codes, learn = self._recorder, self._recorder.codes, self._recorder.learn

        def within(frame, event, argument):
            try:
                if event == "line" and recorder.process is not None:
                    recorder.step(codes[id(frame.f_code)], frame.f_lineno)
                return within
            except Exception as error:
                check(error)
                raise

        def within_with_values(frame, event, argument):
            try:
                if recorder.process is None:
                    return within_with_values
                if event == "line":
                    recorder.step(codes[id(frame.f_code)], frame.f_lineno, frame)
                elif event == "return":
                    code = frame.f_code
                    if codes[id(code)].returns_at(frame.f_lasti):
                        recorder.leave(frame, argument)
                    elif argument is None and not code.co_flags & GENERATOR_FLAGS:
                        recorder.leave(frame)
                    else:
                        recorder.suspend(frame)
                return within_with_values
            except Exception as error:
                check(error)
                raise

        inner = within if recorder.variables is None else within_with_values

        def enter(frame, event, argument):
            try:
                code = frame.f_code
                known = codes.get(id(code), UNKNOWN)
                if known is UNKNOWN:
                    known = learn(code)
                return inner if known is not None else None
            except Exception as error:
                check(error)
                raise

        return enter
