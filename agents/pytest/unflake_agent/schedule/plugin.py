"""The plugin of pytest that runs each test under the schedule of the world.

Standalone: `unflake under` gives this package to pytest without the agent.
"""

import os

import pytest

from ..common.project_code import ProjectCode
from .change_points import GivenPoints, Point, SeededPoints
from .event_loop import LoopDelays
from .threads import LineDelays, see_lines

# So many points of an attempt are kept, and so many are shown.
MAX_POINTS, SHOWN_POINTS = 1000, 20


def words_of(under):
    """The words of the settings of the preload shim."""
    return dict(word.partition("=")[::2] for word in under.partition(";page=")[0].split(";"))


def has_schedule(under):
    return not {"schedule", "delay-at", "hold"}.isdisjoint(words_of(under))


class SchedulePlugin:
    def __init__(self, under, shows_points=False):
        """`shows_points`: failures say where threads and tasks were delayed."""
        words = words_of(under)
        points, order = GivenPoints([]), None
        if "schedule" in words:
            seed, _, rate = words["schedule"].partition(",")
            points = SeededPoints(int(seed), int(rate or 0))
        elif "delay-at" in words:
            points = GivenPoints([Point(text) for text in words["delay-at"].split(",")])
        else:
            order = [Point(text) for text in words["hold"].split(" after ")]
        self._shows_points = shows_points
        self._project, self._root = None, ""
        self._points = []
        self._relpath = os.path.relpath
        self.delays = LineDelays(points, order, self._file_name, self._report)
        self._lines, self._loops = see_lines(self.delays), LoopDelays(self.delays)
        # Another instrument sees lines and passes them on.
        self.is_told = False
        self._why_not = None

    def _file_name(self, code):
        path = self._project.file(code.co_filename)
        return None if path is None else self._relpath(path, self._root)

    def points(self):
        """Where threads and tasks of the latest test were delayed."""
        return list(self._points)

    def _report(self, point):
        if len(self._points) < MAX_POINTS:
            self._points.append(point)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        if self._project is None:
            self._root = os.path.realpath(str(item.config.rootpath))
            self._project = ProjectCode(self._root, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        self._points = []
        self.delays.begin()
        self._loops.begin()
        why = None if self.is_told else self._lines.begin()
        self._why_not = self._why_not or why
        yield
        if why is None and not self.is_told:
            self._lines.end()
        self._loops.end()
        self.delays.end()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self):
        outcome = yield
        report = outcome.get_result()
        if self._shows_points and report.failed and self._points:
            more = len(self._points) - SHOWN_POINTS
            shown = self._points[:SHOWN_POINTS] + (["and %d more" % more] if more > 0 else [])
            report.sections.append(("schedule: delayed before", "\n".join(shown)))

    def pytest_terminal_summary(self, terminalreporter):
        if self._why_not is not None:
            terminalreporter.write_line("unflake: threads were not delayed: " + self._why_not)
