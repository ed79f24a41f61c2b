"""Writes the files of a trace, in the format of `crates/unflake-observe`, through memory mappings.

What was written is in the file whatever happens to the process, and no descriptor stays open that a
test could close.
"""

import _thread
import ctypes
import os
import struct
import sys
import time

HEADER_SIZE, PARENT_STEPS, UNKNOWN = 256, 16, 0xFFFFFFFF
# Why a stream stops before its thread or task ends.
THREAD_LIMIT, ATTEMPT_LIMIT, NO_SPACE, TRACER_REPLACED = 1, 2, 3, 4
THREAD_EVENTS, ATTEMPT_EVENTS = 16 << 20, 64 << 20
# Sizes of the pieces in which a file grows.
FIRST_PIECE, SECOND_PIECE, NEXT_PIECE = 64 << 10, 256 << 10, 1 << 20
# Offsets of header fields that change.
DROPPED, ENDED, TRUNCATED, ERRNO = 40, 48, 52, 56
ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})

_libc = ctypes.CDLL(None, use_errno=True)
_mmap, _munmap = _libc.mmap, _libc.munmap
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long
_munmap.argtypes = ctypes.c_void_p, ctypes.c_size_t
READ_WRITE, SHARED = 3, 1


class MappedFile:
    """A file that grows by mapped pieces. The first, with the header, and the last stay mapped."""

    open, close, allocate, cut = os.open, os.close, os.posix_fallocate, os.ftruncate
    create_flags, open_flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, os.O_RDWR | os.O_CLOEXEC

    def __init__(self, path):
        self.path, self.offset, self.size = path, 0, 0
        self.first = self.address = None  # Addresses of the first and the last piece.

    def grow(self):
        """Maps the next piece. Raises OSError if the system refuses."""
        offset = self.offset + self.size
        size = FIRST_PIECE if not offset else SECOND_PIECE if offset == FIRST_PIECE else NEXT_PIECE
        file = MappedFile.open(self.path, MappedFile.open_flags if offset else MappedFile.create_flags, 0o600)
        try:
            MappedFile.allocate(file, offset, size)
            address = _mmap(None, size, READ_WRITE, SHARED, file, offset)
        finally:
            MappedFile.close(file)
        if address in (None, ctypes.c_void_p(-1).value):
            raise OSError(ctypes.get_errno(), "no room")
        self._unmap_last()
        self.address, self.offset, self.size = address, offset, size
        if self.first is None:
            self.first = address

    def _unmap_last(self):
        if self.address != self.first:
            _munmap(self.address, self.size)

    def finish(self, length):
        """Unmaps the file and cuts it to its contents."""
        self.forget()
        try:
            file = MappedFile.open(self.path, MappedFile.open_flags)
        except OSError:
            return  # It was removed.
        try:
            MappedFile.cut(file, length)
        finally:
            MappedFile.close(file)

    def forget(self):
        """Unmaps the file from this process and leaves it as it is."""
        self._unmap_last()
        if self.first is not None:
            _munmap(self.first, FIRST_PIECE)
        self.first = self.address = None


class MappedTable:
    """Lines of tab-separated fields. The file is created with the first line.

    After a kill it has zeros behind its last line.
    """

    def __init__(self, path, lock, first=""):
        self._file, self._length, self._lock = MappedFile(path), 0, lock
        self._is_full, self._view = False, None
        if first:
            self.append(first)

    def append(self, *fields):
        with self._lock:
            self._append(fields)

    def _append(self, fields):
        text = "\t".join([field if type(field) is str else str(field) for field in fields]) + "\n"
        if "\\" in text or text.count("\t") >= len(fields) or text.count("\n") > 1 or "\r" in text:
            text = "\t".join([str(field).translate(ESCAPES) for field in fields]) + "\n"
        self._write(text.encode("utf-8", "backslashreplace"))

    def _write(self, text):
        file = self._file
        while text and not self._is_full:
            room = file.offset + file.size - self._length
            if not room:
                try:
                    file.grow()
                    self._view = memoryview((ctypes.c_char * file.size).from_address(file.address)).cast("B")
                except OSError:
                    self._is_full = True
                continue
            part, text = text[:room], text[room:]
            at = self._length - file.offset
            self._view[at : at + len(part)] = part
            self._length += len(part)

    def finish(self):
        with self._lock:
            self._is_full, self._view = True, None
            if self._file.first is not None:
                self._file.finish(self._length)

    def forget(self):
        self._is_full, self._view = True, None
        self._file.forget()


