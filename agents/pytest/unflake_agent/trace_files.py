"""The files of a trace, in the format of `crates/unflake-observe`. They are mapped: what was written is there whatever becomes
of the process, and no descriptor stays open that a test could close. PYTEST_DONT_REWRITE"""

import _thread
import ctypes
import os
import struct
import sys
import time

HEAD, STEPS, UNKNOWN = 256, 16, 0xFFFFFFFF
# Why a file stops before its strand does.
THREAD_LIMIT, ATTEMPT_LIMIT, NO_ROOM, TAKEN = 1, 2, 3, 4
THREAD_EVENTS, ATTEMPT_EVENTS = 16 << 20, 64 << 20
# Sizes of the pieces of a file.
FIRST, SECOND, FURTHER = 64 << 10, 256 << 10, 1 << 20
# Where the head has what changes.
DROPPED, ENDED, TRUNCATED, ERRNO = 40, 48, 52, 56
ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})

_libc = ctypes.CDLL(None, use_errno=True)
_mmap, _munmap = _libc.mmap, _libc.munmap
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long
_munmap.argtypes = ctypes.c_void_p, ctypes.c_size_t
READ_AND_WRITE, SHARED = 3, 1


class Pieces:
    """A file that grows by mapped pieces. The first, with its head, stays mapped; of the others only the last is."""

    open, close, make_room, cut = os.open, os.close, os.posix_fallocate, os.ftruncate
    new, old = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, os.O_RDWR | os.O_CLOEXEC

    def __init__(self, path):
        self.path, self.offset, self.size = path, 0, 0
        self.first = self.address = None

    def more(self):
        """The next piece. What the system refuses is an OSError."""
        offset = self.offset + self.size
        size = FIRST if not offset else SECOND if offset == FIRST else FURTHER
        file = Pieces.open(self.path, Pieces.old if offset else Pieces.new, 0o600)
        try:
            Pieces.make_room(file, offset, size)
            address = _mmap(None, size, READ_AND_WRITE, SHARED, file, offset)
        finally:
            Pieces.close(file)
        if address in (None, ctypes.c_void_p(-1).value):
            raise OSError(ctypes.get_errno(), "no room")
        self._let_go()
        self.address, self.offset, self.size = address, offset, size
        if self.first is None:
            self.first = address

    def _let_go(self):
        if self.address != self.first:
            _munmap(self.address, self.size)

    def end(self, length):
        """Cuts the file to what it holds."""
        self.forget()
        try:
            file = Pieces.open(self.path, Pieces.old)
        except OSError:
            return  # Somebody has removed it.
        try:
            Pieces.cut(file, length)
        finally:
            Pieces.close(file)

    def forget(self):
        """Takes it out of this process; the file stays as it is."""
        self._let_go()
        if self.first is not None:
            _munmap(self.first, FIRST)
        self.first = self.address = None


class Text:
    """A text that is only added to, made when there is something to say. After a kill it has zeros behind its last line."""

    def __init__(self, path, lock, first=""):
        self._pieces, self._length, self._lock = Pieces(path), 0, lock
        self._full, self._view = False, None
        if first:
            self.line(first)

    def line(self, *fields):
        with self._lock:
            self._line(fields)

    def _line(self, fields):
        text = "\t".join([field if type(field) is str else str(field) for field in fields]) + "\n"
        if "\\" in text or text.count("\t") >= len(fields) or text.count("\n") > 1 or "\r" in text:
            text = "\t".join([str(field).translate(ESCAPES) for field in fields]) + "\n"
        self._put(text.encode("utf-8", "backslashreplace"))

    def _put(self, text):
        pieces = self._pieces
        while text and not self._full:
            room = pieces.offset + pieces.size - self._length
            if not room:
                try:
                    pieces.more()
                    self._view = memoryview((ctypes.c_char * pieces.size).from_address(pieces.address)).cast("B")
                except OSError:
                    self._full = True
                continue
            part, text = text[:room], text[room:]
            at = self._length - pieces.offset
            self._view[at : at + len(part)] = part
            self._length += len(part)

    def end(self):
        with self._lock:
            self._full, self._view = True, None
            if self._pieces.first is not None:
                self._pieces.end(self._length)

    def forget(self):
        self._full, self._view = True, None
        self._pieces.forget()


class Places(Text):
    """What the ids of a process mean, the same in all its attempts: each has a link to it."""

    link, symlink, unlink = os.link, os.symlink, os.unlink

    def __init__(self, side, pid, before=None):
        """`before`: of the process that this one is a copy of. What is known from there is known here."""
        self.path = "%s/places-%d" % (side, pid)
        try:
            Places.unlink(self.path)  # Of a process that had the same number.
        except OSError:
            pass
        Text.__init__(self, self.path, _thread.RLock(), "unflake-places 1" if before is None else "")
        self.ids = 0
        if before is not None:
            self.ids = before.ids
            self._put(before.read())

    def read(self):
        file = Pieces.open(self.path, Pieces.old)
        try:
            return os.read(file, self._length)
        finally:
            Pieces.close(file)

    def appear_in(self, directory):
        try:
            Places.link(self.path, directory + "/places")
        except OSError:
            Places.symlink(self.path, directory + "/places")

    def add(self, known, line):
        with self._lock:
            place = known.places.get(line)
            if place is None:
                self.ids += 1
                place = known.places[line] = self.ids
                self._line((place, known.file, line, known.function))
            return place


