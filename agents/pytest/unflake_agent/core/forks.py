"""Forks the process: decides whether that is safe, and gives the child its own randomness."""

import _thread
import os
import random
import sys
import threading
import time
import warnings

# Steps of the generator in which a state that only drawing has changed is found: three million
# numbers, about 15 ms.
SEARCHED_STEPS = 5000
TWISTER_WORDS = 624
# A joined thread has ended for Python, and a moment later for the system.
EXIT_PAUSES = (0.001, 0.005, 0.02)


class Forker:
    def __init__(self):
        self._fork, self._setpgid, self._waitpid = os.fork, os.setpgid, os.waitpid
        self._listdir, self._open, self._read, self._close = os.listdir, os.open, os.read, os.close
        self._readonly = os.O_RDONLY
        self._enumerate, self._current, self._count = threading.enumerate, threading.current_thread, _thread._count
        self._catch_warnings, self._sleep = warnings.catch_warnings, time.sleep
        self._randomness = Randomness()
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
        """The child's pid; 0 in the child, which leads a process group of its own."""
        self._randomness.before_fork()
        with self._catch_warnings():
            warnings.simplefilter("ignore")  # CPython 3.12 and later count the threads of OpenBLAS.
            pid = self._fork()
        if pid:
            self._children[environment] = pid
            return pid
        self._children.clear()
        self._lost_threads = self._count()  # CPython still counts threads that only the parent has.
        self._setpgid(0, 0)
        self._randomness.after_fork_in_child()
        return 0

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


class Randomness:
    """Keeps random state that the project seeded, and reseeds what the project never seeded.

    CPython reseeds its generator in every forked child, NumPy never does. A generator that the
    project never seeded still has a state that follows from its first one by drawing alone.
    """

    def __init__(self):
        self._getstate, self._setstate = random.getstate, random.setstate
        self._sequence = lambda start, engine=random.Random: TwisterSequence(start, engine)
        self._python = self._sequence(random.getstate()[1])
        self._numpy = None
        self._seeded_state = None
        self._reseed_numpy = None

    def before_fork(self):
        state = self._getstate()
        self._seeded_state = state if self._python.is_left_by(state[1]) else None
        self._reseed_numpy = None
        numpy = sys.modules.get("numpy.random")
        if numpy is not None:
            try:
                self._inspect_numpy(numpy)
            except Exception:
                pass  # A NumPy that keeps its generator elsewhere: its own fork handling applies.

    def _inspect_numpy(self, numpy):
        generator = numpy.mtrand._rand._bit_generator
        if self._numpy is None:
            # Seeding by hand changes the state, not the entropy that the generator was made from.
            entropy = getattr(generator, "seed_seq", None) or generator._seed_seq
            self._numpy = self._sequence(_twister_state(numpy.MT19937(entropy)))
        if not self._numpy.is_left_by(_twister_state(generator)):

            def reseed():
                numpy.mtrand._rand.seed()
                self._numpy = self._sequence(_twister_state(generator))

            self._reseed_numpy = reseed

    def after_fork_in_child(self):
        if self._seeded_state is not None:
            self._setstate(self._seeded_state)
        else:
            self._python = self._sequence(self._getstate()[1])  # CPython has reseeded it already.
        if self._reseed_numpy is not None:
            self._reseed_numpy()


def _twister_state(generator):
    return tuple(generator.state["state"]["key"].tolist()) + (TWISTER_WORDS,)


class TwisterSequence:
    """The states that drawing numbers from a Mersenne Twister leads to, from a first state on."""

    def __init__(self, start, engine):
        self._engine = engine
        self._start = start
        self._left = False

    def is_left_by(self, state):
        """Whether `state` is not in the searched part of the sequence, so that a seed was set."""
        if self._left or state[:-1] == self._start[:-1]:
            return self._left
        here, there = self._at(self._start), self._at(state)
        wanted = there.getrandbits(32 * TWISTER_WORDS)
        for _ in range(SEARCHED_STEPS):
            if here.getrandbits(32 * TWISTER_WORDS) == wanted:
                self._start = state
                return False
        self._left = True
        return True

    def _at(self, state):
        engine = self._engine()
        engine.setstate((3, tuple(state[:-1]) + (0,), None))
        return engine
