"""What goes its own way: threads and asyncio's tasks, and what they are called in every run. PYTEST_DONT_REWRITE"""

import _thread
import re
import sys
import threading
import types
import weakref

NUMBERED = re.compile(r"(Thread|ThreadPoolExecutor)-(\d+)(.*)", re.DOTALL)
COROUTINES = types.CoroutineType, types.GeneratorType
# Of code: a coroutine, a generator that is used as one, an asynchronous generator.
ASYNCHRONOUS = 0x80 | 0x100 | 0x200


class Strands:
    """Streams of an attempt, by thread and by task."""

    def __init__(self):
        self._ident, self._threads, self._main = _thread.get_ident, threading._active, threading.main_thread()
        self._reference, self._modules = weakref.ref, sys.modules
        self._asyncio = None
        self._part = None
        self._threaded, self._tasks, self._asynchronous, self._streams = {}, {}, set(), []
        self._bases = {}

    def begin(self, part):
        self._part = part
        self._threaded, self._tasks, self._asynchronous, self._streams = {}, {}, set(), []
        # Numbers in names count all threads that the process has had: from here on they begin anew.
        self._bases = {"Thread": _next(threading._counter) - 1, "ThreadPoolExecutor": _next(self._pools())}

    def loading(self):
        """This thread loads the tests: what it does meanwhile is a strand of its own."""
        self._threaded[self._ident()] = self._main, self._part.stream("loading")

    def loaded(self):
        self._threaded.pop(self._main.ident)[1].finish()

    def _pools(self):
        pools = self._modules.get("concurrent.futures.thread")
        return getattr(getattr(pools, "ThreadPoolExecutor", None), "_counter", None)

    def current(self):
        """The stream of whatever runs here and now."""
        ident = self._ident()
        if ident in self._asynchronous:
            task = self.task()
            if task is not None:
                return self.of_task(task)[1]
        known = self._threaded.get(ident)
        if known is not None and known[0] is self._threads.get(ident):
            return known[1]
        return self.of_thread()

    def of_thread(self):
        ident = self._ident()
        thread = self._threads.get(ident)
        known = self._threaded.get(ident)
        if known is None or known[0] is not thread:  # The number of a thread that has ended is given to another.
            known = self._threaded[ident] = thread, self._new_thread(ident, thread)
            self._streams.append(known)
        return known[1]

    def saw_coroutine(self):
        """From now on there may be tasks in this thread."""
        self._asynchronous.add(self._ident())

    def is_asynchronous(self):
        return self._ident() in self._asynchronous

    def asyncio(self):
        """How to ask for the running loop and for its task; None as long as nobody has asyncio."""
        if self._asyncio is None:
            events, tasks = self._modules.get("asyncio.events"), self._modules.get("asyncio.tasks")
            running, current = getattr(events, "_get_running_loop", None), getattr(tasks, "current_task", None)
            if running is not None and current is not None:
                self._asyncio = running, current
        return self._asyncio

    def task(self):
        asking = self.asyncio()
        if asking is not None:
            try:
                loop = asking[0]()
                return asking[1](loop) if loop is not None else None
            except Exception:
                pass  # A loop of somebody's own.
        return None

    def end(self):
        """Says which of them go on."""
        alive = set(map(id, list(self._threads.values())))
        for thread, stream in self._streams:
            stream.ended = thread is self._main or thread is not None and id(thread) not in alive
        for reference, stream in self._tasks.values():
            task = reference()
            stream.ended = task is None or task.done()

    def of_task(self, task):
        """A weak reference to it, and its stream."""
        known = self._tasks.get(id(task))
        if known is None or known[0]() is not task:
            stream = self._part.stream("task " + _coroutine(task))
            known = self._tasks[id(task)] = self._reference(task), stream
        return known

    def _new_thread(self, ident, thread):
        if thread is self._main:
            return self._part.stream("MainThread", True)
        name = getattr(thread, "_name", None)
        return self._part.stream(self._plain(name) if type(name) is str else "thread")

    def _plain(self, name):
        numbered = NUMBERED.match(name)
        base = self._bases.get(numbered.group(1)) if numbered else None
        if base is None or int(numbered.group(2)) < base:
            return name
        return "%s-%d%s" % (numbered.group(1), int(numbered.group(2)) - base, numbered.group(3))


def _next(counter):
    """What a counter will say next, without asking it."""
    found = re.match(r"count\((\d+)\)", repr(getattr(counter, "__self__", None)))
    return int(found.group(1)) if found else 0


def _coroutine(task):
    coroutine = getattr(task, "get_coro", lambda: None)()
    if type(coroutine) in COROUTINES:
        return coroutine.__qualname__
    return type(coroutine).__name__
