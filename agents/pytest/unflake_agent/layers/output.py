"""Records what a test, or a program that the test itself runs, writes to stdout and stderr."""

import os
import subprocess
import sys

from _pytest.capture import CaptureFixture

from ..common.boundary import guarded
from ..core.items import node_path

STREAMS = "stdout", "stderr"


class OutputRecorder:
    def __init__(self, file, config):
        self._file, self._config = file, config
        self._frame, self._basename, self._subprocess = sys._getframe, os.path.basename, subprocess.__file__
        self._test_file = None  # The name of the current test's file.
        self._wrap_capture_fixtures()
        self._wrap_communicate()

    def begin(self, item):
        self._test_file = self._basename(node_path(item))

    def end(self, item):
        if self._config.option.capture == "no":
            self._file.gap("interface", "pytest does not capture output (-s), so the output was not recorded")
            return
        for stream in STREAMS:
            # One section for each phase, in order.
            parts = [text for _, name, text in item._report_sections if name == stream]
            self._record(stream, "".join(parts))

    @guarded
    def _record(self, stream, text):
        if isinstance(text, bytes):
            text = text.decode("utf-8", "backslashreplace")
        if text:
            self._file.write(["out", stream, self._file.truncate(text)])

    def _wrap_capture_fixtures(self):
        """Records what a test reads through `capsys` and the like: pytest does not keep that."""
        read, record = CaptureFixture.readouterr, self._record

        def readouterr(self):
            result = read(self)
            for stream, text in zip(STREAMS, result):
                record(stream, text)
            return result

        CaptureFixture.readouterr = readouterr

    def _wrap_communicate(self):
        """Records output of programs that a test itself runs, not of those of the project."""
        original, recorder = subprocess.Popen.communicate, self

        def communicate(self, *arguments, **named):
            __tracebackhide__ = True
            result = original(self, *arguments, **named)
            if recorder._is_called_by_test(recorder._frame(1)):
                for stream, text in zip(STREAMS, result):
                    recorder._record(stream, text)
            return result

        subprocess.Popen.communicate = communicate

    @guarded
    def _is_called_by_test(self, frame):
        while frame is not None and frame.f_code.co_filename == self._subprocess:
            frame = frame.f_back
        return frame is not None and self._basename(frame.f_code.co_filename) in (self._test_file, "conftest.py")
