"""The recorder of variables, where a thread outlives the attempt."""

import sys

from unflake_agent.trace.variables import EVERYTHING, VariableRecorder


class Process:
    def __init__(self):
        self.values = []

    def value(self, stream, count, place, name, text):
        self.values.append((name, text))


class EndingStream:
    """A stream that ends the attempt while a value is recorded, as another thread can."""

    def __init__(self, recorder):
        self._recorder = recorder

    def count(self):
        self._recorder.end()
        return 0


def record(recorder, stream):
    one, two = 1, 2  # noqa: F841
    frame = sys._getframe()
    recorder.after(frame, 7, EVERYTHING, stream)
    return recorder


def test_the_attempt_may_end_while_values_are_recorded():
    process, recorder = Process(), VariableRecorder()
    recorder.begin(process)
    record(recorder, EndingStream(recorder))
    assert len(process.values) == 1
