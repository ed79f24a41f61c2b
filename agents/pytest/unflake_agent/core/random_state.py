"""Random generators: which the project has seeded, what forks draw, and what a seed decides.

Standalone: `unflake under` gives this file, and that about NumPy, to pytest without the agent.
"""

import gc
import os
import random
import sys
import weakref
import zlib

import pytest

from .numpy_generators import NumpyGenerators, twister_state

# Steps of the generator in which a state that only drawing has changed is found: three million
# numbers, about 15 ms.
SEARCHED_STEPS = 5000
TWISTER_WORDS = 624
# Generators of imported modules that are followed.
MOST_GENERATORS = 64
# Not the module that makes a generator.
LIBRARIES = (__name__, __name__.rpartition(".")[0] + ".numpy_generators", "random", "secrets")
# The preload shim starts another stream of random bytes when SEED/NAME below it is opened.
STREAM_START = "/dev/unflake-seed/"


class Randomness:
    """Keeps random state that the project seeded, and reseeds what the project never seeded.

    CPython reseeds its generator in every forked child, NumPy never does. A generator that the
    project never seeded still has a state that follows from its first one by drawing alone.
    """

    def __init__(self, watches=True):
        """`watches`: also generators that modules make. Not in the user's own first pass."""
        self._getstate, self._setstate, self._seed = random.getstate, random.setstate, random.seed
        self._sequence = lambda start, engine=random.Random: TwisterSequence(start, engine)
        self._python = self._sequence(random.getstate()[1])
        self._numpy = None
        self._seeded_state = None
        self._reseed_numpy = None
        self._private = PrivateGenerators(self._sequence, watches)
        self.stop_watching = self._private.stop_watching

    def seed(self, number):
        """Seeds the generators that the project has not seeded."""
        self.before_fork()
        self._private.reseed(number)
        if self._seeded_state is None:
            self._seed(number)
            self._python = self._sequence(self._getstate()[1])
        if self._reseed_numpy is not None:
            self._reseed_numpy(number)

    def before_fork(self):
        self._private.forget_seeded()
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
            self._numpy = self._sequence(twister_state(numpy.MT19937(entropy).state))
        if not self._numpy.is_left_by(twister_state(generator.state)):

            def reseed(seed=None):
                numpy.mtrand._rand.seed(seed)
                self._numpy = self._sequence(twister_state(generator.state))

            self._reseed_numpy = reseed

    def after_fork_in_child(self):
        if self._seeded_state is not None:
            self._setstate(self._seeded_state)
        else:
            self._python = self._sequence(self._getstate()[1])  # CPython has reseeded it already.
        if self._reseed_numpy is not None:
            self._reseed_numpy()
        self._private.reseed()


class PrivateGenerators:
    """`random.Random` objects, and generators of NumPy, that imported modules make without a seed.

    Every fork would draw the same numbers from them, every process others. Methods are replaced
    while modules are imported: once an object has drawn, its state does not say whether a seed was
    given. Plugins of pytest are imported before that, so their objects must not have drawn.

    A generator is labelled by the module that made it and how many it made before. So a seed draws
    the same from it whichever other modules are imported.
    """

    def __init__(self, sequence, watches):
        self._sequence = sequence
        self._known = {}
        self._made = {}
        self._replaced = None
        self._numpy = NumpyGenerators(sequence, self._label)
        self._engine, self._ref, self._key = random.Random, weakref.ref, id
        self._seed, self._setstate = random.Random.seed, random.Random.setstate
        self._getstate, self._checksum = random.Random.getstate, zlib.crc32
        if watches:
            self._watch()

    def _watch(self):
        def seed(generator, *arguments, **named):
            self._seed(generator, *arguments, **named)
            self._note(generator, (list(arguments) + list(named.values()) + [None])[0] is None)

        def setstate(generator, state):
            self._setstate(generator, state)
            self._note(generator, False)

        hidden = getattr(random.seed, "__self__", None)
        for position, one in enumerate(_generators()):
            if one is not hidden and not issubclass(type(one), random.SystemRandom):
                self._note(one, _is_seeded_by_system(self._getstate(one)[1]), "plugin %d" % position)
        self._replaced = (seed, setstate)
        random.Random.seed, random.Random.setstate = seed, setstate
        self._numpy.watch()

    def _label(self):
        """Of a generator that is made now."""
        frame = sys._getframe(1)
        while frame is not None and frame.f_globals.get("__name__") in LIBRARIES:
            frame = frame.f_back
        module = "" if frame is None else str(frame.f_globals.get("__name__"))
        self._made[module] = self._made.get(module, 0) + 1
        return "%s %d" % (module, self._made[module])

    def stop_watching(self):
        """Puts the methods back before the first test."""
        if self._replaced is None:
            return
        self._numpy.stop_watching()
        seed, setstate = self._replaced
        if self._engine.seed is seed and self._engine.setstate is setstate:
            self._engine.seed, self._engine.setstate = self._seed, self._setstate

    def _note(self, generator, is_unseeded, label=None):
        self._known.pop(self._key(generator), None)
        if len(self._known) == MOST_GENERATORS:
            self._known = {key: known for key, known in self._known.items() if known[0]() is not None}
        if is_unseeded and len(self._known) < MOST_GENERATORS:
            self._known[self._key(generator)] = (self._ref(generator), self._started(generator), label or self._label())

    def _started(self, generator):
        return self._sequence(self._getstate(generator)[1])

    def forget_seeded(self):
        """What is left was never seeded by the project."""
        for key, (ref, sequence, _) in list(self._known.items()):
            generator = ref()
            if generator is None or sequence.is_left_by(self._getstate(generator)[1]):
                del self._known[key]
        self._numpy.forget_seeded()

    def reseed(self, number=None):
        """By a number, or from the system."""

        def number_of(label):
            return None if number is None else number + self._checksum(label.encode("utf-8", "replace"))

        for key, (ref, _, label) in list(self._known.items()):
            generator = ref()
            if generator is not None:
                self._seed(generator, number_of(label))
                self._known[key] = (ref, self._started(generator), label)
        self._numpy.reseed(number_of)


