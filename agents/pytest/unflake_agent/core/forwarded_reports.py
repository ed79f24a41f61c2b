"""Reports of tests that run in other processes, for the process that writes pytest's reports.

Where the first pass runs in several processes, each writes what pytest reports about its tests to a
file. The process of the user's command passes that to its own plugins at the end. So `--junitxml`,
`--lf` and the like contain every test, as they do with pytest-xdist, whose plugins work the same.
"""

import json
import os
import sys

from _pytest.reports import TestReport  # Not in `pytest` before version 7.

PREFIX = "reports-"
DIED = "the process of this test died"

# Kept from here: tests may replace them.
_open, _write, _close = os.open, os.write, os.close
_encode = json.JSONEncoder(default=str).encode


class ReportForwarder:
    """Writes reports in a process that runs tests. A test that has begun is in the file before it runs."""

    def __init__(self, side, name, config, guard):
        self._path = os.path.join(side, PREFIX + name)
        self._config, self._guard = config, guard
        self._lines = []

    def pytest_runtest_logstart(self, nodeid, location):
        with self._guard:
            self._lines.append(["start", nodeid, location])
            self.write()

    def pytest_runtest_logreport(self, report):
        with self._guard:
            data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
            self._lines.append(["report", data])

    def pytest_runtest_logfinish(self, nodeid, location):
        with self._guard:
            self._lines.append(["finish", nodeid, location])
            self.write()

    def write(self):
        text = "".join(_encode(line) + "\n" for line in self._lines).encode()
        try:
            file = _open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        except OSError:
            return  # A test may have used up all descriptors; the lines are written with the next ones.
        try:
            while text:
                text = text[_write(file, text) :]
        finally:
            _close(file)
        self._lines = []

    def end(self):
        """No more tests run in this process."""
        self.write()
        if self._lines:
            raise OSError("reports of tests cannot be written to " + self._path)


def replay_reports(
    side, config, is_complete, listdir=os.listdir, remove=os.remove, join=os.path.join, open_file=open, parse=json.loads
):
    """Passes what all processes have reported to the plugins of this one.

    `is_complete`: no process was interrupted, so that a test without an end died with its process.
    The defaults are from before any test ran, which may have replaced them.
    """
    hook = config.hook
    names = [name for name in listdir(side) if name.startswith(PREFIX)]
    for name in sorted(names, key=lambda name: int(name[len(PREFIX) :])):
        path = join(side, name)
        running = None
        with open_file(path, encoding="utf-8") as lines:
            for line in lines:
                kind, what, *location = parse(line)
                if kind == "report":
                    report = hook.pytest_report_from_serializable(config=config, data=what)
                    hook.pytest_runtest_logreport(report=report)
                    continue
                if kind == "start":
                    running = what, tuple(location[0])
                    hook.pytest_runtest_logstart(nodeid=what, location=running[1])
                else:
                    hook.pytest_runtest_logfinish(nodeid=what, location=tuple(location[0]))
                    running = None
        if running is not None and is_complete:
            nodeid, location = running
            report = TestReport(nodeid, location, {}, "failed", DIED, "call")
            hook.pytest_runtest_logreport(report=report)
            hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)
        remove(path)


def why_one_process(config):
    """Why the tests must run in the process of the user's command; None if they need not."""
    option = config.option
    if getattr(option, "maxfail", 0):
        return "several processes cannot stop together after --maxfail failures"
    if getattr(option, "stepwise", False):
        return "several processes cannot stop together at the first failure (--stepwise)"
    cov = config.pluginmanager.getplugin("_cov")
    if getattr(cov, "cov_controller", None) is not None or _is_measured():
        return "the coverage of other processes would be lost; pytest-xdist (-n) keeps it"
    return None


def _is_measured():
    """Whether `coverage run` measures this process."""
    coverage = sys.modules.get("coverage")
    try:
        return coverage is not None and coverage.Coverage.current() is not None
    except AttributeError:  # An old version, or another module of that name.
        return coverage is not None
