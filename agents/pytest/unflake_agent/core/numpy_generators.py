"""Generators of NumPy that modules make without a seed: `default_rng()`, `RandomState()`, `SeedSequence()`.

NumPy asks Python for 128 random bits and keeps them as the entropy of the generator. So a generator
whose entropy was drawn while modules were imported has no seed of the project. One that the project
has seeded since has no entropy, or a state that drawing does not lead to.
"""

import gc
import random
import sys

ENTROPY_BYTES = 16
# Generators that are followed.
MOST_GENERATORS = 64
# Constant as long as a generator only draws.
CONSTANTS = {"PCG64": "inc", "PCG64DXSM": "inc", "Philox": "key"}


class NumpyGenerators:
    """Which generators of NumPy no code has seeded. `label` names the code that draws now."""

    def __init__(self, sequence, label):
        self._sequence, self._label = sequence, label
        # From before the project's code was loaded: tests replace functions.
        self._objects, self._modules = gc.get_objects, sys.modules
        self._drawn = {}
        self._known = {}
        self._count_at_search = 0
        self._replaced = None

    def watch(self):
        system = random._urandom

        def urandom(count):
            drawn = system(count)
            if count == ENTROPY_BYTES:
                self._drawn[int.from_bytes(drawn, "big")] = self._label()
            return drawn

        self._replaced = (urandom, system)
        random._urandom = urandom

    def stop_watching(self):
        """Puts the function back before the first test."""
        if self._replaced is not None and random._urandom is self._replaced[0]:
            random._urandom = self._replaced[1]

    def forget_seeded(self):
        """What is left was never seeded by the project."""
        module = self._modules.get("numpy.random")
        if module is None:
            return
        if len(self._drawn) != self._count_at_search:
            self._count_at_search = len(self._drawn)
            self._find(module)
        for key, one in list(self._known.items()):
            if not one.is_unseeded():
                del self._known[key]

    def _find(self, module):
        sequences, generators = module.SeedSequence, module.BitGenerator
        hidden = module.mtrand._rand._bit_generator  # Of `numpy.random.random` and others.
        for one in self._objects():
            # Not `isinstance`, which asks objects for their class.
            is_sequence = issubclass(type(one), sequences)
            if one is hidden or not is_sequence and not issubclass(type(one), generators):
                continue
            if id(one) in self._known or len(self._known) >= MOST_GENERATORS:
                continue
            try:
                entropy = (one if is_sequence else _seed_sequence(one)).entropy
                if type(entropy) is int and entropy in self._drawn:
                    known = _Sequence if is_sequence else _Generator
                    self._known[id(one)] = known(one, self._drawn[entropy], module, self._sequence)
            except Exception:
                continue  # A generator of another library, or one that has no entropy any more.

    def reseed(self, number_of):
        """`number_of`: the seed of what this label names, or None for one from the system."""
        for one in list(self._known.values()):
            try:
                one.reseed(number_of(one.label))
            except Exception:
                pass  # It stays as it is: forks draw the same from it.


def _seed_sequence(generator):
    return generator.seed_seq if hasattr(generator, "seed_seq") else generator._seed_seq


class _Sequence:
    """A seed sequence, from which generators of tests may be made."""

    def __init__(self, sequence, label, module, _):
        self._one, self.label, self._new = sequence, label, module.SeedSequence

    def is_unseeded(self):
        return True

    def reseed(self, number):
        new = self._new(number, spawn_key=self._one.spawn_key, pool_size=self._one.pool_size)
        # Its attributes are read-only. It has this method for copies.
        self._one.__setstate_cython__(new.__reduce__()[2])


class _Generator:
    """A bit generator."""

    def __init__(self, generator, label, module, sequence):
        self._one, self.label, self._new = generator, label, module.SeedSequence
        self._twisters = sequence
        self._seeded_by(_seed_sequence(generator))

    def _seeded_by(self, seeds):
        state = type(self._one)(seeds).state
        if state["bit_generator"] == "MT19937":
            self._constant = self._twisters(twister_state(state))
        else:
            self._constant = _constant(state)
        return state

    def is_unseeded(self):
        try:
            state = self._one.state
            if state["bit_generator"] == "MT19937":
                return not self._constant.is_left_by(twister_state(state))
            return _constant(state) == self._constant
        except Exception:
            return False

    def reseed(self, number):
        self._one.state = self._seeded_by(self._new(number, spawn_key=_seed_sequence(self._one).spawn_key))


def _constant(state):
    name = CONSTANTS.get(state["bit_generator"])
    # Where nothing is constant, the whole state: what has drawn is left alone.
    return repr(state["state"] if name is None else state["state"][name])


def twister_state(state):
    """The state of NumPy's Mersenne Twister as that of Python's."""
    return tuple(state["state"]["key"].tolist()) + (len(state["state"]["key"]),)
