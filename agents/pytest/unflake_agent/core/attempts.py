"""Attempts: runs tests, observes them with the instruments, and reports their results.

What the agent in an ordinary process and the one in a worker of xdist have in common.
"""

import os
import sys
import time
import traceback

import pytest

from .. import DIRECTORY, load
from ..common.boundary import is_of_agent
from .guard import AgentGuard
from .items import ItemPool, list_tests
from .reports import FailureDetails, Truncator, all_passed, is_shared_teardown, outcome_of
from .stack_dumps import StackDumps, stack_signal
from .stop_limits import StopLimits
from .wire import PROTOCOL, Wire

TESTS_PER_LISTING = 200
CHARACTERS_PER_LISTING = 200_000
# A line may have 4 MiB; it has up to four texts, and JSON may need six bytes for a character.
MAX_CHARACTERS = 160_000


class AttemptPlugin:
    def __init__(self, settings):
        self._settings = settings
        self._environment = int(settings.get("environment", 0))
        # The number of this process, where several are one environment.
        self._process = int(settings["process"]) if "process" in settings else None
        self._truncate = Truncator(min(int(settings.get("output_limit", 65536)), MAX_CHARACTERS))
        self._socket_path = settings["socket"]
        self._side = settings.get("side")
        self._guard = AgentGuard(self._side, self._name())
        self._in_runner = False  # Whether pytest runs a test, so that an exception is not the agent's.
        self._cache = settings.get("cache")
        self._load_instruments(settings)
        self._stack_dumps = StackDumps(self._side)
        self._clock = time.perf_counter
        self._exit = os._exit
        self._format_exc = traceback.format_exc
        self._wire = None
        self._collection_errors = []
        self._deselected = 0
        self._reorders = False
        # Of the current attempt:
        self._began = 0.0
        self._reports = []
        self._exception_names, self._is_shared_teardown = {}, False
        # Encoded events that are sent with the next ones, which saves a write.
        self._unsent = b""
        # The exception with which pytest would have stopped. Raised at `end`, unless another
        # `run` comes first.
        self._stop = None
        self._has_noted_reruns = False
        # The last error in set-up, and the one that came again after everything was torn down.
        self._setup_error = None
        self._repeated_setup_error = None

    def _name(self):
        """Names the files of this process in the side directory."""
        return str(self._environment) if self._process is None else "%d-%d" % (self._environment, self._process)

    def _load_instruments(self, settings):
        self._dependencies = self._trace = self._layers = self._assertions = self._sandbox = self._schedule = None
        self._says_installed = bool(settings.get("installed"))
        if "under" in settings:
            self._sandbox = load("core.sandbox").open_sandbox(settings)
        if not self._side:
            return
        if settings.get("dependencies"):
            plugin = load("dependencies.plugin")
            self._dependencies = plugin.DependencyPlugin(settings["dependencies"], self._side)
        if settings.get("traced"):
            self._trace = load("trace.attempt_trace").AttemptTrace(settings, self._note)
        if settings.get("layers"):
            self._layers = load("layers.attempt_layers").AttemptLayers(settings, self._truncate)
        if settings.get("filter"):
            self._assertions = load("assertions.instrument")

    def follow(self, schedule):
        """Before Python 3.12 one tracer sees lines: a trace passes them on to the schedule."""
        self._schedule = schedule
        if self._trace is not None and not hasattr(sys, "monitoring"):
            self._trace.pass_lines_to(schedule.delays.line)
            schedule.is_told = True

    # -- Start and end -----------------------------------------------------------------------------

    def _connect(self, config):
        if self._wire is not None:
            return
        hello = {
            "protocol": PROTOCOL,
            "agent": "pytest",
            "environment": self._environment,
            "pid": os.getpid(),
            "runner": "pytest " + pytest.__version__,
            "language": "%s %d.%d.%d" % ((_language(),) + sys.version_info[:3]),
            "root": str(config.rootpath),
        }
        if self._process is not None:
            hello["process"] = self._process
        if stack_signal():
            hello["stack_signal"] = stack_signal()
        found = load("dependencies.installed").installed(os.path.dirname(DIRECTORY)) if self._says_installed else None
        if found is not None:
            hello["installed"] = found
        self._wire = Wire(self._socket_path, hello)
        self._wire.connect()
        self._wire.close_in_forks()
        if self._dependencies is not None:
            self._dependencies.configure(config, found)
            config.pluginmanager.register(self._dependencies, "unflake-dependencies")
        if self._trace is not None:
            self._trace.configure(config)
        if self._layers is not None:
            self._layers.configure(config)
        if self._assertions is not None:
            self._assertions.install(os.path.realpath(str(config.rootpath)), cache=self._cache)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session):
        # After pytest's own faulthandler plugin, which would redirect the handlers to its file.
        with self._guard:
            self._stack_dumps.open(self._name())

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self):
        if self._wire is not None:
            with self._guard:
                self._wire.send("bye")
                self._wire.drop()
            self._wire = None

    def _note(self, text):
        self._wire.send("note", text=text)

    def _send_problem(self, kind, place, text):
        self._wire.send("problem", kind=kind, place=place, text=self._truncate(text))

    # -- Collection --------------------------------------------------------------------------------

    def pytest_deselected(self, items):
        self._deselected += len(items)

    def pytest_collectreport(self, report):
        if report.failed:
            self._collection_errors.append((report.nodeid, report.longreprtext))

    def _send_collection_errors(self):
        for nodeid, text in self._collection_errors:
            self._send_problem("collection", self._truncate(nodeid), text)
        del self._collection_errors[:]

    def _collected(self, session):
        self._session = session
        self._limits = StopLimits(session)
        self._items = ItemPool(session.items)
        self._failures = FailureDetails(session.config.rootpath, self._truncate)
        if self._dependencies is not None:
            self._dependencies.collected(session.items)
        if self._trace is not None:
            self._trace.collected()

    def _send_listing(self, items, ids=None):
        """Reports the tests. `ids`: by identity of an item, where it is not its node id."""
        batch, characters = [], 0
        for listed in list_tests(items, self._truncate, ids):
            batch.append(listed)
            characters += len(listed["id"]) + len(listed.get("file", ""))
            if len(batch) == TESTS_PER_LISTING or characters > CHARACTERS_PER_LISTING:
                self._wire.send("listed", tests=batch)
                batch, characters = [], 0
        if batch:
            self._wire.send("listed", tests=batch)

    # -- Attempts ----------------------------------------------------------------------------------

    def _retry(self, n, ended, next_item, retries):
        """Runs a test again until it passes. Why pytest wants to stop; None if it does not.

        `ended`: what the first attempt returned.
        """
        outcome, phase, interrupt = ended
        limits = self._limits.read()
        if self._session.shouldfail or self._session.shouldstop:
            next_item = None
        run = 0
        while interrupt is None and outcome in ("failed", "error") and run < retries:
            run += 1
            # Without a tear-down pytest would only repeat the cached error of the fixture. But a
            # fixture that failed again after a tear-down is not rebuilt for every further test:
            # each would wait in vain for the same service.
            is_new_error = self._repeated_setup_error is None or self._setup_error is not self._repeated_setup_error
            if phase == "set-up" and is_new_error:
                self._tear_down()
            self._limits.reset()
            outcome, phase, interrupt = self._attempt(n, run, self._items.take(n), next_item)
        if run and phase == "set-up":
            self._repeated_setup_error = self._setup_error
        if run:
            self._limits.restore(limits)  # --maxfail counts tests, not attempts.
        if interrupt is not None:
            self._stop = interrupt
            why = str(getattr(interrupt, "msg", None) or interrupt) or type(interrupt).__name__
            return {"cause": "exit", "why": self._truncate(why)}
        if self._session.shouldfail:
            self._stop = self._session.Failed(self._session.shouldfail)
        elif self._session.shouldstop:
            self._stop = self._session.Interrupted(self._session.shouldstop)
        else:
            return None
        return {"cause": "limit", "why": self._truncate(str(self._stop))}

    def _attempt(self, n, run, item, next_item):
        """Outcome, phase of the failure, and the exception that interrupted the whole run."""
        self._begin_attempt(n, run, item)
        interrupt = None
        try:
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=next_item)
        except (KeyboardInterrupt, pytest.exit.Exception) as error:
            interrupt = error
        return self._end_attempt(n, run, item, interrupt)

    def _start_event(self, n, run):
        return b'{"event":"start","n":%d,"run":%d}\n' % (n, run)

    def _begin_attempt(self, n, run, item):
        self._reports.clear()
        self._exception_names.clear()
        self._is_shared_teardown = False
        self._wire.send_lines(self._unsent + self._start_event(n, run))
        self._unsent = b""
        self._begin_instruments(item)
        self._in_runner = True
        self._began = self._clock()

    def _end_attempt(self, n, run, item, interrupt):
        seconds = self._clock() - self._began
        self._in_runner = False
        reports = self._reports
        recorded = self._end_instruments(item)
        if interrupt is not None:
            return None, None, interrupt  # How the test would have ended is unknown.
        if all_passed(reports) and not recorded:
            # Formatted by hand, because it is the frequent case.
            self._unsent = b'{"event":"done","n":%d,"run":%d,"outcome":"passed","seconds":%.6f}\n' % (n, run, seconds)
            return "passed", None, None
        outcome = outcome_of(reports)
        details = {}
        if outcome in ("failed", "error"):
            details = self._failures.of(reports, self._exception_names, self._is_shared_teardown)
        details.update(recorded)
        self._unsent = self._wire.encode("done", n=n, run=run, outcome=outcome, seconds=round(seconds, 6), **details)
        return outcome, details.get("failure", {}).get("phase"), None

    def _begin_instruments(self, item):
        if self._dependencies is not None:
            self._dependencies.begin(item)
        if self._trace is not None:
            self._trace.begin()
        if self._layers is not None:
            self._layers.begin(item)
        if self._assertions is not None:
            self._assertions.begin(item.nodeid)
        if self._sandbox is not None:
            self._sandbox.begin()

    def _end_instruments(self, item):
        """Fields of `done`: the paths of what the instruments have recorded, and where threads were delayed."""
        if self._sandbox is not None:
            self._sandbox.end()
        paths = {}
        if self._assertions is not None:
            self._assertions.end()
        if self._layers is not None:
            paths["layers"] = self._layers.end(item)
        if self._trace is not None:
            paths["trace"] = self._trace.end()
        if self._dependencies is not None:
            paths["dependencies"] = self._dependencies.end(item)
        if self._schedule is not None:
            paths["delays"] = self._schedule.points() or None
        return {name: path for name, path in paths.items() if path is not None}

    def pytest_runtest_logreport(self, report):
        try:  # Not `with`: this is called three times for every test.
            self._add_report(report)
        except Exception as error:
            self._guard.fail(error)

    def _add_report(self, report):
        if report.outcome == "rerun":
            # pytest-rerunfailures: the reports so far are of an attempt of the user's own plugin.
            del self._reports[:]
            if not self._has_noted_reruns:
                self._has_noted_reruns = True
                self._note("pytest-rerunfailures reruns failing tests itself; unflake sees only the last attempt")
        else:
            self._reports.append(report)

    def pytest_exception_interact(self, call, report):
        # Called for failures only, so a passing test does not pay for the exception's name.
        when = getattr(report, "when", None)
        if when is None or call.excinfo is None:
            return
        with self._guard:
            if is_of_agent(call.excinfo.value, call.excinfo.tb):
                self._guard.fail(call.excinfo.value, True)
            self._exception_names[when] = call.excinfo.typename
            if when == "setup":
                self._setup_error = call.excinfo.value
            if when == "teardown" and is_shared_teardown(call.excinfo.value):
                self._is_shared_teardown = True

    def _tear_down(self, next_item=None):
        """Tears down what `next_item` does not need; without one, everything."""
        state = self._session._setupstate
        stack = list(state.stack)
        try:
            if hasattr(state, "prepare"):  # pytest 6.2
                state.teardown_exact(None, next_item)
            else:
                state.teardown_exact(next_item)
        except (Exception, pytest.fail.Exception, pytest.skip.Exception, pytest.exit.Exception, KeyboardInterrupt) as error:
            self._note(self._truncate("a tear-down failed: " + describe(error)))
        for node in stack:
            if node not in state.stack:
                node.__dict__.pop("_prepare_exc", None)  # pytest 6.2 keeps set-up errors on nodes.


def _language():
    return {"cpython": "CPython", "pypy": "PyPy"}.get(sys.implementation.name, sys.implementation.name)


def describe(error):
    try:
        return str(error) or type(error).__name__
    except Exception:
        return type(error).__name__
