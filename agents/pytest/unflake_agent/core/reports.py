"""From the reports that pytest makes of a test's phases to the one outcome that unflake is told. PYTEST_DONT_REWRITE"""

import _imp
import bisect
import linecache
import os

from _pytest._code import ExceptionInfo
from _pytest.outcomes import fail

try:
    from _pytest._code import code, source
except ImportError:
    code = source = None

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


class Statements:
    """Stands for a parsed file: `starts` are the lines on which its statements begin."""

    starts = ()


class Sources:
    """Where the statements of a file begin, found once for all copies of the process.

    pytest parses a whole file and walks its whole tree for each traceback that leads through it: tens of milliseconds
    for a long one, in every copy anew. What it looks for there is a sorted list of line numbers. Where a version of pytest
    does not have what is replaced here, it goes on as it always does.
    """

    def __init__(self):
        self._known = {}  # The lines as linecache has them, and pytest's Source of them, by file name.
        self._is_in = False
        self._check, self._cached, self._right = linecache.checkcache, linecache.cache, bisect.bisect_right

    def learn(self, file):
        """From now on this file is not parsed again, in this process and its copies, as long as it stays as it is."""
        try:
            if not self._is_in:
                self._come_in()
                self._is_in = True
            # Code that is compiled under the name of a file counts as a use of that file.
            stands_for_it = compile("0", "<unflake>", "exec")
            _imp._fix_co_filename(stands_for_it, file)
            text, _ = source.findsource(stands_for_it)
            text.statements = _statements(text)
            self._known[file] = self._cached[file][2], text
        except Exception:
            pass

    def _come_in(self):
        """Puts what is known before pytest's own ways to find it."""
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
            if type(node) is not Statements:
                return bounds(lineno, node)
            at = right(node.starts, lineno)
            return node.starts[at - 1], node.starts[at] if at < len(node.starts) else None

        code.Code.fullsource = property(fullsource)
        code.getstatementrange_ast = source.getstatementrange_ast = getstatementrange_ast
        source.get_statement_startend2 = get_statement_startend2


def _parameters(function):
    return function.__code__.co_varnames[: function.__code__.co_argcount]


def _statements(text):
    """pytest collects the lines on which statements begin to look for one of them: what it has collected is kept."""
    statements = Statements()

    def look(values, lineno):
        statements.starts = values
        return 1

    kept, source.bisect_right = source.bisect_right, look
    try:
        source.getstatementrange_ast(0, text)
    finally:
        source.bisect_right = kept
    return statements if statements.starts else None


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
