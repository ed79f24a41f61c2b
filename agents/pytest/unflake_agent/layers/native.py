"""Lines before `sys.monitoring`, seen by the library that is there for ordered traces (`agents/pytest/tracer`): it notes each line that is
come to, and from time to time the notes are read to see which there are. PYTEST_DONT_REWRITE"""

import ctypes

from .code_watch import Tracing
from ..trace.native import Asked, Cursor

# Notes of a thread that are read together.
ROOM = 1 << 14


class Notes:
    """Of one thread."""

    def __init__(self):
        self.words = (ctypes.c_uint32 * ROOM)()
        base = ctypes.addressof(self.words)
        self.cursor = Cursor(base, base + 4 * ROOM, 0)
        self._base = base
        self.address = ctypes.addressof(self.cursor)

    def take(self):
        """Ids of the lines that were come to since the last time."""
        count = (self.cursor.at - self._base) // 4
        found = set(self.words[:count])
        self.cursor.at = self._base
        return found


class NativeTracing(Tracing):
    """For lines alone."""

    def __init__(self, library, *arguments):
        Tracing.__init__(self, *arguments)
        self._library = library
        self._places, self._found, self._notes = [None], set(), {}

        def enter(frame, event, argument):
            """Called in a new thread, or where somebody has put back what `sys.gettrace` gave."""
            library.unflake_trace(1)

        self._enter = enter
        self._asked = Asked(
            None, None, self._learn_natively, self._place, self._thread, self._no_task, self._no_task, self._more, enter
        )
        if not library.unflake_open(ctypes.byref(self._asked)):
            raise OSError("this Python lacks a function")

    def _trace(self):
        self._notes, self._found = {}, set()
        self._library.unflake_begin()
        self._library.unflake_trace(1)

    def _stop(self):
        self._library.unflake_end()
        for notes in list(self._notes.values()):
            self._found |= notes.take()
        for place in self._found:
            known, line = self._places[place]
            known.lines.add(line)
            self._touch(known)
        return Tracing._stop(self)

    # -- What the library asks ----------------------------------------------------------------------------------------

    def _learn_natively(self, code):
        known = self._learn(code)
        return None if known is None else (code.co_firstlineno, False)

    def _place(self, code, line):
        self._places.append((self._codes[id(code)], line))
        return len(self._places) - 1

    def _thread(self):
        notes = Notes()
        self._notes[notes.address] = notes
        return notes.address

    def _no_task(self, *_):
        """Whose line it is does not matter."""

    def _more(self, address):
        self._found |= self._notes[address].take()
        return True
