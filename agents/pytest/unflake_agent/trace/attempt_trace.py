"""Traces each attempt into a directory of the side directory (format: `crates/unflake-observe`).

`lines` and `native` see lines, `threads` finds their stream, `variables` records values,
`nondeterminism` records uses of what may differ between runs, `mapped_files` writes it all.
"""

import os
import sys

from .. import DIRECTORY, NATIVE_TRACER, load
from ..common.project_code import ProjectCode
from .lines import LineRecorder, MonitoringTracer, SettraceTracer
from .mapped_files import ATTEMPT_EVENTS, THREAD_EVENTS, EventStream, PlaceTable, ProcessTrace
from .threads import ThreadStreams


class AttemptTrace:
    def __init__(self, settings, note):
        """`note` sends a text to the user."""
        self._wants_values = settings["traced"] == "values"
        self._side, self._note = settings["side"], note
        self._thread_events = int(settings.get("trace_thread_events", THREAD_EVENTS))
        self._events = int(settings.get("trace_events", ATTEMPT_EVENTS))
        self._library = settings.get("tracer")
        self._new_stream = EventStream
        self._getpid, self._mkdir = os.getpid, os.mkdir
        self._number = 0
        self._tracer = self._recorder = None
        self._process = None  # Of the current attempt. Before the first one, of the loading.
        self._is_loading = False
        self._line = None
        os.register_at_fork(before=self._before_fork, after_in_child=self._in_child)

    def pass_lines_to(self, line):
        """Calls `line` with code and number before each line."""
        self._line = line

    def configure(self, config):
        """Starts as soon as pytest knows the root: what is loaded from here on is traced."""
        project = ProjectCode(str(config.rootpath), self._side, DIRECTORY)
        variables = nondeterminism = None
        if self._wants_values:
            variables = load("trace.variables").VariableRecorder()
            nondeterminism = load("trace.nondeterminism").NondeterminismRecorder()
        self._recorder = LineRecorder(project, ThreadStreams(), variables, nondeterminism, self._line)
        self._tracer = self._choose_tracer()
        why = self._tracer.start()
        if why is not None:
            self._disable(why)
            return
        self._recorder.places = PlaceTable(self._side, self._getpid())
        self._start_process()
        self._is_loading = True
        self._recorder.begin(self._process)
        self._recorder.threads.begin_loading()
        self._tracer.begin()  # If it cannot, the first attempt reports it.

    def _choose_tracer(self):
        recorder, has_monitoring = self._recorder, hasattr(sys, "monitoring")
        if not self._wants_values and self._library != "python":
            native = load("trace.native")
            library = native.load_library(self._library or NATIVE_TRACER)
            if library is not None:
                kind = native.NativeMonitoringTracer if has_monitoring else native.NativeSettraceTracer
                tracer = kind(recorder, library)
                recorder.library, self._new_stream = tracer.library, tracer.library.stream
                return tracer
        return (MonitoringTracer if has_monitoring else SettraceTracer)(recorder)

    def _disable(self, why):
        self._note("lines cannot be recorded: " + why)
        self._tracer = None

    def _start_process(self, budget=None, forked=None):
        """Starts the directory of this process; of a new attempt unless it was forked in one."""
        if forked is None:
            self._number += 1
            self._attempt = "%s/trace-%d-%d" % (self._side, self._getpid(), self._number)
            self._mkdir(self._attempt)
            budget = [self._events]
        self._process = ProcessTrace(
            self._attempt,
            self._recorder.places,
            self._thread_events,
            budget,
            self._tracer.name,
            forked,
            self._new_stream,
        )

    def collected(self):
        """Everything is loaded. Until the first attempt only the agent runs."""
        if self._is_loading:
            self._tracer.end()
            self._recorder.pause()

    def begin(self):
        if self._tracer is None:
            return
        if not self._is_loading:
            self._start_process()
            self._recorder.begin(self._process)
        else:
            self._is_loading = False
            self._recorder.threads.end_loading()
            self._recorder.resume()
        why = self._tracer.begin()
        if why is not None:
            self._recorder.pause()
            self._disable(why)

    def end(self):
        """The directory of the attempt's trace."""
        if self._tracer is None:
            return None
        if self._tracer.end():
            self._recorder.tracer_was_replaced()
        self._recorder.end()
        self._process = None
        return self._attempt

    # -- Forks -------------------------------------------------------------------------------------

    def _before_fork(self):
        if self._recorder is not None and self._recorder.process is not None:
            stream = self._recorder.threads.current()
            thread = "main" if stream.is_main else "?"
            self._forked = "%s %d %s %d 1" % (self._process.name, stream.number, thread, stream.forks)
            stream.forks += 1

    def _in_child(self):
        """A child forked by a test continues the attempt; one forked by an order starts anew."""
        process, recorder = self._process, self._recorder
        if self._tracer is None or recorder.places is None:
            return
        parent, is_in_attempt = recorder.places, recorder.process is not None
        recorder.process, self._process, self._is_loading = None, None, False
        if process is not None:
            process.forget()
        recorder.places = PlaceTable(self._side, self._getpid(), parent)
        parent.forget()
        if is_in_attempt:
            self._start_process(process.budget, self._forked)
            recorder.begin(self._process)