class PlaceTable(MappedTable):
    """File, line and function of each place id. All attempts of a process link to one table."""

    link, symlink, unlink = os.link, os.symlink, os.unlink

    def __init__(self, side, pid, parent=None):
        """`parent`: the table of the process that this one was forked from; its ids stay valid."""
        self.path = "%s/places-%d" % (side, pid)
        try:
            PlaceTable.unlink(self.path)  # Of an earlier process with the same pid.
        except OSError:
            pass
        MappedTable.__init__(self, self.path, _thread.RLock(), "unflake-places 1" if parent is None else "")
        self.ids = 0
        if parent is not None:
            self.ids = parent.ids
            self._write(parent.read())

    def read(self):
        file = MappedFile.open(self.path, MappedFile.open_flags)
        try:
            return os.read(file, self._length)
        finally:
            MappedFile.close(file)

    def link_into(self, directory):
        try:
            PlaceTable.link(self.path, directory + "/places")
        except OSError:
            PlaceTable.symlink(self.path, directory + "/places")

    def add(self, code, line):
        """The id of a line of some traced code."""
        with self._lock:
            place = code.places.get(line)
            if place is None:
                self.ids += 1
                place = code.places[line] = self.ids
                self._append((place, code.file, line, code.function))
            return place


class EventStream:
    """The places that one thread or asyncio task reaches, in order."""

    clock, native_id = time.monotonic_ns, getattr(_thread, "get_native_id", lambda: 0)

    def __init__(self, process, number, name, is_main):
        self.process, self.number, self.name, self.is_main = process, number, name, is_main
        self.file = MappedFile("%s/thread-%d" % (process.path, number))
        self.used = self.capacity = 0  # In events of the current piece.
        self.earlier = 0  # Events in earlier pieces.
        self.events = None
        self.dropped = self.forks = 0
        self.is_closed, self.has_ended = False, True

    def count(self):
        """The number of events so far."""
        return self.earlier + self.used

    def add(self, place):
        if self.used == self.capacity and not self.grow():
            self.drop()
            return
        self.events[self.used] = place
        self.used += 1

    def grow(self):
        """Makes room for more events. False: there is none, and the header says why."""
        if self.is_closed:
            return False
        earlier, file, process = self.earlier + self.used, self.file, self.process
        allowed = process.thread_events - earlier
        if allowed <= 0:
            return self.truncate(THREAD_LIMIT)
        if process.budget[0] <= 0:
            return self.truncate(ATTEMPT_LIMIT)
        try:
            file.grow()
        except OSError as error:
            return self.truncate(NO_SPACE, error.errno or 0)
        start = 0
        if not file.offset:
            start = HEADER_SIZE
            ctypes.memmove(file.address, self._header(), HEADER_SIZE)
        room = min((file.size - start) // 4, allowed, process.budget[0])
        process.budget[0] -= room
        self.earlier, self.used, self.capacity = earlier, 0, room
        self.base = file.address + start
        self.events = (ctypes.c_uint32 * room).from_address(self.base)
        return True

    def _header(self):
        name = self.name.encode("utf-8", "backslashreplace")[:63].decode("utf-8", "ignore").encode("utf-8")
        numbers = self.number, 0, 0 if self.is_main else UNKNOWN, EventStream.native_id()
        fields = numbers + (EventStream.clock(), 0, 0, 0, 0, 0)
        header = struct.pack("<8sII4IQQ4I", b"unfltrc\n", 1, HEADER_SIZE, *fields)
        return header + bytes(4 * PARENT_STEPS) + name.ljust(128, b"\0")

    def truncate(self, why, errno=0):
        self.is_closed = True
        if self.file.first is None:
            # There is no header yet, so the process file says it.
            self.process.note_loss("attempt-limit" if why == ATTEMPT_LIMIT else "no-room", errno)
        else:
            self._write_header(TRUNCATED, why)
            self._write_header(ERRNO, errno)
        return False

    def drop(self):
        self.dropped += 1
        if self.file.first is not None:
            ctypes.c_uint64.from_address(self.file.first + DROPPED).value = self.dropped

    def _write_header(self, offset, value):
        ctypes.c_uint32.from_address(self.file.first + offset).value = value

    def finish(self):
        """Cuts the file to its contents, unless the thread still runs and may write to it."""
        if self.file.first is None or not self.has_ended:
            return
        self._write_header(ENDED, 1)
        length = (0 if self.file.offset else HEADER_SIZE) + 4 * self.used
        self.process.budget[0] += self.capacity - self.used
        self.events, self.is_closed, self.capacity = None, True, self.used
        self.file.finish(self.file.offset + length)

    def forget(self):
        self.events, self.is_closed = None, True
        self.file.forget()


class ProcessTrace:
    """The directory of one process in the trace of an attempt."""

    mkdir, getpid, getppid = os.mkdir, os.getpid, os.getppid
    exists = os.path.exists

    def __init__(self, attempt, places, thread_events, budget, tracer, forked=None, new_stream=EventStream):
        """`tracer`: what sees the lines. `forked`: where in which process this one was forked.

        `budget`: a list with the number of events that the attempt may still record, shared with
        forked processes.
        """
        pid, number = ProcessTrace.getpid(), 1
        while ProcessTrace.exists("%s/%d-%d" % (attempt, pid, number)):
            number += 1
        self.name = "%d-%d" % (pid, number)
        self.path = "%s/%s" % (attempt, self.name)
        self.thread_events, self.budget = thread_events, budget
        self._new_stream = new_stream
        self.streams, self.values = [], {}
        # Reentrant: a signal handler may record lines while its thread holds the lock.
        self.lock = _thread.RLock()
        ProcessTrace.mkdir(self.path)
        started = "started %d" % EventStream.clock()
        facts = ["unflake-trace 1", "pid %d" % pid, "parent %d" % ProcessTrace.getppid(), started]
        facts.append("executable " + str(sys.executable or "python").translate(ESCAPES))
        facts.append("tracer " + tracer)
        if forked:
            facts.append("forked " + forked)
        self._append_to("process", "\n".join(facts) + "\n")
        places.link_into(self.path)
        self.reaches = MappedTable(self.path + "/reaches", self.lock)

    def _append_to(self, name, text, flags=os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, write=os.write):
        file = MappedFile.open("%s/%s" % (self.path, name), flags, 0o600)
        try:
            write(file, text.encode("utf-8", "surrogateescape"))
        finally:
            MappedFile.close(file)

    def note_loss(self, why, errno):
        try:
            self._append_to("process", "lost %s %d\n" % (why, errno))
        except OSError:
            pass

    def stream(self, name, is_main=False):
        with self.lock:
            stream = self._new_stream(self, len(self.streams) + 1, name, is_main)
            self.streams.append(stream)
            return stream

    def value(self, stream, *fields):
        table = self.values.get(stream.number)
        if table is None:  # Only one thread at a time writes to a stream.
            table = self.values[stream.number] = MappedTable("%s/values-%d" % (self.path, stream.number), self.lock)
        table.append(*fields)

    def finish(self):
        for one in self.streams + self._tables():
            one.finish()

    def forget(self):
        for one in self.streams + self._tables():
            one.forget()

    def _tables(self):
        return [self.reaches] + list(self.values.values())
