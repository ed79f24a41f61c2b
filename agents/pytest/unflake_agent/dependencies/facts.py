"""What one thing (an attempt, the import of a module, a collection) depended on, and where facts go. PYTEST_DONT_REWRITE"""

import _thread
import json
import os
import sys

# Kinds of facts. `files` are those whose code ran or that were imported, `searched` the full names of modules that were
# looked for; all others are as in agents/README.md.
KINDS = (
    "files", "read", "written", "listed", "looked", "missed", "variables", "programs", "extensions", "unknown", "searched",
)  # fmt: skip
MODULE = "<module>"


class Facts(dict):
    """Sets by kind."""

    def __init__(self):
        dict.__init__(self, {kind: set() for kind in KINDS})
        self["functions"] = set()  # (file, first line, name, qualified name or None)

    def include(self, other):
        for kind, values in other.items():
            self[kind] |= values

    def copy(self):
        new = Facts()
        new.include(self)
        return new


class Recorder:
    """Hands every fact to whom it belongs: the attempt or else the collection that is going on, and the module that is
    being imported, because whoever uses that module later depends on what its import did."""

    def __init__(self, own=lambda file: False):
        """`own`: whether a file belongs to the runner."""
        self.common = Facts()
        self.current = self.common
        self.modules = {}
        self.changed = set()  # Modules whose facts may have changed since somebody looked.
        self.in_attempt = False
        self.journal = None
        self._floor, self._foreign_below = None, False
        self.deaf = None  # A thread in which nobody but the agent is at work.
        self._owns = Owns(own)
        self._frame, self._thread = sys._getframe, _thread.get_ident
        # Threads in which the body of a module may be running, and by its id the code that ran such bodies.
        self._loading, self._starters = set(), {}

    def note(self, kind, value):
        add = self.sink()
        if add is not None:
            add(kind, value)

    def sink(self):
        """A function that takes facts of what is being done now, or None where nobody wants them."""
        if self.journal is not None:
            return self._journalled
        if self._thread() not in self._loading:
            if self.in_attempt:
                return self._add
            if self._thread() == self.deaf:
                return None
        module, foreign = self._where(self._frame(1))
        wanted = self.in_attempt or (foreign and module is None)
        if module is None:
            return self._add if wanted else None
        of_module, current = self.of_module(module), self.current if wanted else None

        def add(kind, value):
            of_module[kind].add(value)
            if current is not None:
                current[kind].add(value)

        return add

    def _add(self, kind, value):
        self.current[kind].add(value)

    def _journalled(self, kind, value):
        if value not in self.current[kind]:
            self.current[kind].add(value)
            self.journal.write(kind, value)

    def search(self, module):
        """Of modules that are looked for all are told for everything: a name more does no harm, and who looked for it
        first is chance."""
        if module not in self.common["searched"]:
            self.common["searched"].add(module)
            if self.journal is not None:
                self.journal.write("searched", module)

    def stand_on(self, frame):
        """As long as this frame runs, what called it need not be looked at again. None: it has ended."""
        self._floor, below = None, self._floor
        self._foreign_below = frame is not None and self._where(frame)[1]
        self._floor = frame
        return below

    def body(self, starter):
        """The body of a module, or something like it, is about to run, and this frame runs it."""
        if starter is not None:
            self._starters[id(starter.f_code)] = starter.f_code
        self._loading.add(self._thread())

    def is_loading(self):
        return self._thread() in self._loading

    def of_module(self, file):
        self.changed.add(file)
        facts = self.modules.get(file)
        if facts is None:
            facts = self.modules[file] = Facts()
        return facts

    def importing(self, frame):
        """The file of the innermost module that is being imported below this frame."""
        return self._where(frame, True)[0]

    def _where(self, frame, foreign=False):
        """The module that is being imported, and whether anybody but the runner has a part in it."""
        owns, starters, floor, started, loading = self._owns, self._starters, self._floor, False, self.is_loading()
        while frame is not None and (loading or not foreign):
            if frame is floor and not loading:
                return None, foreign or self._foreign_below
            code = frame.f_code
            if code.co_name == MODULE and loading and frame.f_globals.get("__name__") != "__main__":
                return code.co_filename, foreign
            if not foreign and not owns[code.co_filename]:
                foreign = frame.f_globals.get("__name__") != "__main__"
            started = started or id(code) in starters
            frame = frame.f_back
        if loading and not started and "greenlet" not in sys.modules:  # There the body may be on a stack that waits.
            self._loading.discard(self._thread())
        return None, foreign


class Owns(dict):
    """Whether a file belongs to the runner: what only the runner does at collection is not told."""

    def __init__(self, own):
        self._own = own

    def __missing__(self, file):
        self[file] = own = self._own(file)
        return own


class Journal:
    """Facts of another process, a line each, written at once: it may end in any way."""

    def __init__(self, directory, name):
        self._path = "%s/%s" % (directory, name)
        self._open, self._write, self._close, self._make = os.open, os.write, os.close, os.makedirs
        self._flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._encode = json.JSONEncoder(default=list).encode
        self._lock = _thread.allocate_lock()
        try:
            self._make(directory, exist_ok=True)
        except OSError:
            pass

    def write(self, kind, value):
        line = (self._encode([kind, value]) + "\n").encode("utf-8", "surrogatepass")
        # Opened each time: the code that is watched closes descriptors that it does not know.
        descriptor = self._open(self._path, self._flags, 0o600)
        try:
            self._write(descriptor, line)
        finally:
            self._close(descriptor)


def read_journal(path):
    """Its facts. A last line that was cut off is told as unknown."""
    with open(path, "rb") as file:
        for line in file:
            try:
                kind, value = json.loads(line.decode("utf-8", "surrogatepass"))
            except ValueError:
                yield "unknown", "a process ended in the middle of what it told"
                continue
            yield kind, tuple(value) if isinstance(value, list) else value
