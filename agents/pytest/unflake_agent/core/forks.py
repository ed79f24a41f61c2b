"""Forks the process: decides whether that is safe, and gives the child its own randomness and memory."""

import _thread
import os
import threading
import time
import warnings

from .random_state import Randomness
from .shared_memory import SharedMemory

# A joined thread has ended for Python, and a moment later for the system.
EXIT_PAUSES = (0.001, 0.005, 0.02)


class Forker:
    def __init__(self, watches_randomness=True):
        self._fork, self._setpgid, self._waitpid = os.fork, os.setpgid, os.waitpid
        self._listdir, self._open, self._read, self._close = os.listdir, os.open, os.read, os.close
        self._readonly = os.O_RDONLY
        self._enumerate, self._current, self._count = threading.enumerate, threading.current_thread, _thread._count
        self._catch_warnings, self._sleep = warnings.catch_warnings, time.sleep
        self.randomness = Randomness(watches_randomness)
        self._shared_memory = SharedMemory()
        self._children = {}
        self._lost_threads = 0

    def obstacle(self):
        """Why a fork of this process is not safe; None if it is."""
        here = self._current()
        others, harmless = [], []
        for thread in self._enumerate():
            if thread is not here:
                (harmless if _is_harmless(thread) else others).append(thread)
        names = sorted(str(thread.name) for thread in others)
        if names:
            return "threads are alive: " + ", ".join(names[:10])
        for pause in EXIT_PAUSES:
            if self._unknown_threads(harmless) is None:
                return None
            self._sleep(pause)
        return self._unknown_threads(harmless)

    def _unknown_threads(self, harmless):
        """Reports threads that have no `threading.Thread` object."""
        unnamed = self._count() - self._lost_threads - len(harmless)
        if unnamed > 0:
            return "threads are alive: %d without a name" % unnamed
        try:
            tasks = sorted(map(int, self._listdir("/proc/self/task")))
        except (OSError, ValueError):
            return None
        known = {thread.native_id for thread in harmless}
        tasks = [task for task in tasks if task not in known]
        if len(tasks) < 2:
            return None
        names = [self._read_text("/proc/self/task/%d/comm" % task).strip() for task in tasks]
        foreign = [name for name in names[1:] if name != names[0]]
        if not foreign:
            # OpenBLAS stops its threads, which have no names, at a fork, and restarts them later.
            maps = self._read_text("/proc/self/maps")
            if "openblas" in maps and "libgomp" not in maps and "libiomp" not in maps:
                return None
            foreign = names[1:]
        return "threads of native code are alive: " + ", ".join(sorted(set(foreign))[:10])

    def _read_text(self, path):
        chunks = []
        try:
            descriptor = self._open(path, self._readonly)
        except OSError:
            return ""
        try:
            while True:
                chunk = self._read(descriptor, 1 << 20)
                if not chunk:
                    break
                chunks.append(chunk)
        except OSError:
            pass
        finally:
            self._close(descriptor)
        return b"".join(chunks).decode(errors="replace")

    def fork(self, environment):
        """The child's pid; 0 in the child, which calls `begin_child` next."""
        self.randomness.before_fork()
        self._shared_memory.before_fork(self._children.values())
        with self._catch_warnings():
            warnings.simplefilter("ignore")  # CPython 3.12 and later count the threads of OpenBLAS.
            pid = self._fork()
        if pid:
            self._children[environment] = pid
        return pid

    def begin_child(self):
        """Gives the child its own randomness and memory, and makes it the leader of a process group."""
        self._children.clear()
        self._lost_threads = self._count()  # CPython still counts threads that only the parent has.
        self._setpgid(0, 0)
        self.randomness.after_fork_in_child()
        self._shared_memory.after_fork_in_child()

    def reap(self, environment):
        """Waits for a child; how it ended, as fields of the protocol."""
        try:
            _, status = self._waitpid(self._children.pop(environment), 0)
        except (KeyError, ChildProcessError):
            return {}  # Never a child of this process, or the project's own code has waited for it.
        return {"signal": status & 0x7F} if status & 0x7F else {"exit": status >> 8}


def _is_harmless(thread):
    """Whether it is the thread of pytest-rerunfailures for workers of xdist, which only waits."""
    return getattr(getattr(thread, "_target", None), "__module__", None) == "pytest_rerunfailures"
