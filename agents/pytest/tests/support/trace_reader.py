"""Reads traces like `crates/unflake-observe`, as far as the tests need it."""

import array
import collections
import os
import shutil
import struct
import subprocess
import sys
import tempfile

AGENT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SOURCE = os.path.join(AGENT, "tracer", "tracer.rs")
# In a directory that git ignores.
BUILD_DIRECTORY = os.path.join(AGENT, *[os.pardir] * 2, "target", "agent-tests")
StreamHeader = collections.namedtuple("Head", "depth dropped ended truncated name")


def native_tracer():
    """The native tracer, built once for all test processes; None without a compiler."""
    rustc = shutil.which("rustc")
    if rustc is None or sys.version_info < (3, 9):
        return None
    newest = max(os.path.getmtime(os.path.join(os.path.dirname(SOURCE), name)) for name in os.listdir(os.path.dirname(SOURCE)))
    library_path = os.path.join(BUILD_DIRECTORY, "tracer-%d.so" % int(newest * 1000))
    if not os.path.exists(library_path):
        os.makedirs(BUILD_DIRECTORY, exist_ok=True)
        # Several test processes may build at once, and compilers leave files beside the output.
        with tempfile.TemporaryDirectory(dir=BUILD_DIRECTORY) as directory_name:
            unfinished = os.path.join(directory_name, "tracer.so")
            options = "--edition 2024 --crate-type cdylib --crate-name unflake_tracer -C opt-level=3 -C panic=abort -o"
            subprocess.run([rustc] + options.split() + [unfinished, SOURCE], check=True)
            os.rename(unfinished, library_path)
    return library_path


NATIVE_TRACER = native_tracer()
TRACERS = ["python"] + (["native"] if NATIVE_TRACER else [])


class Trace:
    """The trace of one process. Threads and tasks by name; equal names get numbers."""

    def __init__(self, directory):
        self.directory = directory
        with open(os.path.join(directory, "process")) as file:
            lines = file.read().splitlines()
        assert lines[0] == "unflake-trace 1"
        self.facts = dict(line.split(" ", 1) for line in lines[1:])
        self.tracer = self.facts["tracer"]
        self.places = {}
        for fields in self._table("places")[1:]:
            self.places[int(fields[0])] = fields[1], int(fields[2]), fields[3]
        self.threads, self.headers, self._ids, self._numbers = {}, {}, {}, {}
        found = []
        for name in os.listdir(directory):
            if name.startswith("thread-"):
                with open(os.path.join(directory, name), "rb") as file:
                    raw = file.read()
                assert raw[:8] == b"unfltrc\n"
                started, dropped, ended, truncated = struct.unpack_from("<QQII", raw, 32)
                header = StreamHeader(struct.unpack_from("<I", raw, 24)[0], dropped, ended, truncated, raw[128:192].rstrip(b"\0").decode())
                found.append((started, int(name[7:]), header, raw[256:]))
        for _, number, header, stream in sorted(found):
            name, time = header.name, 0
            while name in self.threads:
                time += 1
                name = "%s %d" % (header.name, time)
            self.headers[name], self._numbers[name] = header, number
            self._ids[name] = [one for one in array.array("I", stream) if one]
            self.threads[name] = [self.places[one][1] for one in self._ids[name]]

    def _table(self, name):
        path = os.path.join(self.directory, name)
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            return [line.split("\t") for line in file.read().rstrip("\0").splitlines()]

    def lines(self, thread):
        return self.threads[thread]

    def files(self, thread):
        root = os.path.dirname(os.path.dirname(os.path.dirname(self.directory)))
        return [os.path.relpath(self.places[one][0], root) for one in self._ids[thread]]

    def functions(self, thread):
        return [self.places[one][2] for one in self._ids[thread]]

    def names_starting_with(self, start, number):
        found = [name for name in self.threads if name.startswith(start)]
        assert len(found) == number, found
        return found

    def values(self, thread):
        """(line, name, text) in order."""
        found, last = [], 0
        for at, directory_name, name, text in self._table("values-%d" % self._numbers[thread]):
            assert last <= int(at) <= len(self._ids[thread])
            last = int(at)
            found.append((self.places[int(directory_name)][1], name, text))
        return found

    def reaches(self):
        return {(self.places[int(directory_name)][1], cause, what) for directory_name, cause, what in self._table("reaches")}


class TracedPytest:
    """A pytest process whose attempts are traced."""

    def __init__(self, unflake, forked):
        self.unflake = unflake
        self.connection = self.parent = unflake.ready()
        if forked:
            self.connection = unflake.fork(self.parent, 5)

    def processes(self, test, outcome="passed"):
        (done,) = self.connection.run(test)
        assert done["outcome"] == outcome, done
        found = [Trace(os.path.join(done["trace"], name)) for name in os.listdir(done["trace"])]
        return sorted(found, key=lambda process: int(process.facts["started"]))

    def trace(self, test, outcome="passed"):
        (process,) = self.processes(test, outcome)
        return process

    def die(self, test):
        self.connection.order("run", tests=[test], again=0)
        self.connection.remaining()

    def only_directory(self):
        (attempt,) = [name for name in os.listdir(self.unflake.side) if name.startswith("trace-")]
        (process,) = os.listdir(os.path.join(self.unflake.side, attempt))
        return os.path.join(self.unflake.side, attempt, process)
