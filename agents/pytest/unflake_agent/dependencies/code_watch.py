"""Sees which code runs: by `sys.monitoring`, else by call events of `sys.settrace`.

While other code uses `sys.settrace`, `sys.setprofile` takes over. Code of the runner and of the
standard library is not noted: it cannot change, and who imports it is known.
"""

import sys
import threading
from types import CodeType

TOOLS = 4, 3
TOOL_NAME = "unflake"
MAX_PENDING = 5000
MAX_SEEN = 50000


def new_watch(recorder, note):
    """`note` gets the code of each function that runs, at least once after every `begin`."""
    return MonitoringWatch(recorder, note) if hasattr(sys, "monitoring") else SettraceWatch(recorder, note)


class MonitoringWatch:
    def __init__(self, recorder, note):
        self._recorder, self._note = recorder, note
        self._monitoring = monitoring = sys.monitoring
        self._local, self._throw = monitoring.events.PY_START | monitoring.events.PY_RESUME, monitoring.events.PY_THROW
        self._tool, self._events = None, 0
        self._is_always_on = self._watches_all = False
        self._pending = []
        self._disabled_files = set()  # With functions whose events are off until `restart`.
        self._noted = {}  # Outside of attempts: noted since `restart`, by id.

    def handlers(self):
        return {}

    def add(self, code):
        """Watches new code, at the latest when the watch begins."""
        if self._has_tool():
            self._watch(code)
        else:
            self._pending.append(code)
            if len(self._pending) > MAX_PENDING:  # To bound memory.
                self.prepare(False)

    def prepare(self, watches_all):
        """Enables events for all code or for the added code. Whether that was possible."""
        self._watches_all = self._watches_all or watches_all
        if not self._has_tool() and not self._take_tool():
            return False
        self._set_events(self._throw | self._local if self._watches_all else self._throw)
        while self._pending and not self._watches_all:
            self._watch(self._pending.pop())
        return True

    def begin(self, watches_all, is_always_on, reported):
        """`reported`: files that need not be noted again."""
        self._is_always_on = is_always_on
        if self.prepare(watches_all) and (self._watches_all or not self._disabled_files <= reported):
            self.restart()

    def restart(self):
        """Notes every function again.

        Restarting events makes Python instrument all code anew, and a forked process copy it. So
        events of the project's functions are disabled in attempts only, and the first attempt of a
        process need not restart them.
        """
        self._noted.clear()
        if self._has_tool() and self._disabled_files:
            self._monitoring.restart_events()
            self._disabled_files.clear()

    def stop(self):
        if self._watches_all and self._has_tool():
            self._set_events(0)

    def is_lost(self):
        return not self._has_tool() or self._monitoring.get_events(self._tool) != self._events

    def _has_tool(self):
        return self._tool is not None and self._monitoring.get_tool(self._tool) == TOOL_NAME

    def _take_tool(self):
        # Freeing the earlier tool id has also removed the events of single functions.
        self._watches_all = self._watches_all or self._tool is not None
        free = [tool for tool in TOOLS if self._monitoring.get_tool(tool) is None]
        if not free:
            return False
        self._tool, self._events = free[0], 0
        self._monitoring.use_tool_id(self._tool, TOOL_NAME)
        events, (began, thrown) = self._monitoring.events, self._callbacks()
        for event, callback in ((events.PY_START, began), (events.PY_RESUME, began), (events.PY_THROW, thrown)):
            self._monitoring.register_callback(self._tool, event, callback)
        return True

    def _set_events(self, events):
        # Setting them is expensive: Python instruments all code anew.
        if self._monitoring.get_events(self._tool) != events:
            self._monitoring.set_events(self._tool, events)
        self._events = events

    def _watch(self, code):
        self._monitoring.set_local_events(self._tool, code, self._local)
        for inner in code.co_consts:
            if type(inner) is CodeType:
                self._watch(inner)

    def _callbacks(self):
        note, recorder, disabled_files = self._note, self._recorder, self._disabled_files
        is_runner, noted = recorder.runner_files, self._noted
        disable = self._monitoring.DISABLE

        def began(code, offset):
            if is_runner[code.co_filename]:
                return disable
            if recorder.in_attempt:
                note(code)
                disabled_files.add(code.co_filename)
                return disable
            if self._is_always_on and id(code) not in noted:
                if len(noted) > MAX_SEEN:  # To bound memory.
                    noted.clear()
                noted[id(code)] = code
                note(code)
            return None

        def thrown(code, offset, error):
            if (recorder.in_attempt or self._is_always_on) and not is_runner[code.co_filename]:
                note(code)

        return began, thrown


