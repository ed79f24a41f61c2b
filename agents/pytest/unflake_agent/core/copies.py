"""What tests write goes where it belongs: a copy of the process writes neither into the files nor into the progress of the first one.
PYTEST_DONT_REWRITE"""

import io
import os
import sys
import tempfile

# How to open a file that has no name, where the system can.
NAMELESS = os.O_TMPFILE | os.O_RDWR | os.O_EXCL | os.O_CLOEXEC if hasattr(os, "O_TMPFILE") else None


class Nowhere(io.TextIOBase):
    """A file without a descriptor, so that tests that close and reuse descriptors do not get what is written to it."""

    def write(self, text):
        return len(text)


NOWHERE = Nowhere()


def flush(config):
    """What is buffered is written now, by this process, and not once more by its copies."""
    reporter = config.pluginmanager.getplugin("terminalreporter")
    for file in (sys.stdout, sys.stderr, getattr(getattr(reporter, "_tw", None), "_file", None)):
        try:
            file.flush()
        except Exception:
            pass


def own_output(config):
    """A copy captures into files of its own, and does not write into the progress of the first process."""
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is not None and not _own_files(capture):
        for stream in ("out", "err"):
            captured = getattr(getattr(capture, "_global_capturing", None), stream, None)
            if captured is not None:
                nothing = captured.EMPTY_BUFFER
                captured.snap = lambda: nothing  # Reading would move the place where the first process writes.
        try:
            capture.stop_global_capturing()
            capture.start_global_capturing()
        except Exception:
            # A test has closed descriptors or replaced `open`: from here on as with -s.
            capture._global_capturing, capture._method = None, "no"
            capture.start_global_capturing()
        capture.suspend_global_capture()
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if reporter is not None:
        reporter._tw._file = NOWHERE


def _own_files(capture, new=os.open, put=os.dup2, close=os.close, look=os.fstat, how=NAMELESS):
    """Puts new files below the descriptors into which pytest captures while it is not capturing and they are empty. That
    is so in a copy that was made between tests, and costs a fifth of what it costs to let pytest begin anew."""
    try:
        streams = capture._global_capturing.out, capture._global_capturing.err
        for stream in streams:
            if type(stream).__name__ != "FDCapture" or stream._state != "suspended" or how is None:
                return False
            file = look(stream.tmpfile.fileno())
            if file.st_nlink or file.st_size:  # Somebody else's, or something is in it.
                return False
        for stream in streams:
            file = new(tempfile.tempdir, how, 0o600)
            put(file, stream.tmpfile.fileno(), False)
            close(file)
        return True
    except Exception:
        return False
