"""Whose code runs. By function, all code is watched. By file, only that of strangers is, if there are any: files that are
in the process and not told anyway. PYTEST_DONT_REWRITE"""

import os
import sys
import threading

from .code_watch import way

IMPORTERS = "_call_with_frames_removed", "exec_module"
# Who may read compiled code: it is executed as a whole then.
READERS = "<frozen importlib", "<frozen zipimport"
REWRITER = "/_pytest/assertion/rewrite.py"
GOES_ON = "a thread that was there before the test went on"
LOST = "somebody else took the watch over executed code away"


class Code:
    """Tells the facts of the moment, at least once for every function that runs between two calls of `begin`, its file
    and where wanted its name."""

    def __init__(self, recorder, mode):
        self._recorder, self._by_function = recorder, mode == "function"
        self._frame, self._count = sys._getframe, threading.active_count
        self._began_in = os.path.join(os.getcwd(), "")
        self._way = way(recorder, self._told)
        self.always = self._by_function  # Not only in attempts: imports too. For files the graph of imports does.
        self._all = self._by_function
        self._watches = False
        self._matters = None  # Until it is known where the project is.
        self._loaded, self._files = [], set()  # Code by file until then, and files whose code is in the process.
        self._made = set()  # Files of which there is code that was made in other ways than by a run of the file.
        self._strangers = None, 0, False

    def handlers(self):
        found = {"compile": self._compiled, "code.__new__": self._made_by_hand}
        found["marshal.load"] = found["marshal.loads"] = self._unmarshalled
        if not hasattr(sys, "monitoring"):
            found["_thread.start_new_thread"] = self._thread
        found.update(self._way.handlers())
        return found

    def configure(self, matters):
        """`matters`: whether a file is to be told at all."""
        self._matters = matters
        self._made = {file for file in self._made if matters(file)}
        loaded, self._loaded = self._loaded, []
        for file, code in loaded:
            self._load(file, code)

    # -- On and off ---------------------------------------------------------------------------------------------------

    def start(self):
        """Watches all code from now on."""
        self._all = self._watches = True
        self._way.begin(True, True, ())

    def prepare(self, anyway):
        """For a `begin` in a copy."""
        if self._all or self._are_strangers(anyway):
            self._way.prepare(self._all)

    def begin(self, anyway=frozenset()):
        """Everything that runs from here on is told again, but for the files that are told anyway."""
        current = self._recorder.current
        current["files"] |= self._made
        self._watches = self._all or self._are_strangers(anyway)
        if self._watches:
            if not hasattr(sys, "monitoring") and self._recorder.in_attempt and self._count() > 1:
                current["unknown"].add(GOES_ON)  # It tells what it runs to the attempt that started it.
            self._way.begin(self._all, self.always, anyway)

    def forked(self):
        """In a copy that a test made."""
        if self._watches:
            self._way.again()

    def again(self):
        """As `begin`, where anybody watches at all."""
        if self.always:
            self.begin()

    def stop(self):
        """After an attempt."""
        if self._watches and not self.always:
            self._way.stop()
            self._watches = False

    def check(self):
        """Whether somebody has taken the watch away; then it is said."""
        if self._watches and self._way.is_lost():
            self._recorder.current["unknown"].add(LOST)

    # -- What there is ------------------------------------------------------------------------------------------------

    def _load(self, file, code):
        """Code of this file is in the process from now on."""
        if self._all or file.startswith("<"):
            return
        self._made.discard(file)
        if self._matters is None:
            self._loaded.append((file, code))
        elif self._matters(file):
            self._files.add(file)
            self._way.load(code)

    def _are_strangers(self, anyway):
        known, number, found = self._strangers
        if known is not anyway or number != len(self._files):
            found = not self._files <= anyway
            self._strangers = anyway, len(self._files), found
        return found

    def _compiled(self, source, file):
        """Most is executed as a whole right after. What is not, somebody may have taken functions out of."""
        if isinstance(file, (str, bytes)):
            self._make(os.fsdecode(file))

    def _made_by_hand(self, code, file, *_):
        self._make(file)

    def _make(self, file):
        if self._all or not isinstance(file, str) or file.startswith("<"):
            return
        if self._matters is None or self._matters(file):
            self._made.add(file)
            if self._recorder.in_attempt:
                self._recorder.note("files", file)

    def _unmarshalled(self, *_):
        """Nobody knows whose code it is, and whether it is executed as a whole. So all code is watched."""
        caller = self._frame(2).f_code.co_filename
        if not self._all and not caller.startswith(READERS) and not caller.endswith(REWRITER):
            self._all = True
            if self._recorder.in_attempt:
                self.begin()

    def _thread(self, function, *_):
        if getattr(function, "__name__", None) != "_bootstrap" and (self._watches or not self._recorder.in_attempt):
            self._recorder.note("unknown", "a thread was started past `threading`")

    # -- What runs ----------------------------------------------------------------------------------------------------

    def executed(self, code):
        """A module's body is about to run, or what somebody made of a text."""
        file = getattr(code, "co_filename", None)
        if file is None:
            return
        recorder = self._recorder
        self._load(file, code)
        caller = self._frame(1).f_back  # None for the program itself.
        if caller is not None and caller.f_code.co_name in IMPORTERS:
            facts = recorder.of_module(file)
            facts["files"].add(file)
            facts["functions"].add(_named(code))
            if recorder.journal is None:
                module = recorder.importing(caller)
                if module is not None:
                    recorder.of_module(module)["files"].add(file)
                # What ran for other modules already is told again for this one. Not for what is installed: it would take
                # one that runs code of the project at its import without importing it.
                if self._watches and self._matters is not None and self._matters(file):
                    self._way.again()
        if recorder.in_attempt or recorder.journal is not None:
            self._told(code)
        else:
            recorder.note("files", file)
        recorder.body(caller)  # The last: from here on the stack is looked at again.

    def _told(self, code):
        recorder, file = self._recorder, code.co_filename
        if recorder.journal is not None:
            if not file.startswith(("/", "<")):
                file = self._began_in + file  # Whoever reads this may be elsewhere.
            recorder.note("files", file)
            if self._by_function:
                recorder.note("functions", (file,) + _named(code)[1:])
            return
        if not recorder.in_attempt or recorder.is_loading():
            module = recorder.importing(self._frame(2))
            if module is not None:
                facts = recorder.of_module(module)
                facts["files"].add(file)
                if self._by_function:
                    facts["functions"].add(_named(code))
                if not recorder.in_attempt:
                    return
        recorder.current["files"].add(file)
        if self._by_function:
            recorder.current["functions"].add(_named(code))


def _named(code):
    return code.co_filename, code.co_firstlineno, code.co_name, getattr(code, "co_qualname", None)