def _generators():
    """All generators of Python that exist."""
    if sys.version_info < (3, 9):  # Objects do not refer to their type there.
        return [one for one in gc.get_objects() if issubclass(type(one), random.Random)]
    classes, found = [random.Random], []
    for kind in classes:
        for one in gc.get_referrers(kind):
            if type(one) is kind:
                found.append(one)
            elif issubclass(type(one), type) and kind in one.__bases__ and one not in classes:
                classes.append(one)
    return found


def _is_seeded_by_system(state):
    """Whether a state that nothing was drawn from follows from so many random words that it is no seed.

    Undoes `init_by_array` of the Mersenne Twister until the words of the seed, which repeat when
    there are few. A text has 17 words and more.
    """
    words, count, mask = list(state[:-1]), TWISTER_WORDS, 0xFFFFFFFF
    if len(state) != count + 1 or state[-1] != count or words[0] != 0x80000000:
        return False

    def mixed(word, factor):
        return (word ^ word >> 30) * factor & mask

    words[1] = (words[1] + 1 & mask) ^ mixed(words[-1], 1566083941)
    for i in range(count - 1, 1, -1):
        words[i] = (words[i] + i & mask) ^ mixed(words[i - 1], 1566083941)
    first = [19650218]
    for i in range(1, count):
        first.append(mixed(first[-1], 1812433253) + i & mask)
    seed = [words[i] - (first[i] ^ mixed(words[i - 1], 1664525)) & mask for i in range(3, count)]
    return not any(seed[:-period] == seed[period:] for period in range(1, count // 2))


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
        engine = self._engine(0)  # Without a seed it would draw one from the system.
        engine.setstate((3, tuple(state[:-1]) + (0,), None))
        return engine


def seed_of(under):
    """The seed of the world, from the settings of the preload shim. None if it has none."""
    words = dict(word.partition("=")[::2] for word in under.partition(";page=")[0].split(";"))
    return int(words["random"]) if "random" in words else None


def set_seed(manager, seed, randomness):
    """From now on this seed decides, in place of that of the process from which this one was forked."""
    if manager.hasplugin("unflake-seeds"):
        manager.unregister(name="unflake-seeds")
    manager.register(SeedPlugin(seed, randomness), "unflake-seeds")
    under = os.environ.get("UNFLAKE_UNDER")
    if under is not None:  # For programs that tests start.
        head, mark, page = under.partition(";page=")
        words = ["random=%d" % seed if word.startswith("random=") else word for word in head.split(";")]
        os.environ["UNFLAKE_UNDER"] = ";".join(words) + mark + page


class SeedPlugin:
    """Makes what a test draws follow from the seed of the world and the name of the test.

    So it does not matter which tests ran before, whether the process is a fork, and whether pytest
    runs in unflake. The same for what a file draws when it is imported. Names have no directories,
    because they depend on where pytest was started.
    """

    def __init__(self, seed, randomness):
        self._seed, self._randomness = seed, randomness
        self._engine, self._open, self._modules = random.Random, os.open, sys.modules
        self._hypothesis_seed = None
        self._begin("")

    def _begin(self, name):
        drawn = self._engine("%d %s" % (self._seed, name))
        stream = "%s%d/%016x" % (STREAM_START, self._seed, drawn.getrandbits(64))
        self._randomness.seed(drawn.getrandbits(32))
        hypothesis = self._modules.get("hypothesis.core")
        given = getattr(hypothesis, "global_force_seed", 0)
        if given is None or given == self._hypothesis_seed:
            hypothesis.global_force_seed = self._hypothesis_seed = drawn.getrandbits(32)
        # Last: the test draws from the beginning of the stream.
        try:
            self._open(stream, os.O_RDONLY)
        except OSError:
            pass

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config):
        # pytest-randomly seeds every generator itself. A seed that the user gave stays.
        default = getattr(self._modules.get("pytest_randomly"), "default_seed", None)
        if getattr(config.option, "randomly_seed", None) in ("default", default):
            config.option.randomly_seed = self._engine(self._seed).getrandbits(32)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector):
        if isinstance(collector, pytest.File):
            self._begin(collector.nodeid.rpartition("/")[2])
        yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        self._randomness.stop_watching()
        path, _, name = item.nodeid.partition("::")
        self._begin(path.rpartition("/")[2] + "::" + name)
        yield
