"""Delays what tasks of asyncio wait for: timers, input and output, results of threads.

The loop itself runs what is ready in a fixed order, and code may rely on that. What differs between
runs is when a wait is over, so that is what a schedule changes. Every order of tasks that results
can also come about without unflake.
"""

import sys

from ..common.boundary import guarded

IO = "io:0"


class LoopDelays:
    def __init__(self, delays):
        self._delays, self._modules, self._frame = delays, sys.modules, sys._getframe
        self._sites, self._tasks, self._postponed = {}, {}, {}
        self._original = None

    def begin(self):
        self._sites, self._tasks, self._postponed = {}, {}, {}
        base = self._modules.get("asyncio.base_events")
        selector = self._modules.get("asyncio.selector_events")
        if base is None or selector is None:
            return
        loop, of_selector = base.BaseEventLoop, selector.BaseSelectorEventLoop
        call_at, from_thread, process = loop.call_at, loop.call_soon_threadsafe, of_selector._process_events
        self._original = [
            (loop, "call_at", call_at),
            (loop, "call_soon_threadsafe", from_thread),
            (of_selector, "_process_events", process),
        ]
        late, threads, events = self._late, self._wait_in_thread, self._arrived

        def delayed_call_at(self, when, callback, *arguments, context=None):
            return call_at(self, when + late(), callback, *arguments, context=context)

        def delayed_from_thread(self, callback, *arguments, context=None):
            threads(self)
            return from_thread(self, callback, *arguments, context=context)

        def delayed_process(self, event_list):
            return process(self, events(self, event_list))

        loop.call_at, loop.call_soon_threadsafe = delayed_call_at, delayed_from_thread
        of_selector._process_events = delayed_process

    def end(self):
        for owner, name, function in self._original or ():
            setattr(owner, name, function)
        self._original = None

    def _task_name(self):
        tasks = self._modules["asyncio.tasks"]
        try:
            task = tasks.current_task()
        except RuntimeError:
            task = None
        if task is None:
            return None
        known = self._tasks.get(id(task))
        if known is None or known[0] is not task:
            coroutine = getattr(task, "get_coro", lambda: None)()
            name = getattr(coroutine, "__name__", type(coroutine).__name__)
            known = self._tasks[id(task)] = task, self._delays.names.name("task (%s)" % name)
        return known[1]

    @guarded
    def _late(self):
        """By how much a timer that is set now is late."""
        task = self._task_name()
        frame = self._frame(2)
        while frame is not None and not self._delays.is_project(frame.f_code):
            frame = frame.f_back
        if task is None or frame is None:
            return 0
        name = "%s:%d" % (self._delays.file_of(frame.f_code), frame.f_lineno)
        return self._delays.delay_of(name, task, self._sites.setdefault(task, {}))

    @guarded
    def _wait_in_thread(self, loop):
        """The result of a thread arrives later: the thread waits before it delivers it."""
        if getattr(loop, "_thread_id", None) not in (None, self._delays.ident()):
            delay = self._delays.delay_of("thread-result:0", "io", self._sites.setdefault("", {}))
            if delay:
                self._delays.sleep(delay)

    @guarded
    def _arrived(self, loop, events):
        """The events that the loop sees now. The system reports the others again."""
        kept, own = [], getattr(loop, "_ssock", None)
        for event in events:
            key = event[0]
            if key.fileobj is own or not self._is_postponed(loop, key.fd):
                kept.append(event)
        return kept

    def _is_postponed(self, loop, number):
        until = self._postponed.get((id(loop), number))
        if until is None:
            delay = self._delays.delay_of(IO, "io", self._sites.setdefault("", {}))
            if not delay:
                return False
            self._postponed[id(loop), number] = loop.time() + delay
            return True
        if loop.time() < until:
            return True
        del self._postponed[id(loop), number]
        return False
