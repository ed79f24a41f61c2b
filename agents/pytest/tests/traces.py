"""Reads traces as `crates/unflake-observe` does, as far as tests need it."""

import array
import collections
import os
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(os.path.dirname(HERE), "tracer", "tracer.rs")
# With everything else that is built and that git does not see.
BUILT = os.path.join(HERE, *[os.pardir] * 3, "target", "agent-tests")
Head = collections.namedtuple("Head", "depth dropped ended truncated name")


def library():
    """The native tracer, built once for all test processes; None where there is no compiler."""
    rustc = shutil.which("rustc")
    if rustc is None or sys.version_info < (3, 9):
        return None
    newest = max(os.path.getmtime(os.path.join(os.path.dirname(SOURCE), name)) for name in os.listdir(os.path.dirname(SOURCE)))
    built = os.path.join(BUILT, "tracer-%d.so" % int(newest * 1000))
    if not os.path.exists(built):
        os.makedirs(BUILT, exist_ok=True)
        # In a directory of its own: several test processes may do so at once, and compilers leave parts beside their output.
        with tempfile.TemporaryDirectory(dir=BUILT) as place:
            unfinished = os.path.join(place, "tracer.so")
            options = "--edition 2024 --crate-type cdylib --crate-name unflake_tracer -C opt-level=3 -C panic=abort -o"
            subprocess.run([rustc] + options.split() + [unfinished, SOURCE], check=True)
            os.rename(unfinished, built)
    return built


NATIVE = library()
WAYS = ["python"] + (["native"] if NATIVE else [])


class Trace:
    """One process of an attempt. Strands by name, those of the same name numbered as the reader does."""

    def __init__(self, directory, root=None):
        self.directory = directory
        with open(os.path.join(directory, "process")) as file:
            lines = file.read().splitlines()
        assert lines[0] == "unflake-trace 1"
        self.facts = dict(line.split(" ", 1) for line in lines[1:])
        self.tracer = self.facts["tracer"]
        self.places = {}
        for fields in self._table("places")[1:]:
            self.places[int(fields[0])] = fields[1], int(fields[2]), fields[3]
        self.strands, self.heads, self._ids, self._numbers = {}, {}, {}, {}
        found = []
        for name in os.listdir(directory):
            if name.startswith("thread-"):
                with open(os.path.join(directory, name), "rb") as file:
                    raw = file.read()
                assert raw[:8] == b"unfltrc\n"
                started, dropped, ended, truncated = struct.unpack_from("<QQII", raw, 32)
                head = Head(struct.unpack_from("<I", raw, 24)[0], dropped, ended, truncated, raw[128:192].rstrip(b"\0").decode())
                found.append((started, int(name[7:]), head, raw[256:]))
        for _, number, head, stream in sorted(found):
            name, time = head.name, 0
            while name in self.strands:
                time += 1
                name = "%s %d" % (head.name, time)
            self.heads[name], self._numbers[name] = head, number
            self._ids[name] = [one for one in array.array("I", stream) if one]
            self.strands[name] = [self.places[one][1] for one in self._ids[name]]

    def _table(self, name):
        path = os.path.join(self.directory, name)
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            return [line.split("\t") for line in file.read().rstrip("\0").splitlines()]

    def lines(self, strand):
        return self.strands[strand]

    def files(self, strand):
        names = [self.places[one][0] for one in self._ids[strand]]
        root = os.path.dirname(os.path.dirname(os.path.dirname(self.directory)))
        return [os.path.relpath(name, root) for name in names]

    def functions(self, strand):
        return [self.places[one][2] for one in self._ids[strand]]

    def names(self, start, number):
        names = [name for name in self.strands if name.startswith(start)]
        assert len(names) == number, names
        return names

    def values(self, strand):
        """(line, name, text) in their order."""
        found, last = [], 0
        for at, place, name, text in self._table("values-%d" % self._numbers[strand]):
            assert last <= int(at) <= len(self._ids[strand])
            last = int(at)
            found.append((self.places[int(place)][1], name, text))
        return found

    def reaches(self):
        return {(self.places[int(place)][1], cause, what) for place, cause, what in self._table("reaches")}


class Traced:
    """A pytest whose attempts are traced."""

    def __init__(self, unflake, forked):
        self.unflake = unflake
        self.connection = self.first = unflake.ready()
        if forked:
            self.connection = unflake.fork(self.first, 5)

    def parts(self, test, outcome="passed"):
        (done,) = self.connection.run(test)
        assert done["outcome"] == outcome, done
        names = os.listdir(done["trace"])
        all = [Trace(os.path.join(done["trace"], name)) for name in names]
        return sorted(all, key=lambda part: int(part.facts["started"]))

    def trace(self, test, outcome="passed"):
        (part,) = self.parts(test, outcome)
        return part

    def die(self, test):
        self.connection.order("run", tests=[test], again=0)
        self.connection.rest()

    def only_directory(self):
        (attempt,) = [name for name in os.listdir(self.unflake.side) if name.startswith("trace-")]
        (part,) = os.listdir(os.path.join(self.unflake.side, attempt))
        return os.path.join(self.unflake.side, attempt, part)
