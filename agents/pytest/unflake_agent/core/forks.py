"""Copies of this process: whether they are safe, and what must not be shared with them. PYTEST_DONT_REWRITE"""

import _thread
import os
import random
import sys
import threading
import time
import warnings

# Turns of the generator to look for a state that only drawing has changed: three million numbers, about 15 ms.
TURNS = 5000
WORDS = 624
# A thread that has been joined is gone for Python, and takes a moment to be gone for the system.
GOING = (0.001, 0.005, 0.02)


class Forker:
    def __init__(self):
        self._fork, self._setpgid, self._waitpid = os.fork, os.setpgid, os.waitpid
        self._listdir, self._open, self._read, self._close = os.listdir, os.open, os.read, os.close
        self._readonly = os.O_RDONLY
        self._enumerate, self._current, self._count = threading.enumerate, threading.current_thread, _thread._count
        self._quiet, self._sleep = warnings.catch_warnings, time.sleep
        self._chance = Chance()
        self._children = {}
        self._dead = 0

    def obstacle(self):
        """Why a copy of this process would not be safe; None if it would."""
        here = self._current()
        others, harmless = [], []
        for thread in self._enumerate():
            if thread is not here:
                (harmless if _is_harmless(thread) else others).append(thread)
        names = sorted(str(thread.name) for thread in others)
        if names:
            return "threads are alive: " + ", ".join(names[:10])
        for pause in GOING:
            if self._strangers(harmless) is None:
                return None
            self._sleep(pause)
        return self._strangers(harmless)

    def _strangers(self, harmless):
        """Threads that Python has no objects for."""
        unnamed = self._count() - self._dead - len(harmless)
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
        names = [self._text("/proc/self/task/%d/comm" % task).strip() for task in tasks]
        foreign = [name for name in names[1:] if name != names[0]]
        if not foreign:
            # OpenBLAS stops its threads at a fork and starts them again when needed; it gives them no names.
            maps = self._text("/proc/self/maps")
            if "openblas" in maps and "libgomp" not in maps and "libiomp" not in maps:
                return None
            foreign = names[1:]
        return "threads of native code are alive: " + ", ".join(sorted(set(foreign))[:10])

    def _text(self, path):
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
        """The child's pid, or 0 in the child, which has a process group and randomness of its own."""
        self._chance.before_fork()
        with self._quiet():
            warnings.simplefilter("ignore")  # Of CPython 3.12 and later, which count OpenBLAS's threads.
            pid = self._fork()
        if pid:
            self._children[environment] = pid
            return pid
        self._children.clear()
        self._dead = self._count()  # CPython goes on counting threads that stayed behind in the parent.
        self._setpgid(0, 0)
        self._chance.in_child()
        return 0

    def reap(self, environment):
        """How a child ended, in the words of the protocol."""
        try:
            _, status = self._waitpid(self._children.pop(environment), 0)
        except (KeyError, ChildProcessError):
            return {}  # Never a child of this process, or waited for by the project's own code.
        return {"signal": status & 0x7F} if status & 0x7F else {"exit": status >> 8}


def _is_harmless(thread):
    """pytest-rerunfailures keeps a thread for the workers of xdist. It only waits, and without workers for nothing."""
    return getattr(getattr(thread, "_target", None), "__module__", None) == "pytest_rerunfailures"


class Chance:
    """Keeps the random state that a project has seeded, and draws anew what it left to chance.

    CPython seeds its generator again in every forked child, NumPy never does. So it has to be known which of the two
    the project wants. A generator that was never seeded by the project still has a state that follows from its
    first one by drawing alone.
    """

    def __init__(self):
        self._getstate, self._setstate = random.getstate, random.setstate
        self._orbit = lambda start, engine=random.Random: Orbit(start, engine)
        self._python = self._orbit(random.getstate()[1])
        self._numpy = None
        self._kept = None
        self._numpy_afresh = None

    def before_fork(self):
        state = self._getstate()
        self._kept = state if self._python.left_by(state[1]) else None
        self._numpy_afresh = None
        numpy = sys.modules.get("numpy.random")
        if numpy is not None:
            try:
                self._look_at_numpy(numpy)
            except Exception:
                pass  # A NumPy that keeps its generator elsewhere: what it does at a fork by itself must do.

    def _look_at_numpy(self, numpy):
        generator = numpy.mtrand._rand._bit_generator
        if self._numpy is None:
            # Seeding by hand changes the state but not the entropy with which the generator was made.
            made_of = getattr(generator, "seed_seq", None) or generator._seed_seq
            self._numpy = self._orbit(_vector(numpy.MT19937(made_of)))
        if not self._numpy.left_by(_vector(generator)):

            def afresh():
                numpy.mtrand._rand.seed()
                self._numpy = self._orbit(_vector(generator))

            self._numpy_afresh = afresh

    def in_child(self):
        """CPython has already seeded its generator; both begin orbits of their own."""
        if self._kept is not None:
            self._setstate(self._kept)
        else:
            self._python = self._orbit(self._getstate()[1])
        if self._numpy_afresh is not None:
            self._numpy_afresh()


def _vector(generator):
    return tuple(generator.state["state"]["key"].tolist()) + (WORDS,)


class Orbit:
    """The states that follow from a first one when numbers are drawn from a Mersenne Twister."""

    def __init__(self, start, engine):
        self._engine = engine
        self._start = start
        self._left = False

    def left_by(self, state):
        """Whether `state` is not among them, as far as can be seen. Then somebody has seeded."""
        if self._left or state[:-1] == self._start[:-1]:
            return self._left
        here, there = self._at(self._start), self._at(state)
        wanted = there.getrandbits(32 * WORDS)
        for _ in range(TURNS):
            if here.getrandbits(32 * WORDS) == wanted:
                self._start = state
                return False
        self._left = True
        return True

    def _at(self, state):
        engine = self._engine()
        engine.setstate((3, tuple(state[:-1]) + (0,), None))
        return engine