class SettraceWatch:
    def __init__(self, recorder, note):
        self._recorder, self._note = recorder, note
        self._frame, self._is_own_call = sys._getframe, False
        self._settrace, self._gettrace = sys.settrace, sys.gettrace
        self._setprofile, self._getprofile = sys.setprofile, sys.getprofile
        self._threads = threading.settrace, threading.setprofile
        self._used, self._profiler, self._is_always_on = None, None, False
        self._code_of_runner = {}  # Is never noted.

    def handlers(self):
        return {"sys.settrace": self._trace_set, "sys.setprofile": self._profile_set}

    def add(self, code):
        """All code is watched or none."""

    def prepare(self, watches_all):
        """There is nothing to prepare."""

    def begin(self, watches_all, is_always_on, reported):
        self._is_always_on = is_always_on
        self._tracer = self._callback()
        if self._gettrace() is None or self._used == "trace":
            self._used = "trace"
            self._call(self._settrace, self._tracer)
            self._threads[0](self._tracer)
        else:
            self._profile()

    def restart(self):
        if self._used is not None and (self._is_always_on or self._recorder.journal is not None):
            self.begin(True, self._is_always_on, ())

    def stop(self):
        if self._used == "trace":
            self._call(self._settrace, None)
            self._threads[0](None)
        elif self._used == "profile":
            self._call(self._setprofile, None)
            self._threads[1](None)
        self._used = None

    def is_lost(self):
        if self._used == "trace":
            return self._gettrace() is not self._tracer
        return self._used is None

    def _call(self, function, value):
        self._is_own_call = True
        try:
            function(value)
        finally:
            self._is_own_call = False

    def _profile(self):
        if self._getprofile() not in (None, self._profiler):
            self._used = None
            return
        self._used, tracer = "profile", self._tracer

        def profile(frame, event, argument):
            if event == "call":
                tracer(frame, event, argument)

        self._profiler = profile
        self._call(self._setprofile, profile)
        self._threads[1](profile)

    def _callback(self):
        """Runs for every call of a function, so it is as short as possible."""
        recorder, note = self._recorder, self._note
        if not self._is_always_on and recorder.journal is None:
            add = recorder.current["files"].add

            def call(frame, event, argument):
                add(frame.f_code.co_filename)

            return call
        # By its id. An object that is kept shares its id with no other.
        seen, of_runner, is_runner = dict(self._code_of_runner), self._code_of_runner, recorder.runner_files

        def first_call(frame, event, argument):
            code = frame.f_code
            if id(code) not in seen:
                if len(seen) > MAX_SEEN:  # To bound memory: code may be compiled in a loop.
                    seen.clear()
                seen[id(code)] = code
                if not is_runner[code.co_filename]:
                    note(code)
                elif len(of_runner) < MAX_SEEN:
                    of_runner[id(code)] = code

        return first_call

    def _is_ours(self):
        """Whether the watch sets the tracer: itself, or through `threading` in a new thread."""
        caller = self._frame(2).f_back
        return self._is_own_call or (caller is not None and caller.f_code.co_name == "_bootstrap_inner")

    def _trace_set(self, *_):
        if not self._is_ours() and self._used == "trace":
            self._profile()

    def _profile_set(self, *_):
        if not self._is_ours() and self._used == "profile":
            self._used = None
