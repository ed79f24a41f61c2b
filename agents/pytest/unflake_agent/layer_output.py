"""What a test writes to standard output and standard error, as pytest captures it. PYTEST_DONT_REWRITE"""

from _pytest.capture import CaptureFixture

SECTION = "Captured "
STREAMS = "stdout", "stderr"


class Output:
    def __init__(self, sheet, config):
        self._sheet, self._config = sheet, config
        _also_tell_what_is_read(sheet)

    def begin(self, item):
        """pytest captures all the time."""

    def end(self, item):
        if self._config.option.capture == "no":
            self._sheet.gap("interface", "pytest was told not to capture (-s), so what the test wrote is not known")
            return
        for stream in STREAMS:
            # One section for each phase, in their order.
            parts = [text for _, name, text in item._report_sections if name == stream]
            if parts:
                self._sheet.tell(["out", stream, self._sheet.text("".join(parts))])


def _also_tell_what_is_read(sheet):
    """What a test takes for itself by `capsys` and the like is gone before pytest could keep it."""
    read = CaptureFixture.readouterr

    def readouterr(self):
        result = read(self)
        for stream, text in zip(STREAMS, result):
            if type(text) is bytes:
                text = text.decode("utf-8", "backslashreplace")
            if text:
                sheet.tell(["out", stream, sheet.text(text)])
        return result

    CaptureFixture.readouterr = readouterr
