"""Records the files, and if wanted the functions, whose code runs.

By function, all code is watched. By file, only foreign code is, if there is any: files that are
loaded in the process and not in the report of the test anyway.
"""

import os
import sys
import threading
from types import CodeType

from .code_watch import new_watch

IMPORT_FUNCTIONS = "_call_with_frames_removed", "exec_module"
# Readers of compiled code that execute it as a whole.
IMPORT_SYSTEM = "<frozen importlib", "<frozen zipimport"
PYTEST_REWRITER = "/_pytest/assertion/rewrite.py"
EARLIER_THREAD = "a thread of an earlier test was still running"
LOST = "another tool replaced the tracer of executed code"


class ExecutedCode:
    """Notes the file, and if wanted the name, of each function once after every `begin`."""

    def __init__(self, recorder, mode):
        self._recorder, self._by_function = recorder, mode == "function"
        self._frame, self._thread_count = sys._getframe, threading.active_count
        self._start_directory = os.path.join(os.getcwd(), "")
        self._watch = new_watch(recorder, self._note)
        # Also outside of attempts. By file, the graph of imports is enough there.
        self.is_always_on = self._by_function
        self._watches_all = self._by_function
        self._is_watching = self._is_inspecting = False
        self._is_relevant = None  # Until the root of the project is known.
        self._reported_files = {}  # Whether the functions of a file can be in a report.
        self._pending, self._files = [], set()  # Code loaded until then; files with loaded code.
        self._partial = set()  # Files with code that was not made by running the file.
        self._foreign = None, 0, False

    def handlers(self):
        found = {"compile": self._compiled, "code.__new__": self._code_made}
        found["marshal.load"] = found["marshal.loads"] = self._unmarshalled
        if self._by_function:
            found["object.__getattr__"] = self._attribute_read
        if not hasattr(sys, "monitoring"):
            found["_thread.start_new_thread"] = self._thread_started
        found.update(self._watch.handlers())
        return found

    def configure(self, is_relevant):
        """`is_relevant`: whether a file can be in a report."""
        self._is_relevant = is_relevant
        self._partial = {file for file in self._partial if is_relevant(file)}
        pending, self._pending = self._pending, []
        for file, code in pending:
            self._loaded(file, code)

    # -- Start and stop ----------------------------------------------------------------------------

    def start(self):
        """Watches all code from now on."""
        self._watches_all = self._is_watching = True
        self._watch.begin(True, True, ())

    def prepare(self, reported):
        """Does the work of a later `begin` in a forked process."""
        if self._watches_all or self._has_foreign(reported):
            self._watch.prepare(self._watches_all)

    def begin(self, reported=frozenset()):
        """Notes everything that runs from here on, except files that are reported anyway."""
        current = self._recorder.current
        current["files"] |= self._partial
        self._is_watching = self._watches_all or self._has_foreign(reported)
        if self._is_watching:
            if not hasattr(sys, "monitoring") and self._recorder.in_attempt and self._thread_count() > 1:
                current["unknown"].add(EARLIER_THREAD)  # Its tracer notes to the earlier attempt.
            self._watch.begin(self._watches_all, self.is_always_on, reported)

    def after_fork(self):
        """In a process that a test forked."""
        if self._is_watching:
            self._watch.restart()

    def restart(self):
        """Like `begin`, if code is watched outside of attempts."""
        if self.is_always_on:
            self.begin()

    def stop(self):
        """After an attempt."""
        if self._is_watching and not self.is_always_on:
            self._watch.stop()
            self._is_watching = False

    def check(self):
        """Notes it if other code has disabled the watch."""
        if self._is_watching and self._watch.is_lost():
            self._recorder.current["unknown"].add(LOST)

    # -- Loaded code -------------------------------------------------------------------------------

    def _loaded(self, file, code):
        if self._watches_all or file.startswith("<"):
            return
        self._partial.discard(file)
        if self._is_relevant is None:
            self._pending.append((file, code))
        elif self._is_relevant(file):
            self._files.add(file)
            self._watch.add(code)

    def _has_foreign(self, reported):
        known, count, found = self._foreign
        if known is not reported or count != len(self._files):
            found = not self._files <= reported
            self._foreign = reported, len(self._files), found
        return found

    def _compiled(self, source, file):
        """Most code runs as a whole right after. Otherwise functions may be taken out of it."""
        if isinstance(file, (str, bytes)):
            self._add_partial(os.fsdecode(file))

    def _attribute_read(self, owner, name, *_):
        """Who inspects the code of a function depends on it without running it."""
        if name != "__code__" or self._is_inspecting or not self._recorder.in_attempt:
            return
        self._is_inspecting = True  # Reading it here has the same event.
        try:
            code = owner.__code__
        finally:
            self._is_inspecting = False
        if isinstance(code, CodeType) and not code.co_filename.startswith("<"):
            self._recorder.note("files", code.co_filename)
            self._recorder.note("functions", _function(code))

    def _code_made(self, code, file, *_):
        self._add_partial(file)

    def _add_partial(self, file):
        if self._watches_all or not isinstance(file, str) or file.startswith("<"):
            return
        if self._is_relevant is None or self._is_relevant(file):
            self._partial.add(file)
            if self._recorder.in_attempt:
                self._recorder.note("files", file)

    def _unmarshalled(self, *_):
        """Code of an unknown file, which may be run in parts: from now on all code is watched."""
        caller = self._frame(2).f_code.co_filename
        if not self._watches_all and not caller.startswith(IMPORT_SYSTEM) and not caller.endswith(PYTEST_REWRITER):
            self._watches_all = True
            if self._recorder.in_attempt:
                self.begin()

    def _thread_started(self, function, *_):
        is_from_threading = getattr(function, "__name__", None) == "_bootstrap"
        if not is_from_threading and (self._is_watching or not self._recorder.in_attempt):
            self._recorder.note("unknown", "a thread was started without `threading`")

    # -- Running code ------------------------------------------------------------------------------

    def executed(self, code):
        """The body of a module, or compiled text, is about to run."""
        file = getattr(code, "co_filename", None)
        if file is None:
            return
        recorder = self._recorder
        self._loaded(file, code)
        caller = self._frame(1).f_back  # None for the main program.
        if caller is not None and caller.f_code.co_name in IMPORT_FUNCTIONS:
            facts = recorder.of_module(file)
            facts["files"].add(file)
            facts["functions"].add(_function(code))
            if recorder.journal is None:
                module = recorder.imported_module(caller)
                if module is not None:
                    recorder.of_module(module)["files"].add(file)
                # Functions noted for other modules are noted again for this one. Not for installed
                # ones, which rarely run code of the project without importing it.
                if self._is_watching and self._is_relevant is not None and self._is_relevant(file):
                    self._watch.restart()
        if recorder.in_attempt or recorder.journal is not None:
            self._note(code)
        else:
            recorder.note("files", file)
        recorder.begin_body(caller)  # Last: from here on the recorder inspects the stack again.

    def _note(self, code):
        recorder, file = self._recorder, code.co_filename
        if recorder.journal is not None:
            if not file.startswith(("/", "<")):
                file = self._start_directory + file  # The reader may be in another directory.
            recorder.note("files", file)
            if self._by_function:
                recorder.note("functions", (file,) + _function(code)[1:])
            return
        if not recorder.in_attempt and recorder.is_agent():
            return
        if not recorder.in_attempt or recorder.is_loading():
            module = recorder.imported_module(self._frame(2))
            if module is not None:
                facts = recorder.of_module(module)
                facts["files"].add(file)
                if self._has_functions(file):
                    facts["functions"].add(_function(code))
                if not recorder.in_attempt:
                    return
        recorder.current["files"].add(file)
        if self._has_functions(file):
            recorder.current["functions"].add(_function(code))

    def _has_functions(self, file):
        """Whether functions of this file count. Those of the runner are many, and never do."""
        found = self._reported_files.get(file)
        if found is None:
            if self._is_relevant is None or not self._by_function:
                return self._by_function
            # What a relative path means depends on the time.
            found = self._reported_files[file] = not file.startswith("/") or self._is_relevant(file)
        return found


def _function(code):
    return code.co_filename, code.co_firstlineno, code.co_name, getattr(code, "co_qualname", None)
