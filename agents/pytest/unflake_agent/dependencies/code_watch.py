"""Two ways to see which code runs: `sys.monitoring` where it is there, else call events of `sys.settrace`, and of
`sys.setprofile` while somebody else traces. PYTEST_DONT_REWRITE"""

import sys
import threading
from types import CodeType

TOOLS = 4, 3
NAME = "unflake"
MOST_KEPT = 5000


def way(recorder, told):
    """The one for this Python. `told` is called with the code of each function that runs, at least once after every `begin`."""
    return Monitoring(recorder, told) if hasattr(sys, "monitoring") else Tracing(recorder, told)


class Monitoring:
    def __init__(self, recorder, told):
        self._recorder, self._told = recorder, told
        self._monitoring = monitoring = sys.monitoring
        self._local, self._throw = monitoring.events.PY_START | monitoring.events.PY_RESUME, monitoring.events.PY_THROW
        self._tool, self._events = None, 0
        self._always = self._all = False
        self._unwatched = []
        self._silenced = set()  # Files of functions that are not told again before they are asked to.

    def handlers(self):
        return {}

    def load(self, code):
        """There is new code. It is watched as soon as anybody wants to know."""
        if self._is_ours():
            self._watch(code)
        else:
            self._unwatched.append(code)
            if len(self._unwatched) > MOST_KEPT:  # Each is a piece of memory.
                self.prepare(False)

    def prepare(self, everything):
        """`everything`: all code is watched, not only what was loaded here. Whether it could be done."""
        self._all = self._all or everything
        if not self._is_ours() and not self._take():
            return False
        self._set(self._throw | self._local if self._all else self._throw)
        while self._unwatched and not self._all:
            self._watch(self._unwatched.pop())
        return True

    def begin(self, everything, always, anyway):
        """`anyway`: files that need not be told again."""
        self._always = always
        if self.prepare(everything) and (self._all or not self._silenced <= anyway):
            self.again()

    def again(self):
        if self._is_ours() and (self._all or self._silenced):
            self._monitoring.restart_events()
            self._silenced.clear()

    def stop(self):
        if self._all and self._is_ours():
            self._set(0)

    def is_lost(self):
        return not self._is_ours() or self._monitoring.get_events(self._tool) != self._events

    def _is_ours(self):
        return self._tool is not None and self._monitoring.get_tool(self._tool) == NAME

    def _take(self):
        # Whoever gave our number away has also ended the watch over single functions.
        self._all = self._all or self._tool is not None
        free = [tool for tool in TOOLS if self._monitoring.get_tool(tool) is None]
        if not free:
            return False
        self._tool, self._events = free[0], 0
        self._monitoring.use_tool_id(self._tool, NAME)
        events, (began, thrown) = self._monitoring.events, self._callbacks()
        for event, callback in ((events.PY_START, began), (events.PY_RESUME, began), (events.PY_THROW, thrown)):
            self._monitoring.register_callback(self._tool, event, callback)
        return True

    def _set(self, events):
        if self._monitoring.get_events(self._tool) != events:  # Dear: all code is looked at again when it next runs.
            self._monitoring.set_events(self._tool, events)
        self._events = events

    def _watch(self, code):
        self._monitoring.set_local_events(self._tool, code, self._local)
        for inner in code.co_consts:
            if type(inner) is CodeType:
                self._watch(inner)

    def _callbacks(self):
        told, recorder, silenced, disable = self._told, self._recorder, self._silenced, self._monitoring.DISABLE

        def began(code, offset):
            if not recorder.in_attempt and not self._always:
                return None
            told(code)
            silenced.add(code.co_filename)
            return disable

        def thrown(code, offset, error):
            if recorder.in_attempt or self._always:
                told(code)

        return began, thrown


class Tracing:
    def __init__(self, recorder, told):
        self._recorder, self._told = recorder, told
        self._frame, self._ours = sys._getframe, False
        self._settrace, self._gettrace = sys.settrace, sys.gettrace
        self._setprofile, self._getprofile = sys.setprofile, sys.getprofile
        self._threads = threading.settrace, threading.setprofile
        self._by, self._profiler, self._always = None, None, False

    def handlers(self):
        return {"sys.settrace": self._trace_taken, "sys.setprofile": self._profile_taken}

    def load(self, code):
        """All code is watched or none."""

    def prepare(self, everything):
        """It begins at once."""

    def begin(self, everything, always, anyway):
        self._always = always
        self._tracer = self._callback()
        if self._gettrace() is None or self._by == "trace":
            self._by = "trace"
            self._quietly(self._settrace, self._tracer)
            self._threads[0](self._tracer)
        else:
            self._profile()

    def again(self):
        if self._by is not None and (self._always or self._recorder.journal is not None):
            self.begin(True, self._always, ())

    def stop(self):
        if self._by == "trace":
            self._quietly(self._settrace, None)
            self._threads[0](None)
        elif self._by == "profile":
            self._quietly(self._setprofile, None)
            self._threads[1](None)
        self._by = None

    def is_lost(self):
        if self._by == "trace":
            return self._gettrace() is not self._tracer
        return self._by is None

    def _quietly(self, function, value):
        self._ours = True
        try:
            function(value)
        finally:
            self._ours = False

    def _profile(self):
        if self._getprofile() not in (None, self._profiler):
            self._by = None
            return
        self._by, tracer = "profile", self._tracer

        def profile(frame, event, argument):
            if event == "call":
                tracer(frame, event, argument)

        self._profiler = profile
        self._quietly(self._setprofile, profile)
        self._threads[1](profile)

    def _callback(self):
        """Called for every call of a function, so it is as short as can be."""
        recorder, told = self._recorder, self._told
        if not self._always and recorder.journal is None:
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
        if not self._is_ours() and self._by == "trace":
            self._profile()

    def _profile_taken(self, *_):
        if not self._is_ours() and self._by == "profile":
            self._by = None
