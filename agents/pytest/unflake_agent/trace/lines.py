"""Two ways to see the lines of the project's code as they are come to: `sys.monitoring` where it is there, else
`sys.settrace`. PYTEST_DONT_REWRITE"""

import dis
import sys
import threading

from .name_chains import lines_of
from .mapped_files import TAKEN
from .threads import ASYNCHRONOUS

TOOLS = 4, 3, 5, 1, 0, 2
NAME = "unflake trace"
UNKNOWN = object()
RETURN = dis.opmap["RETURN_VALUE"]
GENERATING = 0x20 | ASYNCHRONOUS


class Code:
    """Code of the project. It is kept: its address is its name."""

    __slots__ = "code", "file", "function", "places", "asynchronous", "bytes", "lines"

    def __init__(self, code, file, function):
        self.code, self.file, self.function = code, file, function
        self.places = {}
        self.asynchronous = bool(code.co_flags & ASYNCHRONOUS)
        self.bytes = self.lines = None

    def line(self, number):
        """What is mentioned in a line, or None."""
        if self.lines is None:
            self.lines = lines_of(self.code)
        return self.lines.get(number)

    def returns_at(self, offset):
        """Whether a function ends there by `return`: a tracer is told of that, of `yield` and of an exception alike."""
        if self.bytes is None:
            self.bytes = self.code.co_code
        return self.bytes[offset] == RETURN


class Recorder:
    """Writes down the lines of the attempt that is going on."""

    def __init__(self, own, strands, values=None, reaches=None):
        self.own, self.strands, self.values, self.reaches = own, strands, values, reaches
        self.part = self._paused = None
        self.library = None
        self.codes = {}
        self.kept = []  # Code of others is kept too.
        self.places = None

    def begin(self, part):
        self.strands.begin(part)
        if self.values is not None:
            self.values.begin(part)
            self.reaches.begin(part)
        self.part = part
        if self.library is not None:
            self.library.begin()

    def pause_all(self):
        """Nothing is kept until `resume`."""
        if self.library is not None:
            self.library.end()
        self._paused, self.part = self.part, None

    def resume(self):
        self.part = self._paused
        if self.library is not None:
            self.library.begin()  # This thread may be another strand now.

    def end(self):
        part, self.part = self.part, None
        if self.library is not None:
            self.library.end()
        self.strands.end()
        if self.values is not None:
            self.values.end()
        part.finish()
        if self.library is not None:
            self.library.forget()

    def taken(self):
        """Somebody else has begun to trace, and the main thread is not seen any more."""
        stream = self.strands.current()
        if stream.position():
            stream.truncate(TAKEN)

    def learn(self, code):
        """What is to be known of code that was never seen; None if it is not the project's."""
        file = self.own.file(code.co_filename)
        known = Code(code, file, self.own.function(code)) if file is not None else None
        self.kept.append(code)
        self.codes[id(code)] = known
        return known

    def place(self, known, line):
        """The id of a line."""
        return known.places.get(line) or self.places.add(known, line)

    def step(self, known, line, frame=None):
        """A line is come to."""
        if known.asynchronous:
            self.strands.saw_coroutine()
        part, stream = self.part, self.strands.current()
        if stream.part is not part:
            return  # The attempt has ended meanwhile, and this thread has not.
        if frame is not None:
            self.values.before(frame, stream)
        place = self.place(known, line)
        stream.add(place)
        if frame is not None:
            mentioned = known.line(line)
            self.values.after(frame, place, mentioned, stream)
            self.reaches.at(frame, mentioned, place)

    def pause(self, frame):
        self.values.before(frame, self.strands.current())

    def leave(self, frame, *value):
        self.values.leave(frame, self.strands.current(), *value)


