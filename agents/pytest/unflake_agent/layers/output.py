"""What a person would see of a test, or of a program that it runs, on standard output and standard error. PYTEST_DONT_REWRITE"""

import os
import subprocess
import sys

from _pytest.capture import CaptureFixture

STREAMS = "stdout", "stderr"


class Output:
    def __init__(self, sheet, config):
        self._sheet, self._config = sheet, config
        self._frame, self._name, self._program = sys._getframe, os.path.basename, subprocess.__file__
        self._test = None  # The name of the file whose test is under way.
        self._also_tell_what_is_read()
        self._also_tell_of_programs()

    def begin(self, item):
        self._test = self._name(str(getattr(item, "path", None) or item.fspath))

    def end(self, item):
        if self._config.option.capture == "no":
            self._sheet.gap("interface", "pytest was told not to capture (-s), so what the test wrote is not known")
            return
        for stream in STREAMS:
            # One section for each phase, in their order.
            parts = [text for _, name, text in item._report_sections if name == stream]
            self._tell(stream, "".join(parts))

    def _tell(self, stream, text):
        if isinstance(text, bytes):
            text = text.decode("utf-8", "backslashreplace")
        if text:
            self._sheet.tell(["out", stream, self._sheet.text(text)])

    def _also_tell_what_is_read(self):
        """What a test takes for itself by `capsys` and the like is gone before pytest could keep it."""
        read, tell = CaptureFixture.readouterr, self._tell

        def readouterr(self):
            result = read(self)
            for stream, text in zip(STREAMS, result):
                tell(stream, text)
            return result

        CaptureFixture.readouterr = readouterr

    def _also_tell_of_programs(self):
        """Where a test itself runs a program. What the project runs for its own sake nobody gets to see."""
        talk, output = subprocess.Popen.communicate, self

        def communicate(self, *arguments, **named):
            __tracebackhide__ = True
            result = talk(self, *arguments, **named)
            if output._is_asked_by_a_test():
                for stream, text in zip(STREAMS, result):
                    output._tell(stream, text)
            return result

        subprocess.Popen.communicate = communicate

    def _is_asked_by_a_test(self):
        frame = self._frame(2)
        while frame is not None and frame.f_code.co_filename == self._program:
            frame = frame.f_back
        return frame is not None and self._name(frame.f_code.co_filename) in (self._test, "conftest.py")
