"""The agent as a pytest plugin: connects, lists the tests, then executes orders until `end`.

It decides nothing: unflake says which tests run, in which order, and when the process forks.
"""

import json
import os
import sys
import time
import traceback

import pytest

from .. import load
from .fork_preparation import (
    SourceCache,
    flush_output,
    make_base_temp,
    pytest_directories,
    separate_output,
    unlock_base_temp,
    warm_up_tracebacks,
)
from .forks import Forker
from .guard import AgentGuard, is_of_agent
from .items import ItemPool, list_tests, node_path
from .reports import FailureDetails, Truncator, all_passed, is_shared_teardown, outcome_of
from .stack_dumps import StackDumps, stack_signal
from .wire import PROTOCOL, Wire

TESTS_PER_LISTING = 200
CHARACTERS_PER_LISTING = 200_000
# A line may have 4 MiB; it has up to four texts, and JSON may need six bytes for a character.
MAX_CHARACTERS = 160_000
# Options that make pytest and common plugins write reports. A fork server must not write any.
REPORT_OPTIONS = "xmlpath", "report_log", "resultlog", "htmlpath", "allure_report_dir", "json_report", "csv_path", "pastebin"
# A fork server usually has the files of failing tests only. With more it has the whole suite, and
# parses none of them ahead.
MAX_PARSED_FILES = 16

STATE_ORDERS = "remember", "compare", "restore", "watch"
ASSERTION_ORDERS = "sites", "filter"
OPTIONS_WITHOUT_RUN = {"collectonly": "--collect-only", "setupplan": "--setup-plan", "setuponly": "--setup-only"}


