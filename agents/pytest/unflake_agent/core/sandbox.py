"""Starts the sandbox's clock and delays with each attempt, where the preload shim provides them.

The shim shares a memory page with the agent (agents/preload/page.rs).
"""

import mmap
import struct
import time

# Offsets in the page: whether delays are injected, and by how much the clock is set back.
DELAYS_ARMED, CLOCK_OFFSET, LAYOUT_VERSION = 4, 16, 3


def open_sandbox(settings):
    """None if nothing has to be done at the start of an attempt."""
    words, _, path = settings.get("under", "").partition(";page=")
    factors = dict(word.partition("=")[::2] for word in words.split(";"))
    if not path or not ("delays" in factors or "shift" in factors):
        return None
    try:
        with open(path, "r+b") as file:
            page = mmap.mmap(file.fileno(), mmap.PAGESIZE)
    except (OSError, ValueError):
        return None
    return Sandbox(page, factors) if struct.unpack_from("I", page)[0] == LAYOUT_VERSION else None


class Sandbox:
    def __init__(self, page, factors):
        self._page, self._unpack, self._pack, self._now = page, struct.unpack_from, struct.pack_into, time.time_ns
        self._has_delays = "delays" in factors
        self._start = None
        if "shift" in factors:
            self._start = int(factors["origins"].split(",")[0]) + int(factors["shift"])

    def begin(self):
        """Sets the clock to the requested start, however old the process is, and arms delays."""
        if self._start is not None:
            (offset,) = self._unpack("q", self._page, CLOCK_OFFSET)
            self._pack("q", self._page, CLOCK_OFFSET, offset + self._now() - self._start)
        if self._has_delays:
            self._pack("I", self._page, DELAYS_ARMED, 1)

    def end(self):
        if self._has_delays:
            self._pack("I", self._page, DELAYS_ARMED, 0)
