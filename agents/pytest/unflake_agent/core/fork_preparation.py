"""Prepares pytest for being forked: what children must not share, and work that is done once.

- Output: a child captures into files of its own and writes nothing to the terminal.
- Temporary directories: one base directory for all, or children would remove each other's.
- Tracebacks: the first one in a process and each parsed source file cost tens of milliseconds; the
  parent pays for them once.
"""

import _imp
import bisect
import io
import linecache
import os
import sys
import tempfile

from _pytest._code import ExceptionInfo
from _pytest.outcomes import fail

try:
    from _pytest._code import code, source
except ImportError:
    code = source = None

# Flags that open a file without a name, where the system can.
UNNAMED_FILE = os.O_TMPFILE | os.O_RDWR | os.O_EXCL | os.O_CLOEXEC if hasattr(os, "O_TMPFILE") else None


# -- Output ----------------------------------------------------------------------------------------


class NullFile(io.TextIOBase):
    """Discards text. It has no descriptor that a test could close and reuse."""

    def write(self, text):
        return len(text)


NULL_FILE = NullFile()


def flush_output(config):
    """Writes buffered output now; otherwise each child would write it once more."""
    reporter = config.pluginmanager.getplugin("terminalreporter")
    for file in (sys.stdout, sys.stderr, getattr(getattr(reporter, "_tw", None), "_file", None)):
        try:
            file.flush()
        except Exception:
            pass


def separate_output(config):
    """In a child: captures into new files and silences the progress display."""
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is not None and not _replace_capture_files(capture):
        for stream in ("out", "err"):
            captured = getattr(getattr(capture, "_global_capturing", None), stream, None)
            if captured is not None:
                empty = captured.EMPTY_BUFFER
                captured.snap = lambda: empty  # Reading would move the parent's file position.
        try:
            capture.stop_global_capturing()
            capture.start_global_capturing()
        except Exception:
            # A test has closed descriptors or replaced `open`: continue as with -s.
            capture._global_capturing, capture._method = None, "no"
            capture.start_global_capturing()
        capture.suspend_global_capture()
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if reporter is not None:
        reporter._tw._file = NULL_FILE


def _replace_capture_files(capture, open=os.open, dup2=os.dup2, close=os.close, fstat=os.fstat, flags=UNNAMED_FILE):
    """Puts new files under the descriptors that pytest captures into. Whether that was possible.

    Possible only while capturing is suspended and the files are empty, as between two tests. It
    takes a fifth of the time that a restart of capturing takes.
    """
    try:
        streams = capture._global_capturing.out, capture._global_capturing.err
        for stream in streams:
            if type(stream).__name__ != "FDCapture" or stream._state != "suspended" or flags is None:
                return False
            file = fstat(stream.tmpfile.fileno())
            if file.st_nlink or file.st_size:  # A test put another file there, or it is not empty.
                return False
        for stream in streams:
            file = open(tempfile.tempdir, flags, 0o600)
            dup2(file, stream.tmpfile.fileno(), False)
            close(file)
        return True
    except Exception:
        return False


# -- Temporary directories -------------------------------------------------------------------------


def make_base_temp(config):
    """Makes pytest's base temporary directory before the first fork."""
    try:
        config._tmp_path_factory.getbasetemp()
    except Exception:
        pass


def pytest_directories(config):
    """The directories in which pytest itself keeps files."""
    factory = getattr(config, "_tmp_path_factory", None)
    cache = getattr(getattr(config, "cache", None), "_cachedir", None)
    return [str(path) for path in (getattr(factory, "_basetemp", None), cache) if path is not None]


def unlock_base_temp(config):
    """Removes the lock, so that later runs of pytest clean this directory up as their own."""
    base = getattr(getattr(config, "_tmp_path_factory", None), "_basetemp", None)
    if base is not None:
        try:
            os.unlink(str(base / ".lock"))
        except OSError:
            pass


# -- Tracebacks ------------------------------------------------------------------------------------


def warm_up_tracebacks():
    """Formats one failure: the first one in a process searches all modules for its source."""
    try:
        fail("not at all")  # Raised in a file with a readable source.
    except fail.Exception:
        try:
            str(ExceptionInfo.from_current().getrepr())
        except Exception:
            pass  # Some code of the project cannot be inspected. Then tracebacks are only slower.


class StatementStarts:
    """In place of a parsed file: the sorted lines on which its statements begin."""

    lines = ()


class SourceCache:
    """Where the statements of a file begin, found once for all children.

    For each traceback entry pytest parses the whole file and walks its syntax tree to get a sorted
    list of line numbers. Where a version of pytest lacks the functions that are replaced here, it
    works as usual.
    """

    def __init__(self):
        self._known = {}  # By file name: the lines as linecache has them, and pytest's Source.
        self._is_installed = False
        self._check, self._cached, self._right = linecache.checkcache, linecache.cache, bisect.bisect_right

    def add(self, file):
        """Parses a file once, for this process and its children, for as long as it is unchanged."""
        try:
            if not self._is_installed:
                self._install()
                self._is_installed = True
            # `compile` with the file's name would be recorded as a use of that file.
            placeholder = compile("0", "<unflake>", "exec")
            _imp._fix_co_filename(placeholder, file)
            text, _ = source.findsource(placeholder)
            text.statements = _statement_starts(text)
            self._known[file] = self._cached[file][2], text
        except Exception:
            pass

    def _install(self):
        known, check, cached, right = self._known, self._check, self._cached, self._right
        full, ranges, bounds = code.Code.fullsource.fget, source.getstatementrange_ast, source.get_statement_startend2
        if _parameters(ranges) != ("lineno", "source", "assertion", "astnode") or _parameters(bounds) != ("lineno", "node"):
            raise NotImplementedError

        def fullsource(self):
            lines, text = known.get(self.raw.co_filename, (None, None))
            if lines is not None:
                check(self.raw.co_filename)
                entry = cached.get(self.raw.co_filename)
                if entry is not None and entry[2] is lines:
                    return text
            return full(self)

        def getstatementrange_ast(lineno, source, assertion=False, astnode=None):
            return ranges(lineno, source, assertion, astnode or getattr(source, "statements", None))

        def get_statement_startend2(lineno, node):
            if type(node) is not StatementStarts:
                return bounds(lineno, node)
            at = right(node.lines, lineno)
            return node.lines[at - 1], node.lines[at] if at < len(node.lines) else None

        code.Code.fullsource = property(fullsource)
        code.getstatementrange_ast = source.getstatementrange_ast = getstatementrange_ast
        source.get_statement_startend2 = get_statement_startend2


def _parameters(function):
    return function.__code__.co_varnames[: function.__code__.co_argcount]


def _statement_starts(text):
    """Intercepts the list of lines that pytest collects in order to search it."""
    starts = StatementStarts()

    def intercept(values, lineno):
        starts.lines = values
        return 1

    original, source.bisect_right = source.bisect_right, intercept
    try:
        source.getstatementrange_ast(0, text)
    finally:
        source.bisect_right = original
    return starts if starts.lines else None
