"""Forces how long the waits that a line begins last, to see whether that decides the outcome.

Standalone: `unflake under` gives this file to pytest without the agent.
"""

import functools
import importlib
import os
import sys

from .forced_value import ForcedValue, is_in_file

# The name of what is forced: no variable can have it.
NAME = "wait()"
# Sleeps and timeouts: a module, a name in it, and where its arguments have the seconds.
WAITS = [
    ("time", "sleep", 0, "secs"),
    ("asyncio", "sleep", 0, "delay"),
    ("asyncio", "wait_for", 1, "timeout"),
    ("asyncio", "wait", 1, "timeout"),
    ("threading", "Event.wait", 1, "timeout"),
    ("threading", "Condition.wait", 1, "timeout"),
    ("threading", "Condition.wait_for", 2, "timeout"),
    ("threading", "Thread.join", 1, "timeout"),
    ("queue", "Queue.get", 2, "timeout"),
    ("concurrent.futures", "Future.result", 1, "timeout"),
    ("subprocess", "Popen.wait", 1, "timeout"),
    ("subprocess", "Popen.communicate", 2, "timeout"),
]


def plugin_of(setting):
    """The plugin for a setting `file:line:name=literal`."""
    is_wait = setting.partition("=")[0].endswith(":" + NAME)
    return ForcedWait(setting) if is_wait else ForcedValue(setting)


def _speed(under):
    """How many times as fast clocks run: the shim takes millionths."""
    speeds = [entry[6:] for entry in under.partition(";page=")[0].split(";") if entry.startswith("speed=")]
    return int(speeds[0]) / 1e6 if speeds else 1.0


class ForcedWait:
    """A plugin. `file:line:wait()=0` ends the waits of that line at once, `…=+1` adds a second.

    A wait without a timeout is left alone. Where clocks run faster, a second is as long as before.
    """

    def __init__(self, setting):
        place, _, text = setting.partition("=")
        self._file, line, _ = place.rsplit(":", 2)
        self._line = int(line)
        self.replaced = []  # Pairs of original and wrapper.
        self._is_added = text.startswith("+")
        self._seconds = float(text) * _speed(os.environ.get("UNFLAKE_UNDER", ""))
        for module, name, position, keyword in WAITS:
            owner = importlib.import_module(module)
            *classes, name = name.split(".")
            for part in classes:
                owner = getattr(owner, part)
            original = getattr(owner, name)
            wrapper = self._changed(original, position, keyword)
            setattr(owner, name, wrapper)
            self.replaced.append((original, wrapper))

    def _changed(self, original, position, keyword):
        @functools.wraps(original)
        def wait(*args, **named):
            frame = sys._getframe(1)
            if frame.f_lineno == self._line and is_in_file(frame.f_code.co_filename, self._file):
                if keyword in named:
                    named[keyword] = self._length(named[keyword])
                elif len(args) > position:
                    args = args[:position] + (self._length(args[position]),) + args[position + 1 :]
            return original(*args, **named)

        return wait

    def _length(self, seconds):
        if not isinstance(seconds, (int, float)):
            return seconds
        return seconds + self._seconds if self._is_added else self._seconds
