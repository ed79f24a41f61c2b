"""The agent itself: what it hears from pytest, and the orders it obeys. PYTEST_DONT_REWRITE"""

import json
import os
import sys
import time
import traceback

import pytest

from .. import bring
from .copies import flush, own_output
from .forks import Forker
from .items import Items, listing
from .reports import Shortener, Sources, Teller, is_shared_tear_down, outcome_of, passed, warm_up
from .stack_dumps import Stacks, free_signal
from .temporary import make_base_temp, spared, unlock
from .wire import PROTOCOL, Wire

LISTED_AT_ONCE = 200
LISTED_CHARACTERS = 200_000
# A line may have 4 MiB; it has up to four texts, and JSON may need six bytes for a character.
MOST_CHARACTERS = 160_000
# Options with which pytest and common plugins are told to write a report. A process that exists to be forked writes none.
REPORT_OPTIONS = "xmlpath", "report_log", "resultlog", "htmlpath", "allure_report_dir", "json_report", "csv_path", "pastebin"
# A nursery has the files of failing tests only. With more than this it has the whole suite, and reads none of them ahead.
MOST_FILES = 16

STATE_ORDERS = "remember", "compare", "restore", "watch"
ASSERTION_ORDERS = "sites", "filter"
RUNS_NOTHING = {"collectonly": "--collect-only", "setupplan": "--setup-plan", "setuponly": "--setup-only"}


