"""The order in which each attempt of a test runs through the project's code, told in a directory of the side directory
(format: crates/unflake-trace). There only when it is asked for. PYTEST_DONT_REWRITE

`trace_lines` sees lines, `trace_own` knows whose they are, `trace_strands` in which thread or task, `trace_values` what names stand
for (as `trace_text` shows them), `trace_reaches` what need not be the same in every run; `trace_files` keeps it.
"""

import os
import sys

from .. import DIRECTORY, bring
from .mapped_files import ATTEMPT_EVENTS, THREAD_EVENTS, Part, Places, Stream
from .lines import Monitoring, Recorder, Tracing as Settrace
from ..common.project_code import Own
from .threads import Strands

LIBRARY = "tracer.so"


class Tracing:
    def __init__(self, told, note):
        """`note`: says something to the user."""
        self._wants_values = told["traced"] == "values"
        self._side, self._note = told["side"], note
        self._thread_events = int(told.get("trace_thread_events", THREAD_EVENTS))
        self._events = int(told.get("trace_events", ATTEMPT_EVENTS))
        self._tracer = told.get("tracer")
        self._stream = Stream
        self._agent = DIRECTORY
        self._getpid, self._make = os.getpid, os.mkdir
        self._pid = os.getpid()
        self._number = 0
        self._way = self._recorder = None
        self._part = None  # Of the attempt that is going on, or that of the loading until the first attempt.
        self._loading = False
        os.register_at_fork(before=self._before_fork, after_in_child=self._in_child)

    def configure(self, config):
        """As soon as pytest knows where the project is: what is loaded from here on is traced."""
        own = Own(str(config.rootpath), self._side, self._agent)
        values = reaches = None
        if self._wants_values:
            values, reaches = bring("trace.variables").Values(), bring("trace.nondeterminism").Reaches()
        self._recorder = Recorder(own, Strands(), values, reaches)
        self._way = self._choose()
        why = self._way.start()
        if why is not None:
            self._say(why)
            self._way = None
            return
        self._recorder.places = Places(self._side, self._getpid())
        self._new_part()
        self._loading = True
        self._recorder.begin(self._part)
        self._recorder.strands.loading()
        self._way.begin()  # Where it cannot, it is said at the first attempt.

    def _choose(self):
        recorder, monitored = self._recorder, hasattr(sys, "monitoring")
        if not self._wants_values and self._tracer != "python":
            native = bring("trace.native")
            library, _ = native.load(self._tracer or os.path.join(self._agent, LIBRARY))
            if library is not None:
                way = (native.NativeMonitoring if monitored else native.NativeTracing)(recorder, library)
                recorder.library, self._stream = way.library, way.library.stream
                return way
        return (Monitoring if monitored else Settrace)(recorder)

    def _say(self, why):
        self._note("lines cannot be recorded: " + why)

    def _new_part(self):
        self._number += 1
        self._attempt = "%s/trace-%d-%d" % (self._side, self._getpid(), self._number)
        self._make(self._attempt)
        places = self._recorder.places
        self._part = Part(self._attempt, places, self._thread_events, [self._events], self._way.words, new=self._stream)

    def collected(self):
        """All is loaded. What is done until the first attempt is the agent's."""
        if self._loading:
            self._way.end()
            self._recorder.pause_all()

    def begin(self):
        if self._way is None:
            return
        if not self._loading:
            self._new_part()
            self._recorder.begin(self._part)
        else:
            self._loading = False
            self._recorder.strands.loaded()
            self._recorder.resume()
        why = self._way.begin()
        if why is not None:
            self._recorder.pause_all()
            self._say(why)
            self._way = None

    def end(self):
        """The directory of the attempt's trace."""
        if self._way is None:
            return None
        if self._way.end():
            self._recorder.taken()
        self._recorder.end()
        self._part = None
        return self._attempt

    # -- Copies -------------------------------------------------------------------------------------------------------

    def _before_fork(self):
        if self._recorder is not None and self._recorder.part is not None:
            stream = self._recorder.strands.current()
            way = "main" if stream.is_first else "?"
            self._forked = "%s %d %s %d 1" % (self._part.name, stream.number, way, stream.forks)
            stream.forks += 1

    def _in_child(self):
        """A copy that a test made goes on as a process of its own; one that unflake has asked for begins anew."""
        part, recorder = self._part, self._recorder
        if self._way is None or recorder.places is None:
            return
        before, goes_on = recorder.places, recorder.part is not None
        recorder.part, self._part, self._loading = None, None, False
        if part is not None:
            part.forget()
        recorder.places = Places(self._side, self._getpid(), before)
        before.forget()
        if goes_on:
            self._part = Part(self._attempt, self._recorder.places, self._thread_events, part.budget, self._way.words, self._forked, self._stream)
            self._recorder.begin(self._part)
