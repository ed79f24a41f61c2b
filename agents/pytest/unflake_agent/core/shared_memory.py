"""Gives a fork its own copy of the memory that it would share with its parent and all other forks.

Locks, events and values of `multiprocessing` and anonymous maps of `mmap` lie in such memory: what
one test sets there, tests in other forks would find. Files that have a name are left alone.
"""

import os
import sys

PROTECTION, FLAGS = 0x1 | 0x2, 0x01 | 0x10 | 0x20  # PROT_READ, PROT_WRITE; MAP_SHARED, MAP_FIXED, MAP_ANONYMOUS
WITHOUT_NAME = "/dev/zero (deleted)", "/dev/shm/"
MAX_BYTES = 64 << 20


class SharedMemory:
    def __init__(self):
        self._open, self._read, self._close = os.open, os.read, os.close
        self._mappings, self._libc = [], None

    def before_fork(self, own_children):
        """`own_children`: forks of the agent. With another process the memory may be shared on purpose."""
        self._mappings = []
        if "mmap" not in sys.modules and "_multiprocessing" not in sys.modules:
            return
        found = list(_unnamed(self._read_text("/proc/self/maps")))
        if not found or sum(end - start for start, end in found) > MAX_BYTES:
            return
        children = self._read_text("/proc/thread-self/children").split()
        if not all(int(child) in own_children for child in children):
            return
        if self._libc is None:
            self._load()
        self._mappings = found

    def after_fork_in_child(self):
        for start, end in self._mappings:
            contents = self._string_at(start, end - start)
            if self._libc.mmap(start, end - start, PROTECTION, FLAGS, -1, 0) == start:
                self._memmove(start, contents, end - start)

    def _load(self):
        """Before the fork, for tests may change what this needs."""
        import ctypes

        self._libc, self._string_at, self._memmove = ctypes.CDLL(None), ctypes.string_at, ctypes.memmove
        self._libc.mmap.restype = ctypes.c_void_p
        self._libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]

    def _read_text(self, path):
        try:
            descriptor = self._open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return ""
        try:
            return b"".join(iter(lambda: self._read(descriptor, 1 << 16), b"")).decode(errors="replace")
        finally:
            self._close(descriptor)


def _unnamed(maps):
    """The first and the last address of each writable mapping that is shared and has no file with a name.

    >>> list(_unnamed("7000-8000 rw-s 00000000 00:01 5   /dev/zero (deleted)\\n8000-9000 rw-p 00000000 00:00 0\\n"))
    [(28672, 32768)]
    """
    for line in maps.splitlines():
        words = line.split(None, 5)
        if len(words) == 6 and words[1] == "rw-s" and words[5].startswith(WITHOUT_NAME) and words[5].endswith(" (deleted)"):
            start, _, end = words[0].partition("-")
            yield int(start, 16), int(end, 16)