class Agent:
    def __init__(self, settings):
        self._environment = int(settings.get("environment", 0))
        self._writes_reports = settings.get("reports", "yes") != "no"
        self._is_fork = False
        self._truncate = Truncator(min(int(settings.get("output_limit", 65536)), MAX_CHARACTERS))
        self._socket_path = settings["socket"]
        self._side = settings.get("side")
        self._guard = AgentGuard(self._side, self._environment)
        self._in_runner = False  # Whether pytest runs a test, so that an exception is not the agent's.
        self._only, self._cache = settings.get("only"), settings.get("cache")
        self._load_instruments(settings)
        self._stack_dumps = StackDumps(self._side)
        self._forker = Forker()
        self._clock = time.perf_counter
        self._exit = os._exit
        self._format_exc = traceback.format_exc
        self._wire = None
        self._collection_errors = []
        self._deselected = 0
        # Of the current attempt:
        self._reports = []
        self._exception_names, self._is_shared_teardown = {}, False
        # Encoded events that are sent with the next ones, which saves a write.
        self._unsent = b""
        # The exception with which pytest would have stopped. Raised at `end`, unless another
        # `run` comes first.
        self._stop = None
        self._has_noted_reruns = False
        self._source_cache = SourceCache()
        self._state = None  # From the first state order on.
        self._unparsed_files = None  # From the first fork on.
        # The last error in set-up, and the one that came again after everything was torn down.
        self._setup_error = None
        self._repeated_setup_error = None

    def _load_instruments(self, settings):
        self._dependencies = self._trace = self._layers = self._assertions = self._sandbox = None
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

    # -- Start -------------------------------------------------------------------------------------

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
        if stack_signal():
            hello["stack_signal"] = stack_signal()
        self._wire = Wire(self._socket_path, hello)
        self._wire.connect()
        self._wire.close_in_forks()
        if self._dependencies is not None:
            self._dependencies.configure(config)
            config.pluginmanager.register(self._dependencies, "unflake-dependencies")
        if self._trace is not None:
            self._trace.configure(config)
        if self._layers is not None:
            self._layers.configure(config)
        if self._assertions is not None:
            self._assertions.install(os.path.realpath(str(config.rootpath)), cache=self._cache)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config):
        with self._guard:
            self._connect(early_config)
        if not self._writes_reports:
            known = early_config.known_args_namespace
            if hasattr(known, "cov_source"):
                known.cov_source, known.no_cov = [], True
        outcome = yield
        if outcome.excinfo is not None:
            self._send_problem("usage", None, _describe(outcome.excinfo[1]))

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config):
        option = config.option
        self._connect(config)
        if getattr(option, "looponfail", False):
            self._send_problem("usage", None, "--looponfail runs tests for ever; unflake cannot be used with it")
            return pytest.ExitCode.USAGE_ERROR
        workers, dist = getattr(option, "numprocesses", None), getattr(option, "dist", "no")
        if workers or dist != "no" or getattr(option, "tx", None):
            option.numprocesses, option.dist, option.tx = None, "no", []
            asked = "-n %s" % workers if workers else "--dist %s" % dist
            self._note(
                "%s is not used: the first pass keeps one process and your order; "
                "unflake runs fresh environments in parallel with --jobs" % asked,
            )
        for name, asked in (("usepdb", "--pdb"), ("trace", "--trace")):
            if getattr(option, name, False):
                setattr(option, name, False)
                self._note("%s is not used: there is nobody at the keyboard of a test here" % asked)
        if not self._writes_reports:
            for name in REPORT_OPTIONS:
                if getattr(option, name, None):
                    setattr(option, name, None)
            if self._side and hasattr(option, "basetemp"):
                option.basetemp = os.path.join(self._side, "tmp-%d" % self._environment)
        if self._only:
            # The configuration follows from the whole command line; only the collection is smaller.
            with open(self._only, encoding="utf-8") as files:
                config.args = json.load(files)
        return None

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session):
        # After pytest's own faulthandler plugin, which would redirect the handlers to its file.
        with self._guard:
            self._stack_dumps.open(self._environment)

    # -- Collection --------------------------------------------------------------------------------

    def pytest_deselected(self, items):
        self._deselected += len(items)

    def pytest_collectreport(self, report):
        if report.failed:
            self._collection_errors.append((report.nodeid, report.longreprtext))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection(self, session):
        outcome = yield
        if outcome.excinfo is None:
            return
        error = outcome.excinfo[1]
        if isinstance(error, pytest.UsageError):
            self._send_problem("usage", None, _describe(error))
        elif isinstance(error, (KeyboardInterrupt, pytest.exit.Exception, session.Failed)):
            self._send_collection_errors()
            self._send_problem("collection", None, _describe(error))
        else:
            return  # pytest reports an internal error, through the hook below.
        if not self._writes_reports:
            self._exit_without_reports(session.config)

    def pytest_internalerror(self, excrepr):
        if self._wire is not None:
            self._send_problem("internal", None, str(excrepr))
            if not self._writes_reports:
                self._exit(3)

    def _note(self, text):
        self._wire.send("note", text=text)

    def _send_problem(self, kind, place, text):
        self._wire.send("problem", kind=kind, place=place, text=self._truncate(text))

    def _send_collection_errors(self):
        for nodeid, text in self._collection_errors:
            self._send_problem("collection", self._truncate(nodeid), text)
        del self._collection_errors[:]

    # -- Orders ------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        option = session.config.option
        self._send_collection_errors()
        if session.testsfailed and not option.continue_on_collection_errors:
            if not self._writes_reports:
                self._exit_without_reports(session.config)
            errors = session.testsfailed
            raise session.Interrupted("%d error%s during collection" % (errors, "s" if errors != 1 else ""))
        for name, asked in OPTIONS_WITHOUT_RUN.items():
            if getattr(option, name, False):
                self._send_problem("usage", None, "%s runs no tests" % asked)
                return True
        with self._guard:
            self._collected(session)
        try:
            while self._execute(self._wire.next_order()):
                pass
        except KeyboardInterrupt as interrupt:
            self._stop = interrupt
            self._tear_down()
        except BaseException as error:
            if not self._in_runner:
                self._guard.fail(error)
            if self._writes_reports:
                raise
            # Past pytest, which would write its reports now.
            self._send_problem("internal", None, self._format_exc())
            self._exit(3)
        if not self._writes_reports:
            self._exit_without_reports(session.config)
        if self._stop is not None:
            raise self._stop
        return True

    def _collected(self, session):
        self._session = session
        self._limits = StopLimits(session)
        self._items = ItemPool(session.items)
        self._failures = FailureDetails(session.config.rootpath, self._truncate)
        self._send_listing(session.items)
        if self._dependencies is not None:
            self._dependencies.collected(session.items)
        if self._trace is not None:
            self._trace.collected()
        self._wire.send(
            "ready", tests=len(session.items), deselected=self._deselected, unforkable=self._forker.obstacle()
        )

    def _send_listing(self, items):
        batch, characters = [], 0
        for listed in list_tests(items, self._truncate):
            batch.append(listed)
            characters += len(listed["id"]) + len(listed.get("file", ""))
            if len(batch) == TESTS_PER_LISTING or characters > CHARACTERS_PER_LISTING:
                self._wire.send("listed", tests=batch)
                batch, characters = [], 0
        if batch:
            self._wire.send("listed", tests=batch)

    def _execute(self, order):
        """Executes one order. Whether more are to come."""
        kind = order.get("order")
        if kind == "run":
            self._run(order["tests"], order["again"], order.get("hold", False))
        elif kind in STATE_ORDERS:
            self._execute_state_order(order)
        elif kind in ASSERTION_ORDERS and self._assertions is not None:
            self._execute_assertion_order(order)
        elif kind == "fork":
            self._fork(order["environment"])
        elif kind == "reap":
            self._wire.send("reaped", environment=order["environment"], **self._forker.reap(order["environment"]))
        elif kind == "end":
            if order.get("failed") is not None:
                self._session.testsfailed = order["failed"]
                if not order["failed"] and isinstance(self._stop, self._session.Failed):
                    self._stop = None  # The failures for which pytest wanted to stop do not count.
            if not self._is_fork:
                self._tear_down()
            return False
        else:
            self._send_problem("internal", None, "the agent does not know the order %r" % (kind,))
        return True

    def _execute_state_order(self, order):
        if self._state is None:
            config = self._session.config
            make_base_temp(config)
            snapshot, ignored = load("state.snapshot"), pytest_directories(config)
            self._state = snapshot.StateSnapshot(self._session, self._side, self._own_descriptors, ignored)
        answer = self._state.execute(order)
        if answer is not None:
            self._wire.send(answer[0], **answer[1])

    def _execute_assertion_order(self, order):
        try:
            if order["order"] == "sites":
                path = "%s/sites-%d-%d" % (self._side, self._environment, os.getpid())
                self._assertions.write_sites(path)
                self._wire.send("sites", path=path)
            else:
                self._assertions.set_filter(order["path"])
                self._wire.send("filtering")
        except (OSError, ValueError, TypeError, LookupError) as error:
            text = "the order %r cannot be carried out: %s" % (order["order"], _describe(error))
            self._send_problem("internal", None, text)

    def _own_descriptors(self):
        return self._wire.descriptors() | self._stack_dumps.descriptors()

    # -- Runs --------------------------------------------------------------------------------------

    def _run(self, numbers, retries, hold):
        self._stop = None
        self._limits.reset()
        self._stack_dumps.refresh()
        unknown = [n for n in numbers if not 0 <= n < len(self._items)]
        if unknown:
            self._send_problem("internal", None, "there is no test number %s" % unknown[0])
            numbers = []
        next_item = self._items.take(numbers[0]) if numbers else None
        if next_item is not None:
            self._tear_down(next_item)  # Fixtures that a `run` with `hold` has left set up.
        for position, n in enumerate(numbers, 1):
            item = next_item
            # Taken before the test runs: a test that follows itself must be another item already.
            # With `hold` the last test is followed by itself, which keeps shared fixtures set up.
            following = numbers[position] if position < len(numbers) else n if hold else None
            next_item = self._items.take(following) if following is not None else None
            stopped = self._run_with_retries(n, item, next_item, retries)
            self._items.release(n)
            if stopped is not None:
                self._unsent += self._wire.encode("stopped", **stopped)
                self._tear_down()
                break
        if self._state is not None:
            for written in self._state.stop_watch():
                self._unsent += self._wire.encode("written", **written)
        self._wire.send_lines(self._unsent + b'{"event":"idle"}\n')
        self._unsent = b""
        self._setup_error = self._repeated_setup_error = None

    def _run_with_retries(self, n, item, next_item, retries):
        """Runs a test, again until it passes. Why pytest wants to stop; None if it does not."""
        outcome, phase, interrupt = self._attempt(n, 0, item, next_item)
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
        reports, interrupt = self._reports, None
        reports.clear()
        self._exception_names.clear()
        self._is_shared_teardown = False
        self._wire.send_lines(self._unsent + b'{"event":"start","n":%d,"run":%d}\n' % (n, run))
        self._unsent = b""
        self._begin_instruments(item)
        begin = self._clock()
        self._in_runner = True
        try:
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=next_item)
        except (KeyboardInterrupt, pytest.exit.Exception) as error:
            interrupt = error
        self._in_runner = False
        seconds = self._clock() - begin
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
        """Fields of `done`: the paths of what the instruments have recorded."""
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
        return {name: path for name, path in paths.items() if path is not None}

    def pytest_runtest_logreport(self, report):
        with self._guard:
            self._add_report(report)

    def _add_report(self, report):
        if report.outcome == "rerun":
            # pytest-rerunfailures: the reports so far are of an attempt of the user's own plugin.
            del self._reports[:]
            if not self._has_noted_reruns:
                self._has_noted_reruns = True
                self._note("pytest-rerunfailures runs failing tests again by itself; unflake sees only the last time")
        else:
            self._reports.append(report)

    def pytest_exception_interact(self, call, report):
        # Called for failures only, so a passing test does not pay for the exception's name.
        when = getattr(report, "when", None)
        if when is None or call.excinfo is None:
            return
        with self._guard:
            if is_of_agent(call.excinfo.value, call.excinfo.tb):
                self._guard.fail(call.excinfo.value)
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
            self._note(self._truncate("a tear-down failed: " + _describe(error)))
        for node in stack:
            if node not in state.stack:
                node.__dict__.pop("_prepare_exc", None)  # pytest 6.2 keeps set-up errors on nodes.

    # -- Forks and exit ----------------------------------------------------------------------------

    def _fork(self, environment):
        why = self._forker.obstacle()
        config = self._session.config
        if why is None:
            make_base_temp(config)
            flush_output(config)
            self._prepare_tracebacks()
            if self._state is not None:
                self._state.before_fork()
            try:
                pid = self._forker.fork(environment)
            except OSError as error:
                why = "the system refuses: %s" % error
        if why is not None:
            self._wire.send("unforkable", environment=environment, why=self._truncate(why))
        elif pid:
            self._wire.send("forked", environment=environment, pid=pid)
        else:
            parent, self._environment = self._environment, environment
            self._guard.enter_environment(environment)
            self._is_fork, self._writes_reports = True, False
            self._wire.connect(environment=environment, parent=parent)
            self._stack_dumps.open(environment)
            separate_output(config)
            if self._state is not None:
                self._state.after_fork_in_child()

    def _prepare_tracebacks(self):
        """Does what every child would do for its first failure: one file per fork after the first.

        Spread like this it never costs more than it can save.
        """
        if self._unparsed_files is None:
            files = _files(self._session.items)
            self._unparsed_files = [] if self._writes_reports or len(files) > MAX_PARSED_FILES else files
            warm_up_tracebacks()
        elif self._unparsed_files:
            self._source_cache.add(self._unparsed_files.pop(0))

    def _exit_without_reports(self, config):
        if self._is_fork:
            self._wire.send("bye")
        else:
            try:
                config._ensure_unconfigure()  # Closes what plugins opened; sends `bye` too.
            except BaseException:
                pass
            unlock_base_temp(config)
        flush_output(config)
        self._exit(0)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self):
        if self._wire is not None:
            with self._guard:
                self._wire.send("bye")
                self._wire.drop()
            self._wire = None


class StopLimits:
    """What pytest counts towards --maxfail, and its requests to stop."""

    def __init__(self, session):
        self._session = session
        # From pytest 8 on the public names cannot be unset.
        self._fail = "_shouldfail" if hasattr(session, "_shouldfail") else "shouldfail"
        self._stop = "_shouldstop" if hasattr(session, "_shouldstop") else "shouldstop"

    def read(self):
        return self._session.testsfailed, self._session.shouldfail, self._session.shouldstop

    def restore(self, limits):
        """Restores counts; a request to stop that came since then stays."""
        self._session.testsfailed = limits[0]
        setattr(self._session, self._fail, limits[1])
        setattr(self._session, self._stop, limits[2] or self._session.shouldstop)

    def reset(self):
        setattr(self._session, self._fail, False)
        setattr(self._session, self._stop, False)


def _language():
    return {"cpython": "CPython", "pypy": "PyPy"}.get(sys.implementation.name, sys.implementation.name)


def _describe(error):
    try:
        return str(error) or type(error).__name__
    except Exception:
        return type(error).__name__


def _files(items):
    try:
        return list(dict.fromkeys(map(node_path, items)))
    except Exception:
        return []