class Agent:
    def __init__(self, told):
        self._environment = int(told.get("environment", 0))
        self._writes_reports = told.get("reports", "yes") != "no"
        self._is_copy = False
        self._text = Shortener(min(int(told.get("output_limit", 65536)), MOST_CHARACTERS))
        self._socket_path = told["socket"]
        self._side = told.get("side")
        self._only, self._cache = told.get("only"), told.get("cache")
        self._dependencies = None
        if told.get("dependencies") and self._side:
            self._dependencies = bring("dependencies.plugin").Dependencies(told["dependencies"], self._side)
        self._tracing = None
        if told.get("traced") and self._side:
            self._tracing = bring("trace.attempt_trace").Tracing(told, lambda text: self._wire.tell("note", text=text))
        self._world = None
        if "under" in told:
            self._world = bring("core.sandbox").world(told)
        self._layers = None
        if told.get("layers") and self._side:
            self._layers = bring("layers.attempt_layers").Layers(told, self._text)
        self._assertions = bring("assertions.instrument") if told.get("filter") and self._side else None
        self._stacks = Stacks(self._side)
        self._forker = Forker()
        self._clock = time.perf_counter
        self._exit = os._exit
        self._traceback = traceback.format_exc
        self._wire = None
        self._problems = []
        self._deselected = 0
        # Of the attempt that is going on:
        self._reports = []
        self._kinds = {}
        self._unsent = b""
        # What would have ended the run if pytest had been alone; it does at `end` if no other order comes first.
        self._ending = None
        self._noted_reruns = False
        self._sources = Sources()
        self._state = None  # What tests leave behind, from the first order about it on.
        self._unread = None  # Files of tests that copies may have to show, before the first copy is made.
        # Why a set-up failed last, and why it failed again after everything had been torn down for it.
        self._set_up_error = None
        self._failed_again = None

    # -- Coming in ----------------------------------------------------------------------------------------------------

    def _connect(self, config):
        if self._wire is None:
            hello = {
                "protocol": PROTOCOL,
                "agent": "pytest",
                "environment": self._environment,
                "pid": os.getpid(),
                "runner": "pytest " + pytest.__version__,
                "language": "%s %d.%d.%d" % ((_language(),) + sys.version_info[:3]),
                "root": str(config.rootpath),
            }
            if free_signal():
                hello["stack_signal"] = free_signal()
            self._wire = Wire(self._socket_path, hello)
            self._wire.connect()
            if self._dependencies is not None:
                self._dependencies.configure(config)
                config.pluginmanager.register(self._dependencies, "unflake-dependencies")
            if self._tracing is not None:
                self._tracing.configure(config)
            if self._layers is not None:
                self._layers.configure(config)
            if self._assertions is not None:
                self._assertions.install(os.path.realpath(str(config.rootpath)), cache=self._cache)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config):
        self._connect(early_config)
        if not self._writes_reports:
            known = early_config.known_args_namespace
            if hasattr(known, "cov_source"):
                known.cov_source, known.no_cov = [], True
        outcome = yield
        if outcome.excinfo is not None:
            self._problem("usage", None, _words(outcome.excinfo[1]))

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config):
        option = config.option
        self._connect(config)
        if getattr(option, "looponfail", False):
            self._problem("usage", None, "--looponfail runs tests for ever; unflake cannot be used with it")
            return pytest.ExitCode.USAGE_ERROR
        workers, dist = getattr(option, "numprocesses", None), getattr(option, "dist", "no")
        if workers or dist != "no" or getattr(option, "tx", None):
            option.numprocesses, option.dist, option.tx = None, "no", []
            asked = "-n %s" % workers if workers else "--dist %s" % dist
            self._wire.tell(
                "note",
                text="%s is not used: the first pass keeps one process and your order; "
                "unflake runs fresh environments in parallel with --jobs" % asked,
            )
        for name, asked in (("usepdb", "--pdb"), ("trace", "--trace")):
            if getattr(option, name, False):
                setattr(option, name, False)
                self._wire.tell("note", text="%s is not used: there is nobody at the keyboard of a test here" % asked)
        if not self._writes_reports:
            for name in REPORT_OPTIONS:
                if getattr(option, name, None):
                    setattr(option, name, None)
            if self._side and hasattr(option, "basetemp"):
                option.basetemp = os.path.join(self._side, "tmp-%d" % self._environment)
        if self._only:
            # The command line has led to its configuration already; only what is collected becomes less.
            with open(self._only, encoding="utf-8") as files:
                config.args = json.load(files)
        return None

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session):
        # After pytest's own faulthandler plugin, which would otherwise take the handlers for its file.
        self._stacks.open(self._environment)

    # -- Collection ---------------------------------------------------------------------------------------------------

    def pytest_deselected(self, items):
        self._deselected += len(items)

    def pytest_collectreport(self, report):
        if report.failed:
            self._problems.append((report.nodeid, report.longreprtext))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection(self, session):
        outcome = yield
        if outcome.excinfo is None:
            return
        error = outcome.excinfo[1]
        if isinstance(error, pytest.UsageError):
            self._problem("usage", None, _words(error))
        elif isinstance(error, (KeyboardInterrupt, pytest.exit.Exception, session.Failed)):
            self._tell_collection_problems()
            self._problem("collection", None, _words(error))
        else:
            return  # pytest calls it an internal error, and us below.
        if not self._writes_reports:
            self._leave(session.config)

    def pytest_internalerror(self, excrepr):
        if self._wire is not None:
            self._problem("internal", None, str(excrepr))
            if not self._writes_reports:
                self._exit(3)

    def _problem(self, kind, place, text):
        self._wire.tell("problem", kind=kind, place=place, text=self._text(text))

    def _tell_collection_problems(self):
        for nodeid, text in self._problems:
            self._problem("collection", self._text(nodeid), text)
        del self._problems[:]

    # -- The loop -----------------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        option = session.config.option
        self._tell_collection_problems()
        if session.testsfailed and not option.continue_on_collection_errors:
            if not self._writes_reports:
                self._leave(session.config)
            errors = session.testsfailed
            raise session.Interrupted("%d error%s during collection" % (errors, "s" if errors != 1 else ""))
        for name, asked in RUNS_NOTHING.items():
            if getattr(option, name, False):
                self._problem("usage", None, "%s runs no tests" % asked)
                return True
        self._session = session
        self._limits = Limits(session)
        self._items = Items(session.items)
        self._teller = Teller(session.config.rootpath, self._text)
        self._list(session.items)
        if self._dependencies is not None:
            self._dependencies.collected(session.items)
        if self._tracing is not None:
            self._tracing.collected()
        self._wire.tell(
            "ready", tests=len(session.items), deselected=self._deselected, unforkable=self._forker.obstacle()
        )
        try:
            while self._obey(self._wire.next_order()):
                pass
        except KeyboardInterrupt as interrupt:
            self._ending = interrupt
            self._tear_down()
        except BaseException:
            if self._writes_reports:
                raise
            # Not through pytest, which would write its reports now.
            self._problem("internal", None, self._traceback())
            self._exit(3)
        if not self._writes_reports:
            self._leave(session.config)
        if self._ending is not None:
            raise self._ending
        return True

    def _list(self, items):
        batch, characters = [], 0
        for listed in listing(items, self._text):
            batch.append(listed)
            characters += len(listed["id"]) + len(listed.get("file", ""))
            if len(batch) == LISTED_AT_ONCE or characters > LISTED_CHARACTERS:
                self._wire.tell("listed", tests=batch)
                batch, characters = [], 0
        if batch:
            self._wire.tell("listed", tests=batch)

    def _obey(self, order):
        """Carries out one order; whether to wait for another."""
        kind = order.get("order")
        if kind == "run":
            self._run(order["tests"], order["again"], order.get("hold", False))
        elif kind in STATE_ORDERS:
            self._obey_about_state(order)
        elif kind in ASSERTION_ORDERS and self._assertions is not None:
            self._obey_about_assertions(order)
        elif kind == "fork":
            self._fork(order["environment"])
        elif kind == "reap":
            self._wire.tell("reaped", environment=order["environment"], **self._forker.reap(order["environment"]))
        elif kind == "end":
            if order.get("failed") is not None:
                self._session.testsfailed = order["failed"]
                if not order["failed"] and isinstance(self._ending, self._session.Failed):
                    self._ending = None  # The failures for which pytest wanted to stop do not count any more.
            if not self._is_copy:
                self._tear_down()  # Copies leave as they are.
            return False
        else:
            self._problem("internal", None, "the agent does not know the order %r" % (kind,))
        return True

    def _obey_about_state(self, order):
        if self._state is None:
            config = self._session.config
            make_base_temp(config)
            self._state = bring("state.snapshot").State(self._session, self._side, self._own_descriptors, spared(config))
        answer = self._state.obey(order)
        if answer is not None:
            self._wire.tell(answer[0], **answer[1])

    def _obey_about_assertions(self, order):
        try:
            if order["order"] == "sites":
                path = "%s/sites-%d-%d" % (self._side, self._environment, os.getpid())
                self._assertions.tell_sites(path)
                self._wire.tell("sites", path=path)
            else:
                self._assertions.let_fail(order["path"])
                self._wire.tell("filtering")
        except (OSError, ValueError, TypeError, LookupError) as error:
            self._problem("internal", None, "the order %r cannot be carried out: %s" % (order["order"], _words(error)))

    def _own_descriptors(self):
        return self._wire.descriptors() | self._stacks.descriptors()

    # -- Running ------------------------------------------------------------------------------------------------------

    def _run(self, numbers, again, hold):
        self._ending = None
        self._limits.lift()
        self._stacks.keep()
        unknown = [n for n in numbers if not 0 <= n < len(self._items)]
        if unknown:
            self._problem("internal", None, "there is no test number %s" % unknown[0])
            numbers = []
        following = self._items.take(numbers[0]) if numbers else None
        if following is not None:
            self._tear_down(following)  # What an order that held has left standing.
        for place, n in enumerate(numbers, 1):
            item = following
            # Taken before the test runs: a test that follows itself has to be another item already.
            # So what its neighbour shares is left standing if the last one is followed by itself.
            after = numbers[place] if place < len(numbers) else n if hold else None
            following = self._items.take(after) if after is not None else None
            stopped = self._run_until_passed(n, item, following, again)
            self._items.put_back(n)
            if stopped is not None:
                self._unsent += self._wire.line("stopped", **stopped)
                self._tear_down()
                break
        if self._state is not None:
            for written in self._state.written():
                self._unsent += self._wire.line("written", **written)
        self._wire.send(self._unsent + b'{"event":"idle"}\n')
        self._unsent = b""
        self._set_up_error = self._failed_again = None

    def _run_until_passed(self, n, item, following, again):
        """Runs a test, and as distinct items at most `again` times more; why to stop, if pytest wants to stop."""
        outcome, phase, cut = self._attempt(n, 0, item, following)
        first = self._limits.read()
        if self._session.shouldfail or self._session.shouldstop:
            following = None
        run = 0
        while cut is None and outcome in ("failed", "error") and run < again:
            run += 1
            # Otherwise the fixture that failed would only be told to have failed. Where pytest has told just that, of a
            # fixture that was built anew for another test already and failed again, once more would be once too often:
            # a service that is waited for in vain would be waited for by every test.
            if phase == "set-up" and (self._failed_again is None or self._set_up_error is not self._failed_again):
                self._tear_down()
            self._limits.lift()
            outcome, phase, cut = self._attempt(n, run, self._items.take(n), following)
        if run and phase == "set-up":
            self._failed_again = self._set_up_error
        if run:
            self._limits.write(first)  # They count tests, not attempts.
        if cut is not None:
            self._ending = cut
            return {"cause": "exit", "why": self._text(str(getattr(cut, "msg", None) or cut) or type(cut).__name__)}
        if self._session.shouldfail:
            self._ending = self._session.Failed(self._session.shouldfail)
        elif self._session.shouldstop:
            self._ending = self._session.Interrupted(self._session.shouldstop)
        else:
            return None
        return {"cause": "limit", "why": self._text(str(self._ending))}

    def _attempt(self, n, run, item, following):
        """Outcome and phase of the failure if any; or else the exception that cut the whole run short."""
        reports, cut = self._reports, None
        reports.clear()
        self._kinds.clear()
        self._wire.send(self._unsent + b'{"event":"start","n":%d,"run":%d}\n' % (n, run))
        self._unsent = b""
        if self._dependencies is not None:
            self._dependencies.begin(item)
        if self._tracing is not None:
            self._tracing.begin()
        if self._layers is not None:
            self._layers.begin(item)
        if self._assertions is not None:
            self._assertions.begin(item.nodeid)
        if self._world is not None:
            self._world.begin()
        begin = self._clock()
        try:
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        except (KeyboardInterrupt, pytest.exit.Exception) as error:
            cut = error
        seconds = self._clock() - begin
        if self._world is not None:
            self._world.end()
        beside = self._end_instruments(item)
        if cut is None and passed(reports) and not beside:
            # By hand, because it is the frequent case. Sent with the next line, to save a write.
            self._unsent = b'{"event":"done","n":%d,"run":%d,"outcome":"passed","seconds":%.6f}\n' % (n, run, seconds)
            return "passed", None, None
        if cut is not None:
            return None, None, cut  # Nobody knows how it would have ended.
        outcome = outcome_of(reports)
        details = self._teller.details(reports, self._kinds) if outcome in ("failed", "error") else {}
        details.update(beside)
        self._unsent = self._wire.line("done", n=n, run=run, outcome=outcome, seconds=round(seconds, 6), **details)
        return outcome, details.get("failure", {}).get("phase"), cut

    def _end_instruments(self, item):
        """What `done` tells of the attempt beside its outcome."""
        told = {}
        if self._assertions is not None:
            self._assertions.end()
        if self._layers is not None:
            told["layers"] = self._layers.end(item)
        if self._tracing is not None:
            told["trace"] = self._tracing.end()
        if self._dependencies is not None:
            told["dependencies"] = self._dependencies.end(item)
        return {name: path for name, path in told.items() if path is not None}

    def pytest_runtest_logreport(self, report):
        if report.outcome == "rerun":
            # pytest-rerunfailures: what came before was an attempt of the user's own plugin.
            del self._reports[:]
            if not self._noted_reruns:
                self._noted_reruns = True
                self._wire.tell(
                    "note", text="pytest-rerunfailures runs failing tests again by itself; unflake sees only the last time"
                )
        else:
            self._reports.append(report)

    def pytest_exception_interact(self, call, report):
        # Called for failures only, so a passing test does not pay for knowing the exception's name.
        when = getattr(report, "when", None)
        if when is not None and call.excinfo is not None:
            self._kinds[when] = call.excinfo.typename
            if when == "setup":
                self._set_up_error = call.excinfo.value
            if when == "teardown" and is_shared_tear_down(call.excinfo.value):
                self._kinds["shared"] = True

    def _tear_down(self, following=None):
        """Tears down what `following` does not need: without one, all that stands."""
        state = self._session._setupstate
        stack = list(state.stack)
        try:
            if hasattr(state, "prepare"):  # pytest 6.2
                state.teardown_exact(None, following)
            else:
                state.teardown_exact(following)
        except (Exception, pytest.fail.Exception, pytest.skip.Exception, pytest.exit.Exception, KeyboardInterrupt) as error:
            self._wire.tell("note", text=self._text("a tear-down failed: " + _words(error)))
        for node in stack:
            if node not in state.stack:
                node.__dict__.pop("_prepare_exc", None)  # pytest 6.2 keeps the failure of a set-up on its node.

    # -- Copies and the end -------------------------------------------------------------------------------------------

    def _fork(self, environment):
        why = self._forker.obstacle()
        config = self._session.config
        if why is None:
            make_base_temp(config)
            flush(config)
            self._prepare_for_failures()
            if self._state is not None:
                self._state.before_fork()
            try:
                pid = self._forker.fork(environment)
            except OSError as error:
                why = "the system refuses: %s" % error
        if why is not None:
            self._wire.tell("unforkable", environment=environment, why=self._text(why))
        elif pid:
            self._wire.tell("forked", environment=environment, pid=pid)
        else:
            parent, self._environment = self._environment, environment
            self._is_copy, self._writes_reports = True, False
            self._wire.connect(environment=environment, parent=parent)
            self._stacks.open(environment)
            own_output(config)
            if self._state is not None:
                self._state.in_child()

    def _prepare_for_failures(self):
        """What copies would each do again when a test fails is done here, one file a copy from the second copy on: it
        costs no more than it could save. A process that has collected everything is left alone."""
        if self._unread is None:
            files = _files(self._session.items)
            self._unread = [] if self._writes_reports or len(files) > MOST_FILES else files
            warm_up()
        elif self._unread:
            self._sources.learn(self._unread.pop(0))

    def _leave(self, config):
        """Ends a process that writes no reports."""
        if self._is_copy:
            self._wire.tell("bye")
        else:
            try:
                config._ensure_unconfigure()  # What plugins opened is closed; it also says bye.
            except BaseException:
                pass
            unlock(config)
        flush(config)
        self._exit(0)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self):
        if self._wire is not None:
            self._wire.tell("bye")
            self._wire.drop()
            self._wire = None


class Limits:
    """What pytest counts towards --maxfail and what it wants to stop for."""

    def __init__(self, session):
        self._session = session
        # From pytest 8 on the public names cannot be unset.
        self._fail = "_shouldfail" if hasattr(session, "_shouldfail") else "shouldfail"
        self._stop = "_shouldstop" if hasattr(session, "_shouldstop") else "shouldstop"

    def read(self):
        return self._session.testsfailed, self._session.shouldfail, self._session.shouldstop

    def write(self, limits):
        """Puts counts back as they were; a wish to stop that came since then stays."""
        self._session.testsfailed = limits[0]
        setattr(self._session, self._fail, limits[1])
        setattr(self._session, self._stop, limits[2] or self._session.shouldstop)

    def lift(self):
        setattr(self._session, self._fail, False)
        setattr(self._session, self._stop, False)


def _language():
    return {"cpython": "CPython", "pypy": "PyPy"}.get(sys.implementation.name, sys.implementation.name)


def _words(error):
    try:
        return str(error) or type(error).__name__
    except Exception:
        return type(error).__name__


def _files(items):
    try:
        return list(dict.fromkeys(str(getattr(item, "path", None) or item.fspath) for item in items))
    except Exception:
        return []
