"""Assigns an event stream to each thread and asyncio task, with the same names in equal runs."""

import _thread
import re
import sys
import threading
import types
import weakref

NUMBERED_NAME = re.compile(r"(Thread|ThreadPoolExecutor)-(\d+)(.*)", re.DOTALL)
COROUTINE_TYPES = types.CoroutineType, types.GeneratorType
# Flags of code: coroutine, iterable coroutine, asynchronous generator.
ASYNC_FLAGS = 0x80 | 0x100 | 0x200


class ThreadStreams:
    """The streams of an attempt."""

    def __init__(self):
        self._ident, self._threads, self._main = _thread.get_ident, threading._active, threading.main_thread()
        self._reference, self._modules = weakref.ref, sys.modules
        self._asyncio = None
        self._process = None
        self._by_thread, self._by_task, self._async_threads, self._streams = {}, {}, set(), []
        self._first_numbers = {}

    def begin(self, process):
        self._process = process
        self._by_thread, self._by_task, self._async_threads, self._streams = {}, {}, set(), []
        # Numbers in names count all threads of the process. Here they start anew.
        self._first_numbers = {
            "Thread": _next_value(threading._counter) - 1,
            "ThreadPoolExecutor": _next_value(self._executor_counter()),
        }

    def begin_loading(self):
        """Gives this thread a stream of its own while it loads the tests."""
        self._by_thread[self._ident()] = self._main, self._process.stream("loading")

    def end_loading(self):
        self._by_thread.pop(self._main.ident)[1].finish()

    def _executor_counter(self):
        module = self._modules.get("concurrent.futures.thread")
        return getattr(getattr(module, "ThreadPoolExecutor", None), "_counter", None)

    def current(self):
        """The stream of the running task or thread."""
        ident = self._ident()
        if ident in self._async_threads:
            task = self._current_task()
            if task is not None:
                return self.of_task(task)[1]
        known = self._by_thread.get(ident)
        if known is not None and known[0] is self._threads.get(ident):
            return known[1]
        return self.of_thread()

    def of_thread(self):
        ident = self._ident()
        thread = self._threads.get(ident)
        known = self._by_thread.get(ident)
        if known is None or known[0] is not thread:  # Ids of ended threads are reused.
            known = self._by_thread[ident] = thread, self._new_stream(thread)
            self._streams.append(known)
        return known[1]

    def saw_coroutine(self):
        """From now on this thread may run tasks."""
        self._async_threads.add(self._ident())

    def asyncio(self):
        """Functions that return the running loop and its task; None while asyncio is not loaded."""
        if self._asyncio is None:
            events, tasks = self._modules.get("asyncio.events"), self._modules.get("asyncio.tasks")
            running, current = getattr(events, "_get_running_loop", None), getattr(tasks, "current_task", None)
            if running is not None and current is not None:
                self._asyncio = running, current
        return self._asyncio

    def _current_task(self):
        functions = self.asyncio()
        if functions is not None:
            try:
                loop = functions[0]()
                return functions[1](loop) if loop is not None else None
            except Exception:
                pass  # The project's own event loop.
        return None

    def end(self):
        """Marks the streams whose thread or task still runs."""
        alive = set(map(id, list(self._threads.values())))
        for thread, stream in self._streams:
            stream.has_ended = thread is self._main or thread is not None and id(thread) not in alive
        for reference, stream in self._by_task.values():
            task = reference()
            stream.has_ended = task is None or task.done()

    def of_task(self, task):
        """A weak reference to the task, and its stream."""
        known = self._by_task.get(id(task))
        if known is None or known[0]() is not task:
            stream = self._process.stream("task " + _coroutine_name(task))
            known = self._by_task[id(task)] = self._reference(task), stream
        return known

    def _new_stream(self, thread):
        if thread is self._main:
            return self._process.stream("MainThread", True)
        name = getattr(thread, "_name", None)
        return self._process.stream(self._renumbered(name) if type(name) is str else "thread")

    def _renumbered(self, name):
        match = NUMBERED_NAME.match(name)
        first = self._first_numbers.get(match.group(1)) if match else None
        if first is None or int(match.group(2)) < first:
            return name
        return "%s-%d%s" % (match.group(1), int(match.group(2)) - first, match.group(3))


def _next_value(counter):
    """The next value of an `itertools.count`, without consuming it."""
    found = re.match(r"count\((\d+)\)", repr(getattr(counter, "__self__", None)))
    return int(found.group(1)) if found else 0


def _coroutine_name(task):
    coroutine = getattr(task, "get_coro", lambda: None)()
    if type(coroutine) in COROUTINE_TYPES:
        return coroutine.__qualname__
    return type(coroutine).__name__
