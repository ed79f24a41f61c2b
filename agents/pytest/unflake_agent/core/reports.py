"""Turns pytest's reports on the phases of a test into one outcome and the details of a failure."""

import os

PHASES = {"setup": "set-up", "call": "call", "teardown": "tear-down"}


class Truncator:
    """Limits texts to `limit` characters: the middle is left out, with a note on how much."""

    def __init__(self, limit):
        self.limit = limit

    def __call__(self, text):
        missing = len(text) - self.limit
        if missing <= 0:
            return text
        half = self.limit // 2
        return "%s\n... %d characters left out ...\n%s" % (text[:half], len(text) - 2 * half, text[len(text) - half :])


def all_passed(reports):
    """Whether every phase simply passed, which is the frequent case."""
    for report in reports:
        if report.outcome != "passed" or hasattr(report, "wasxfail"):
            return False
    return bool(reports)


def outcome_of(reports):
    failed = [report for report in reports if report.outcome == "failed"]
    if failed:
        return "failed" if any(report.when == "call" for report in failed) else "error"
    # Reports of subtests have a `context`; whether the test is skipped is up to the test itself.
    whole = [report for report in reports if not hasattr(report, "context")]
    calls = [report for report in whole if report.when == "call"] or whole
    skipped = [report for report in calls if report.outcome == "skipped"]
    if skipped:
        return "expected-failure" if any(hasattr(report, "wasxfail") for report in skipped) else "skipped"
    if any(hasattr(report, "wasxfail") for report in calls):
        return "unexpected-pass"
    return "passed" if calls else "skipped"


class FailureDetails:
    """Describes failures for the wire. Files below the root are named relative to it."""

    def __init__(self, root, truncate):
        self._root = os.path.join(str(root), "")
        self._truncate = truncate

    def of(self, reports, exception_names, is_shared):
        """Fields of `done` for a test that failed.

        `exception_names`: by phase. `is_shared`: whether a shared tear-down may have failed.
        """
        failed = [report for report in reports if report.outcome == "failed"]
        calls = [report for report in failed if report.when == "call"]
        first = (calls or failed)[0]
        crash = getattr(first.longrepr, "reprcrash", None)
        trace = "\n\n".join(_trace(report) for report in failed)
        message = getattr(crash, "message", None)
        if not isinstance(message, str):
            message = trace.strip().rsplit("\n", 1)[-1]
        failure = {
            "phase": "shared-tear-down" if is_shared else PHASES.get(first.when, "call"),
            "kind": self._truncate(exception_names.get(first.when) or _exception_name(message)),
            "message": self._truncate(message),
            "trace": self._truncate(trace),
        }
        if isinstance(getattr(crash, "path", None), str):
            path = crash.path
            failure["file"] = self._truncate(path[len(self._root) :] if path.startswith(self._root) else path)
            if isinstance(crash.lineno, int) and crash.lineno >= 0:
                failure["line"] = crash.lineno
        details = {"failure": failure}
        for stream in ("stdout", "stderr"):
            # Sections accumulate from phase to phase: the last report has all of them.
            output = getattr(reports[-1], "cap" + stream, "")
            if output:
                details[stream] = self._truncate(output)
        return details


def is_shared_teardown(error):
    """Whether a failing tear-down may belong to something that several tests share.

    pytest blames the test that ran last, which would pass alone. Only an error that a fixture of
    function scope raises is certainly the test's own; finalizers of nodes and hooks may be shared.
    """
    scopes = set()
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        if frame.f_code.co_name == "finish":
            scopes.add(getattr(frame.f_locals.get("self"), "scope", None))
        trace = trace.tb_next
    if not scopes and hasattr(error, "exceptions"):
        return any(map(is_shared_teardown, error.exceptions))  # pytest 8 groups several errors.
    return scopes != {"function"}


def _trace(report):
    try:
        return report.longreprtext
    except Exception as error:  # The project defined the representation.
        return "pytest could not format this failure: %s" % type(error).__name__


def _exception_name(message):
    """The exception's name, from messages such as `ValueError: no` and `assert 1 == 2`."""
    name = message.split(":", 1)[0].split("\n", 1)[0].strip()
    if message.startswith("assert "):
        return "AssertionError"
    return name if name.replace(".", "").replace("_", "").isalnum() else "Failed"
