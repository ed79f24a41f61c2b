"""The world that a test runs in, where unflake has made one: what of it begins with the test. PYTEST_DONT_REWRITE"""

import mmap
import struct
import time

# Where in the shared page (agents/preload/page.rs) these are: whether delays are made, and how far the clock is put back.
ARMED, REWOUND, LAYOUT = 4, 16, 3


def world(told):
    """None: nothing has to be done for it."""
    words, _, path = told.get("under", "").partition(";page=")
    settings = dict(word.partition("=")[::2] for word in words.split(";"))
    if not path or not ("delays" in settings or "shift" in settings):
        return None
    try:
        with open(path, "r+b") as file:
            page = mmap.mmap(file.fileno(), mmap.PAGESIZE)
    except (OSError, ValueError):
        return None
    return World(page, settings) if struct.unpack_from("I", page)[0] == LAYOUT else None


class World:
    def __init__(self, page, settings):
        self._page, self._unpack, self._pack, self._now = page, struct.unpack_from, struct.pack_into, time.time_ns
        self._delays = "delays" in settings
        self._moment = None
        if "shift" in settings:
            self._moment = int(settings["origins"].split(",")[0]) + int(settings["shift"])

    def begin(self):
        """The clock says what it was asked to say, however long ago the process was started; delays are made."""
        if self._moment is not None:
            (rewound,) = self._unpack("q", self._page, REWOUND)
            self._pack("q", self._page, REWOUND, rewound + self._now() - self._moment)
        if self._delays:
            self._pack("I", self._page, ARMED, 1)

    def end(self):
        if self._delays:
            self._pack("I", self._page, ARMED, 0)
