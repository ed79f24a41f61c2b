"""From the reports that pytest makes of a test's phases to the one outcome that unflake is told. PYTEST_DONT_REWRITE"""

import os

from _pytest._code import ExceptionInfo
from _pytest.outcomes import fail

PHASES = {"setup": "set-up", "call": "call", "teardown": "tear-down"}


class Shortener:
    """Texts of at most `limit` characters: of longer ones the middle is left out, and how much is said."""

    def __init__(self, limit):
        self.limit = limit

    def __call__(self, text):
        missing = len(text) - self.limit
        if missing <= 0:
            return text
        half = self.limit // 2
        return "%s\n... %d characters left out ...\n%s" % (text[:half], len(text) - 2 * half, text[len(text) - half :])


def passed(reports):
    """Whether this is the plain and frequent case: nothing but passing phases."""
    for report in reports:
        if report.outcome != "passed" or hasattr(report, "wasxfail"):
            return False
    return bool(reports)


def outcome_of(reports):
    failed = [report for report in reports if report.outcome == "failed"]
    if failed:
        return "failed" if any(report.when == "call" for report in failed) else "error"
    # A subtest has a `context`; whether its test is skipped is for the test itself to say.
    whole = [report for report in reports if not hasattr(report, "context")]
    calls = [report for report in whole if report.when == "call"] or whole
    skipped = [report for report in calls if report.outcome == "skipped"]
    if skipped:
        return "expected-failure" if any(hasattr(report, "wasxfail") for report in skipped) else "skipped"
    if any(hasattr(report, "wasxfail") for report in calls):
        return "unexpected-pass"
    return "passed" if calls else "skipped"


class Teller:
    """Describes failures; file names are relative to the root where they are inside it."""

    def __init__(self, root, text):
        self._root = os.path.join(str(root), "")
        self._text = text
        self._absolute = os.path.isabs

    def details(self, reports, kinds):
        """What to tell of a test that failed, besides its outcome. `kinds`: exception names by phase."""
        failed = [report for report in reports if report.outcome == "failed"]
        calls = [report for report in failed if report.when == "call"]
        first = (calls or failed)[0]
        crash = getattr(first.longrepr, "reprcrash", None)
        trace = "\n\n".join(_trace(report) for report in failed)
        message = getattr(crash, "message", None)
        if not isinstance(message, str):
            message = trace.strip().rsplit("\n", 1)[-1]
        failure = {
            "phase": "shared-tear-down" if "shared" in kinds else PHASES.get(first.when, "call"),
            "kind": self._text(kinds.get(first.when) or _kind(message)),
            "message": self._text(message),
            "trace": self._text(trace),
        }
        if isinstance(getattr(crash, "path", None), str):
            path = crash.path
            failure["file"] = self._text(path[len(self._root) :] if path.startswith(self._root) else path)
            if isinstance(crash.lineno, int) and crash.lineno >= 0:
                failure["line"] = crash.lineno
        details = {"failure": failure}
        for stream in ("stdout", "stderr"):
            # The sections grow from phase to phase: the last report has them all.
            output = getattr(reports[-1], "cap" + stream, "")
            if output:
                details[stream] = self._text(output)
        return details


def is_shared_tear_down(error):
    """Whether a failing tear-down may belong to something that other tests share. The test that happened to run last is
    blamed for it, and would pass alone. Only what a fixture of the test alone raises surely does not: what nodes were
    given to finalize and what hooks look after (leaks of a module) cannot be told from what tests share."""
    scopes = set()
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        if frame.f_code.co_name == "finish":
            scopes.add(getattr(frame.f_locals.get("self"), "scope", None))
        trace = trace.tb_next
    if not scopes and hasattr(error, "exceptions"):
        return any(map(is_shared_tear_down, error.exceptions))  # From pytest 8 on several failing ones come as a group.
    return scopes != {"function"}


def warm_up():
    """Writes a failure down, because the first one in a process takes tens of milliseconds: all modules are searched for
    its source. Done before copies are made, so that not each of them pays for it."""
    try:
        fail("not at all")  # Through a file whose source is there to be read.
    except fail.Exception:
        try:
            str(ExceptionInfo.from_current().getrepr())
        except Exception:
            pass  # Some code of the project cannot be looked at; then it is slow and no worse.


def _trace(report):
    try:
        return report.longreprtext
    except Exception as error:  # A representation that the project defined.
        return "pytest could not write this failure down: %s" % type(error).__name__


def _kind(message):
    """The exception's name, where pytest shows only the message: `ValueError: no`, `assert 1 == 2`."""
    name = message.split(":", 1)[0].split("\n", 1)[0].strip()
    if message.startswith("assert "):
        return "AssertionError"
    return name if name.replace(".", "").replace("_", "").isalnum() else "Failed"
