"""Which code runs: with `sys.monitoring` where it is there, else by call events of `sys.settrace`, and of `sys.setprofile`
while somebody else traces. PYTEST_DONT_REWRITE"""

import os
import sys
import threading

TOOLS = 4, 3
NAME = "unflake"
IMPORTERS = "_call_with_frames_removed", "exec_module"
GOES_ON = "a thread that was there before the test went on"
LOST = "somebody else took the watch over executed code away"


class Code:
    """Tells the facts of the moment, at least once for every function that runs between two calls of `begin`, its file
    and where wanted its name."""

    def __init__(self, recorder, mode):
        self._recorder, self._by_function = recorder, mode == "function"
        self._frame, self._ours = sys._getframe, False
        self._monitoring = getattr(sys, "monitoring", None)
        self._settrace, self._setprofile, self._gettrace = sys.settrace, sys.setprofile, sys.gettrace
        self._threads = threading.settrace, threading.setprofile
        self._count = threading.active_count
        self._began_in = os.path.join(os.getcwd(), "")
        self._way = None
        self._loading = False
        self.matters = lambda file: False  # Until it is known where the project is.
        self.always = self._by_function  # Not only in attempts: imports too. For files the graph of imports does.

    def handlers(self):
        if self._monitoring is not None:
            return {}
        return {"sys.settrace": self._trace_taken, "sys.setprofile": self._profile_taken, "_thread.start_new_thread": self._thread}

    # -- On and off ---------------------------------------------------------------------------------------------------

    def start(self):
        if self._monitoring is not None:
            self._start_monitoring()
        else:
            self._start_tracing()

    def begin(self):
        """Everything that runs from here on is told again."""
        self._loading = not self._recorder.in_attempt
        if self._monitoring is not None:
            if self._way is None or self._monitoring.get_tool(self._tool) != NAME:
                self._way = None
                self._start_monitoring()
            elif not self.always:
                self._monitoring.set_events(self._tool, self._events)
            if self._way is not None:
                self._monitoring.restart_events()
        else:
            if self._recorder.in_attempt and self._recorder.journal is None and self._count() > 1:
                self._recorder.current["unknown"].add(GOES_ON)  # It tells what it runs to the attempt that started it.
            self._start_tracing()

    def again(self):
        """As `begin`, where anybody watches at all."""
        if self.always:
            self.begin()

    def stop(self):
        """After an attempt."""
        if self._way == "monitoring" and not self.always:
            if self._monitoring.get_tool(self._tool) == NAME:
                self._monitoring.set_events(self._tool, 0)
        elif self._way == "trace" and not self.always:
            self._quietly(self._settrace, None)
            self._threads[0](None)
            self._way = None
        elif self._way == "profile":
            self._quietly(self._setprofile, None)
            self._threads[1](None)
            self._way = None

    def check(self):
        """Whether somebody has taken the watch away; then it is said."""
        if self._way == "monitoring":
            monitoring, tool = self._monitoring, self._tool
            lost = monitoring.get_tool(tool) != NAME or monitoring.get_events(tool) != self._events
        elif self._way == "trace":
            lost = self._gettrace() is not self._tracer
        else:
            lost = self._way != "profile"
        if lost:
            self._recorder.current["unknown"].add(LOST)

    def _quietly(self, function, value):
        self._ours = True
        try:
            function(value)
        finally:
            self._ours = False

    # -- Python 3.12 and later ----------------------------------------------------------------------------------------

    def _start_monitoring(self):
        monitoring, events = self._monitoring, self._monitoring.events
        for tool in TOOLS:
            if monitoring.get_tool(tool) is None:
                break
        else:
            return
        monitoring.use_tool_id(tool, NAME)
        self._tool, self._way = tool, "monitoring"
        self._events = events.PY_START | events.PY_RESUME | events.PY_THROW
        began, thrown = self._began()
        monitoring.register_callback(tool, events.PY_START, began)
        monitoring.register_callback(tool, events.PY_RESUME, began)
        monitoring.register_callback(tool, events.PY_THROW, thrown)
        monitoring.set_events(tool, self._events)

    def _began(self):
        told, disable = self._told, self._monitoring.DISABLE

        def began(code, offset):
            told(code)
            return disable

        def thrown(code, offset, error):
            told(code)

        return began, thrown

    # -- Before -------------------------------------------------------------------------------------------------------

    def _start_tracing(self):
        self._tracer = self._callback()
        if self._gettrace() is None or self._way == "trace":
            self._way = "trace"
            self._quietly(self._settrace, self._tracer)
            self._threads[0](self._tracer)
        else:
            self._start_profiling()

    def _start_profiling(self):
        if sys.getprofile() is not None:
            self._way = None
            return
        self._way, tracer = "profile", self._tracer

        def profile(frame, event, argument):
            if event == "call":
                tracer(frame, event, argument)

        self._quietly(self._setprofile, profile)
        self._threads[1](profile)

    def _callback(self):
        """Called for every call of a function, so it is as short as can be."""
        recorder, told = self._recorder, self._told
        if not self.always and recorder.journal is None:
            add = recorder.current["files"].add

            def call(frame, event, argument):
                add(frame.f_code.co_filename)

            return call
        seen = set()
        known = seen.add

        def first(frame, event, argument):
            code = frame.f_code
            key = code.co_filename, code.co_firstlineno, code.co_name
            if key not in seen:
                known(key)
                told(code)

        return first

    def _is_ours(self):
        """A new thread sets what `threading` was told to set in it."""
        caller = self._frame(2).f_back
        return self._ours or (caller is not None and caller.f_code.co_name == "_bootstrap_inner")

    def _trace_taken(self, *_):
        if not self._is_ours() and self._way == "trace":
            self._start_profiling()
            if self._way is None:
                self._recorder.current["unknown"].add(LOST)

    def _profile_taken(self, *_):
        if not self._is_ours() and self._way == "profile":
            self._way = None

    def _thread(self, function, *_):
        if getattr(function, "__name__", None) != "_bootstrap":
            self._recorder.note("unknown", "a thread was started past `threading`")

    # -- Both ---------------------------------------------------------------------------------------------------------

    def executed(self, code):
        """A module's body is about to run, or what somebody made of a text."""
        file = getattr(code, "co_filename", None)
        if file is None:
            return
        caller = self._frame(1).f_back  # None for the program itself.
        if caller is not None and caller.f_code.co_name in IMPORTERS:
            self._loading = True
            facts = self._recorder.of_module(file)
            facts["files"].add(file)
            facts["functions"].add(_named(code))
            if self._recorder.journal is None:
                module = self._recorder.importing(caller)
                if module is not None:
                    self._recorder.of_module(module)["files"].add(file)
                # What ran for other modules already is told again for this one. Not for what is installed: it would take
                # one that runs code of the project at its import without importing it.
                if not self.matters(file):
                    pass
                elif self._way == "monitoring":
                    self._monitoring.restart_events()
                elif self.always and self._way == "trace":
                    self._start_tracing()
        if self._recorder.in_attempt or self._recorder.journal is not None:
            self._told(code)
        else:
            self._recorder.note("files", file)

    def _told(self, code):
        recorder, file = self._recorder, code.co_filename
        if recorder.journal is not None:
            if not file.startswith(("/", "<")):
                file = self._began_in + file  # Whoever reads this may be elsewhere.
            recorder.note("files", file)
            if self._by_function:
                recorder.note("functions", (file,) + _named(code)[1:])
            return
        if self._loading:
            module = recorder.importing(self._frame(2))
            if module is not None:
                facts = recorder.of_module(module)
                facts["files"].add(file)
                if self._by_function:
                    facts["functions"].add(_named(code))
                if not recorder.in_attempt:
                    return
        recorder.current["files"].add(file)
        if self._by_function:
            recorder.current["functions"].add(_named(code))


def _named(code):
    return code.co_filename, code.co_firstlineno, code.co_name, getattr(code, "co_qualname", None)