class Monitoring:
    library = None
    words = "sys.monitoring"

    def __init__(self, recorder):
        self._recorder, self._monitoring, self._frame = recorder, sys.monitoring, sys._getframe
        self._tool, self._events = None, 0

    def start(self):
        """Why it cannot; None if it can."""
        monitoring = self._monitoring
        self._tool = next((tool for tool in TOOLS if monitoring.get_tool(tool) is None), None)
        if self._tool is None:
            return "all numbers of sys.monitoring are taken by other tools"
        monitoring.use_tool_id(self._tool, NAME)
        for event, callback in self._callbacks().items():
            self._events |= event
            monitoring.register_callback(self._tool, event, callback)
        monitoring.set_events(self._tool, self._events)
        return None

    def begin(self):
        """It sees all the time; what is seen outside of attempts is not kept."""

    def end(self):
        """Whether somebody has taken it away."""
        return self._monitoring.get_tool(self._tool) != NAME or self._monitoring.get_events(self._tool) != self._events

    def _callbacks(self):
        recorder, codes, frame, events = self._recorder, self._recorder.codes, self._frame, self._monitoring.events
        learn, disable = recorder.learn, self._monitoring.DISABLE

        def line(code, number):
            known = codes.get(id(code), UNKNOWN)
            if known is UNKNOWN:
                known = learn(code)
            if known is None:
                return disable
            if recorder.part is not None:
                recorder.step(known, number)
            return None

        def line_and_values(code, number):
            known = codes.get(id(code), UNKNOWN)
            if known is UNKNOWN:
                known = learn(code)
            if known is None:
                return disable
            if recorder.part is not None:
                recorder.step(known, number, frame(1))
            return None

        def leave(code, offset, value):
            if codes.get(id(code)) is None:
                return disable
            if recorder.part is not None:
                recorder.leave(frame(1), value)
            return None

        def give(code, offset, value):
            if codes.get(id(code)) is None:
                return disable
            if recorder.part is not None:
                recorder.pause(frame(1))
            return None

        def unwind(code, offset, error):
            if codes.get(id(code)) is not None and recorder.part is not None:
                recorder.leave(frame(1))

        if recorder.values is None:
            return {events.LINE: line}
        return {events.LINE: line_and_values, events.PY_RETURN: leave, events.PY_YIELD: give, events.PY_UNWIND: unwind}


class Tracing:
    words = "sys.settrace"

    def __init__(self, recorder):
        self._recorder = recorder
        self._get, self._set, self._set_threads = sys.gettrace, sys.settrace, threading.settrace
        self._enter = self._callback()

    library = None

    def start(self):
        return None

    def begin(self):
        before = self._get()
        if before is not None and before is not self._enter:
            name = getattr(type(before), "__module__", "?").partition(".")[0]
            return "another tracer is at work (%s)" % name
        self._set_threads(self._enter)
        self._start()
        return None

    def _start(self):
        self._set(self._enter)

    def end(self):
        taken = self._get() is not self._enter
        if not taken:
            self._set(None)
        self._set_threads(None)
        return taken

    def _callback(self):
        recorder, codes, learn = self._recorder, self._recorder.codes, self._recorder.learn
        def within(frame, event, argument):
            if event == "line" and recorder.part is not None:
                recorder.step(codes[id(frame.f_code)], frame.f_lineno)
            return within

        def within_values(frame, event, argument):
            if recorder.part is None:
                return within_values
            if event == "line":
                recorder.step(codes[id(frame.f_code)], frame.f_lineno, frame)
            elif event == "return":
                code = frame.f_code
                if codes[id(code)].returns_at(frame.f_lasti):
                    recorder.leave(frame, argument)
                elif argument is None and not code.co_flags & GENERATING:
                    recorder.leave(frame)
                else:
                    recorder.pause(frame)
            return within_values

        inner = within if recorder.values is None else within_values

        def enter(frame, event, argument):
            code = frame.f_code
            known = codes.get(id(code), UNKNOWN)
            if known is UNKNOWN:
                known = learn(code)
            return inner if known is not None else None

        return enter