class Stream:
    """The ids of the places that one strand comes to."""

    clock, system = time.monotonic_ns, getattr(_thread, "get_native_id", lambda: 0)

    def __init__(self, part, number, name, is_first):
        self.part, self.number, self.name, self.is_first = part, number, name, is_first
        self.pieces = Pieces("%s/thread-%d" % (part.path, number))
        self.at = self.end = 0  # In words of the piece in use.
        self.before = 0  # Events in the pieces before.
        self.words = None
        self.dropped = self.forks = 0
        self.closed, self.ended = False, True

    def position(self):
        """How many events there are so far."""
        return self.before + self.at

    def add(self, place):
        if self.at == self.end and not self.more():
            self.drop()
            return
        self.words[self.at] = place
        self.at += 1

    def more(self):
        """Room for more events; False: there is none, and the head says why."""
        if self.closed:
            return False
        before, pieces, part = self.before + self.at, self.pieces, self.part
        allowed = part.thread_events - before
        if allowed <= 0:
            return self.truncate(THREAD_LIMIT)
        if part.budget[0] <= 0:
            return self.truncate(ATTEMPT_LIMIT)
        try:
            pieces.more()
        except OSError as error:
            return self.truncate(NO_ROOM, error.errno or 0)
        start = 0
        if not pieces.offset:
            start = HEAD
            ctypes.memmove(pieces.address, self._head(), HEAD)
        room = min((pieces.size - start) // 4, allowed, part.budget[0])
        part.budget[0] -= room
        self.before, self.at, self.end = before, 0, room
        self.base = pieces.address + start
        self.words = (ctypes.c_uint32 * room).from_address(self.base)
        return True

    def _head(self):
        name = self.name.encode("utf-8", "backslashreplace")[:63].decode("utf-8", "ignore").encode("utf-8")
        numbers = self.number, 0, 0 if self.is_first else UNKNOWN, Stream.system()
        head = struct.pack("<8sII4IQQ4I", b"unfltrc\n", 1, HEAD, *(numbers + (Stream.clock(), 0, 0, 0, 0, 0)))
        return head + bytes(4 * STEPS) + name.ljust(128, b"\0")

    def truncate(self, why, errno=0):
        self.closed = True
        if self.pieces.first is None:
            # Not even a head: the part says so.
            self.part.lose("attempt-limit" if why == ATTEMPT_LIMIT else "no-room", errno)
        else:
            self._put(TRUNCATED, why)
            self._put(ERRNO, errno)
        return False

    def drop(self):
        self.dropped += 1
        if self.pieces.first is not None:
            ctypes.c_uint64.from_address(self.pieces.first + DROPPED).value = self.dropped

    def _put(self, offset, value):
        ctypes.c_uint32.from_address(self.pieces.first + offset).value = value

    def finish(self):
        """Cuts the file to what it holds. That of a thread that goes on is left as it is: it may be at work in it."""
        if self.pieces.first is None or not self.ended:
            return
        self._put(ENDED, 1)
        used = (0 if self.pieces.offset else HEAD) + 4 * self.at
        self.part.budget[0] += self.end - self.at
        self.words, self.closed, self.end = None, True, self.at
        self.pieces.end(self.pieces.offset + used)

    def forget(self):
        self.words, self.closed = None, True
        self.pieces.forget()


class Part:
    """The directory of one process in the trace of an attempt."""

    make, getpid, getppid = os.mkdir, os.getpid, os.getppid
    exists = os.path.exists

    def __init__(self, attempt, places, thread_events, budget, tracer, forked=None, new=Stream):
        """`tracer`: who sees the lines; `forked`: whose copy this process is; `new`: makes streams."""
        pid, time = Part.getpid(), 1
        while Part.exists("%s/%d-%d" % (attempt, pid, time)):
            time += 1
        self.name = "%d-%d" % (pid, time)
        self.attempt, self.path = attempt, "%s/%s" % (attempt, self.name)
        self.thread_events, self.budget = thread_events, budget
        self._new = new
        self.streams, self.values = [], {}
        # Of several threads; and a signal may come in between.
        self.lock = _thread.RLock()
        Part.make(self.path)
        facts = ["unflake-trace 1", "pid %d" % pid, "parent %d" % Part.getppid(), "started %d" % Stream.clock()]
        facts.append("executable " + str(sys.executable or "python").translate(ESCAPES))
        facts.append("tracer " + tracer)
        if forked:
            facts.append("forked " + forked)
        self._write("process", "\n".join(facts) + "\n")
        places.appear_in(self.path)
        self.reaches = Text(self.path + "/reaches", self.lock)

    def _write(self, name, text, flags=os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, write=os.write):
        file = Pieces.open("%s/%s" % (self.path, name), flags, 0o600)
        try:
            write(file, text.encode("utf-8", "surrogateescape"))
        finally:
            Pieces.close(file)

    def lose(self, why, errno):
        try:
            self._write("process", "lost %s %d\n" % (why, errno))
        except OSError:
            pass

    def stream(self, name, is_first=False):
        with self.lock:
            stream = self._new(self, len(self.streams) + 1, name, is_first)
            self.streams.append(stream)
            return stream

    def value(self, stream, *fields):
        text = self.values.get(stream.number)
        if text is None:  # A strand is in one thread at a time.
            text = self.values[stream.number] = Text("%s/values-%d" % (self.path, stream.number), self.lock)
        text.line(*fields)

    def finish(self):
        for one in self.streams:
            one.finish()
        for one in self._texts():
            one.end()

    def forget(self):
        for one in self.streams + self._texts():
            one.forget()

    def _texts(self):
        return [self.reaches] + list(self.values.values())
