"""Delays threads at lines of the project, as far as other threads could use the time."""

import _thread
import sys
import threading
import time

from ..common.boundary import check
from .change_points import NEVER, Site, ThreadNames

TOOLS = 5, 4, 3, 1, 0, 2
TOOL_NAME = "unflake schedule"
# A thread is held for so many seconds at most.
HOLD_LIMIT = 2.0


class ThreadState:
    __slots__ = "thread", "name", "sites", "left"

    def __init__(self, thread, name):
        self.thread, self.name, self.sites = thread, name, {}
        self.left = None  # The site that it passes with its next line.


class LineDelays:
    """Sleeps at the change points of one attempt. Sleeping lets other threads run."""

    def __init__(self, points, order, file_name, report):
        """`order`: None, or two points; a thread waits at the first until another has passed the second.

        `file_name` names the file of code, or returns None for code that is not the project's.
        `report` gets the name of each change point.
        """
        self._points, self._order = points, order
        self._delays_single_threads = points.delays_single_threads
        self._file_name, self._report = file_name, report
        self.sleep, self._clock = time.sleep, time.perf_counter
        self.ident, self._count = _thread.get_ident, _thread._count
        self._active, self._main = threading._active, threading.main_thread()
        self.names = ThreadNames()
        self._threads, self._codes = {}, {}
        self.spent = 0.0
        self._is_on = False
        self._has_passed = False

    def begin(self):
        self.names = ThreadNames()
        self._threads, self.spent, self._has_passed = {}, 0.0, False
        self._is_on = True

    def end(self):
        self._is_on = False

    def is_project(self, code):
        known = self._codes.get(id(code))
        if known is None:  # Keeping the code keeps its address unique.
            known = self._codes[id(code)] = code, self._file_name(code)
        return known[1] is not None

    def file_of(self, code):
        return self._codes[id(code)][1]

    def line(self, code, number):
        """A line of the project is about to run."""
        try:
            if not self._is_on or not (self._delays_single_threads or self._count()):
                return
            thread = self._active.get(self.ident())
            state = self._threads.get(id(thread))
            if state is None or state.thread is not thread:
                state = self._threads[id(thread)] = ThreadState(thread, self._name(thread))
            site = state.sites.get((id(code), number))
            if site is None:
                site = state.sites[id(code), number] = self._site(code, number, state)
            if state.left is not None:
                self._has_passed, state.left = True, None
            site.count += 1
            site.remaining -= 1
            if site.remaining <= 0:
                self._delay(site)
            if self._order is not None:
                self._follow(site, state)
        except Exception as error:
            check(error)
            raise

    def delay_of(self, name, thread, sites):
        """Seconds by which something else than a line is delayed, 0 mostly."""
        try:
            if not self._is_on:
                return 0
            site = sites.get(name)
            if site is None:
                site = sites[name] = self._points.wait(name, thread)
            site.count += 1
            site.remaining -= 1
            return self._take(site) if site.remaining <= 0 else 0
        except Exception as error:
            check(error)
            raise

    def _name(self, thread):
        if thread is self._main:
            return "main"
        name = getattr(thread, "_name", None)
        return self.names.name(name if type(name) is str else "thread")

    def _site(self, code, number, state):
        if not self.is_project(code):
            return Site("", state.name, lambda count: NEVER)
        file = self.file_of(code)
        name = "%s:%d" % (file, number)
        site = self._points.line(name, state.name)
        if self._order is not None:
            first, second = self._order
            site.holds = first if first.is_at(file, number) and first.thread in (None, state.name) else None
            site.passes = second if second.is_at(file, number) and second.thread in (None, state.name) else None
        return site

    def _take(self, site):
        """The delay at a change point; 0 if the attempt has had enough."""
        site.remaining = site.gap(site.count)
        delay = site.delay
        if not delay or self.spent + delay > self._points.limit:
            return 0
        self.spent += delay
        self._report("%s#%d@%s" % (site.name, site.count, site.thread))
        return delay

    def _delay(self, site):
        delay = self._take(site)
        if delay:
            self.sleep(delay)

    def _follow(self, site, state):
        if site.passes is not None and site.passes.n in (0, site.count):
            state.left = site
        if site.holds is None or site.holds.n not in (0, site.count) or self._has_passed:
            return
        until = self._clock() + HOLD_LIMIT
        self._report("%s#%d@%s" % (site.name, site.count, site.thread))
        while not self._has_passed and self._clock() < until and self._is_on:
            self.sleep(0.0005)
            alive = set(map(id, list(self._active.values())))
            others = list(self._threads.values())
            if any(one.left is not None and id(one.thread) not in alive for one in others):
                self._has_passed = True


class MonitoredLines:
    """Sees lines by `sys.monitoring`."""

    def __init__(self, delays):
        self._delays, self._monitoring, self._tool = delays, sys.monitoring, None

    def begin(self):
        """Why it cannot begin; None if it has."""
        monitoring = self._monitoring
        self._tool = next((tool for tool in TOOLS if monitoring.get_tool(tool) is None), None)
        if self._tool is None:
            return "all tool ids of sys.monitoring are in use"
        monitoring.use_tool_id(self._tool, TOOL_NAME)
        delays, disable = self._delays, monitoring.DISABLE

        def line(code, number):
            if not delays.is_project(code):
                return disable
            delays.line(code, number)
            return None

        monitoring.register_callback(self._tool, monitoring.events.LINE, line)
        monitoring.set_events(self._tool, monitoring.events.LINE)
        return None

    def end(self):
        monitoring = self._monitoring
        if self._tool is not None and monitoring.get_tool(self._tool) == TOOL_NAME:
            monitoring.set_events(self._tool, 0)
            monitoring.register_callback(self._tool, monitoring.events.LINE, None)
            monitoring.free_tool_id(self._tool)


class TracedLines:
    """Sees lines by `sys.settrace`, before Python 3.12."""

    def __init__(self, delays):
        self._get, self._set, self._set_threads = sys.gettrace, sys.settrace, threading.settrace

        def within(frame, event, argument):
            if event == "line":
                delays.line(frame.f_code, frame.f_lineno)
            return within

        def enter(frame, event, argument):
            try:
                return within if delays.is_project(frame.f_code) else None
            except Exception as error:
                check(error)
                raise

        self._enter = enter

    def begin(self):
        """Why it cannot begin; None if it has."""
        before = self._get()
        if before is not None:
            name = getattr(type(before), "__module__", "?").partition(".")[0]
            return "another tracer is active (%s)" % name
        self._set_threads(self._enter)
        self._set(self._enter)
        return None

    def end(self):
        if self._get() is self._enter:
            self._set(None)
            self._set_threads(None)


def see_lines(delays):
    return (MonitoredLines if hasattr(sys, "monitoring") else TracedLines)(delays)
