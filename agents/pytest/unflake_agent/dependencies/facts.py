"""Collects facts: what an attempt, a collection or the import of a module depended on."""

import _thread
import json
import os
import sys

from ..common.boundary import check

# Kinds of facts. `files`: whose code ran or that were imported. `searched`: full names of modules.
# All others are fields of the report (agents/README.md, 28).
KINDS = (
    "files", "read", "written", "listed", "looked", "missed", "variables", "programs", "extensions", "unknown", "searched",
    "configured",
)  # fmt: skip
MODULE_CODE = "<module>"


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


class FactRecorder:
    """Adds each fact to the current attempt or collection, and to the module being imported.

    Every later user of that module depends on what its import did.
    """

    def __init__(self, is_runner_file=lambda file: False):
        self.common = Facts()
        self.current = self.common
        self.modules = {}
        self.changed_modules = set()  # With new facts since the graph was updated.
        self.in_attempt = False
        self.journal = None
        self._base, self._is_base_foreign = None, False
        self.agent_thread = None  # The thread in which only the agent runs, between attempts.
        self.runner_files = RunnerFiles(is_runner_file)
        self._frame, self._thread = sys._getframe, _thread.get_ident
        # Threads that may be running the body of a module; by its id, code that runs such bodies.
        self._loading_threads, self._importers = set(), {}

    def note(self, kind, value):
        try:
            add = self.sink()
            if add is not None:
                add(kind, value)
        except Exception as error:
            check(error)
            raise

    def sink(self):
        """A function that adds facts about what happens now; None if they are not needed."""
        if self.journal is not None:
            return self._add_to_journal
        if self._thread() not in self._loading_threads:
            if self.in_attempt:
                return self._add
            if self._thread() == self.agent_thread:
                return None
        module, is_foreign = self._context(self._frame(1))
        wanted = self.in_attempt or (is_foreign and module is None)
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

    def _add_to_journal(self, kind, value):
        if value not in self.current[kind]:
            self.current[kind].add(value)
            self.journal.write(kind, value)

    def note_search(self, module):
        """A module was searched for. Every report contains all of these names.

        A name more does no harm, and which test searched first is arbitrary.
        """
        if module not in self.common["searched"]:
            self.common["searched"].add(module)
            if self.journal is not None:
                self.journal.write("searched", module)

    def set_base(self, frame):
        """While this frame runs, its callers need not be inspected again. None: it has returned."""
        self._base, previous = None, self._base
        self._is_base_foreign = frame is not None and self._context(frame)[1]
        self._base = frame
        return previous

    def begin_body(self, importer):
        """The body of a module or similar code is about to run, started by this frame."""
        if importer is not None:
            self._importers[id(importer.f_code)] = importer.f_code
        self._loading_threads.add(self._thread())

    def is_loading(self):
        return self._thread() in self._loading_threads

    def is_agent(self):
        """Whether this is the thread in which only the agent runs now."""
        return self._thread() == self.agent_thread

    def of_module(self, file):
        self.changed_modules.add(file)
        facts = self.modules.get(file)
        if facts is None:
            facts = self.modules[file] = Facts()
        return facts

    def imported_module(self, frame):
        """The file of the innermost module that is being imported below this frame."""
        return self._context(frame, True)[0]

    def _context(self, frame, is_foreign=False):
        """The module being imported, and whether code other than the runner's is involved."""
        is_runner, importers, base = self.runner_files, self._importers, self._base
        has_importer, is_loading = False, self.is_loading()
        while frame is not None and (is_loading or not is_foreign):
            if frame is base and not is_loading:
                return None, is_foreign or self._is_base_foreign
            code = frame.f_code
            if code.co_name == MODULE_CODE and is_loading and frame.f_globals.get("__name__") != "__main__":
                return code.co_filename, is_foreign
            if not is_foreign and not is_runner[code.co_filename]:
                is_foreign = frame.f_globals.get("__name__") != "__main__"
            has_importer = has_importer or id(code) in importers
            frame = frame.f_back
        # With greenlets the body may be on another stack.
        if is_loading and not has_importer and "greenlet" not in sys.modules:
            self._loading_threads.discard(self._thread())
        return None, is_foreign


class RunnerFiles(dict):
    """Whether a file belongs to the runner, whose own work while collecting is no fact."""

    def __init__(self, is_runner_file):
        self._is_runner_file = is_runner_file

    def __missing__(self, file):
        self[file] = result = self._is_runner_file(file)
        return result


class FactJournal:
    """Facts of another process, one per line, written at once: the process may end at any time."""

    def __init__(self, directory, name):
        self._path = "%s/%s" % (directory, name)
        self._open, self._write, self._close, self._makedirs = os.open, os.write, os.close, os.makedirs
        self._flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._encode = json.JSONEncoder(default=list).encode
        try:
            self._makedirs(directory, exist_ok=True)
        except OSError:
            pass

    def write(self, kind, value):
        line = (self._encode([kind, value]) + "\n").encode("utf-8", "surrogatepass")
        # Opened each time: the watched code may close descriptors that it does not know.
        descriptor = self._open(self._path, self._flags, 0o600)
        try:
            self._write(descriptor, line)
        finally:
            self._close(descriptor)


def read_journal(path):
    """The facts of a journal. A truncated last line becomes an unknown."""
    with open(path, "rb") as file:
        for line in file:
            try:
                kind, value = json.loads(line.decode("utf-8", "surrogatepass"))
            except ValueError:
                yield "unknown", "a process exited while writing its record"
                continue
            yield kind, tuple(value) if isinstance(value, list) else value
