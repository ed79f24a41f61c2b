"""The agent as a pytest plugin: connects, lists the tests, then executes orders until `end`.

It decides nothing: unflake says which tests run, in which order, and when the process forks.
"""

import json
import os

import pytest

from .. import load
from ..common.boundary import is_of_agent
from .attempts import AttemptPlugin, describe
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
from .forwarded_reports import ReportForwarder, replay_reports, why_one_process
from .items import node_path
from .private_world import PrivateWorld
from .random_state import set_seed
from .written_files import WrittenFiles

# Options that make pytest and common plugins write reports. A fork server must not write any.
REPORT_OPTIONS = "xmlpath", "report_log", "resultlog", "htmlpath", "allure_report_dir", "json_report", "csv_path", "pastebin"
# A fork server usually has the files of failing tests only. With more it has the whole suite, and
# parses none of them ahead.
MAX_PARSED_FILES = 16

STATE_ORDERS = "remember", "compare", "restore", "watch"
ASSERTION_ORDERS = "sites", "filter"
OPTIONS_WITHOUT_RUN = {"collectonly": "--collect-only", "setupplan": "--setup-plan", "setuponly": "--setup-only"}


class Agent(AttemptPlugin):
    def __init__(self, settings):
        super().__init__(settings)
        self._writes_reports = settings.get("reports", "yes") != "no"
        self._is_fork = False
        self._only = settings.get("only")
        self._forker = Forker(not self._writes_reports or "under" in settings)
        self.randomness = self._forker.randomness
        self._source_cache = SourceCache()
        self._state = None  # From the first state order on.
        self._forwarder = None  # Where another process writes the reports of the tests that run here.
        self._unparsed_files = None  # From the first fork on.
        self._private_world = None  # From the first private fork on.
        self._written = None  # From the first run on whose files unflake may restore.

    # -- Start -------------------------------------------------------------------------------------

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
            self._send_problem("usage", None, describe(outcome.excinfo[1]))

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config):
        option = config.option
        self._connect(config)
        if getattr(option, "looponfail", False):
            self._send_problem("refused", None, "--looponfail is not supported: it runs tests for ever\nleave it out")
            return pytest.ExitCode.USAGE_ERROR
        workers, dist = getattr(option, "numprocesses", None), getattr(option, "dist", "no")
        if workers or workers is None and (dist != "no" or getattr(option, "tx", None)):
            controller = load("core.xdist_controller")
            why = controller.why_not(self._settings, option)
            if why is None:
                self._hand_over(config, controller)
                return None
            option.numprocesses, option.dist, option.tx = None, "no", []
            self._reorders = not any(word.startswith(("-n", "--numprocesses")) for word in config.invocation_params.args)
            self._note("%s is not used: %s" % ("-n %s" % workers if workers else "--dist %s" % dist, why))
        for name, asked in (("usepdb", "--pdb"), ("trace", "--trace")):
            if getattr(option, name, False):
                setattr(option, name, False)
                self._note("%s is ignored: tests run without a terminal" % asked)
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

    def _hand_over(self, config, controller):
        """The tests run in workers of xdist: another plugin takes the place of this one."""
        plugins = config.pluginmanager
        plugins.unregister(self)
        plugins.register(controller.XdistController(self._settings, self._wire, self._guard, self._truncate), "unflake")

    # -- Collection --------------------------------------------------------------------------------

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection(self, session):
        outcome = yield
        if outcome.excinfo is None:
            return
        error = outcome.excinfo[1]
        if isinstance(error, pytest.UsageError):
            self._send_problem("usage", None, describe(error))
        elif isinstance(error, (KeyboardInterrupt, pytest.exit.Exception, session.Failed)):
            self._send_collection_errors()
            self._send_problem("collection", None, describe(error))
        else:
            return  # pytest reports an internal error, through the hook below.
        if not self._writes_reports:
            self._exit_without_reports(session.config)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, config, items):
        before = {id(item): position for position, item in enumerate(items)}
        yield
        positions = [before[id(item)] for item in items if id(item) in before]
        # A random order is the given one by chance.
        shuffles = config.pluginmanager.hasplugin("randomly") and getattr(config.option, "randomly_reorganize", False)
        self._reorders = self._reorders or shuffles or positions != sorted(positions)

    def pytest_internalerror(self, excrepr):
        if self._wire is not None:
            self._send_problem("internal", None, str(excrepr))
            if not self._writes_reports:
                self._exit(3)

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
                self._send_problem("refused", None, "%s runs no tests\nleave it out" % asked)
                return True
        with self._guard:
            self._send_listing(session.items)
            self._collected(session)
            self.randomness.stop_watching()
            obstacle, one_process = self._forker.obstacle(), why_one_process(session.config)
            ready = {"tests": len(session.items), "deselected": self._deselected, "unforkable": obstacle}
            if one_process is not None:
                ready["one_process"] = one_process
            if self._reorders:
                ready["reorders"] = True
            self._wire.send("ready", **ready)
        try:
            while self._execute(self._wire.next_order()):
                pass
        except KeyboardInterrupt as interrupt:
            self._stop = interrupt
            self._replay_reports(is_complete=False)
            self._tear_down()
        except BaseException as error:
            # An instrument may also raise in code of pytest, which lets it through.
            if not self._in_runner or is_of_agent(error, error.__traceback__):
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

    def _execute(self, order):
        """Executes one order. Whether more are to come."""
        kind = order.get("order")
        if kind == "run":
            if order.get("reported"):
                self._forward_reports()
            self._run(order["tests"], order["again"], order.get("hold", False))
        elif kind in STATE_ORDERS:
            self._execute_state_order(order)
        elif kind in ASSERTION_ORDERS and self._assertions is not None:
            self._execute_assertion_order(order)
        elif kind == "fork":
            self._fork(order["environment"], order.get("private", False), order.get("seed"), order.get("settings"))
        elif kind == "reap":
            self._wire.send("reaped", environment=order["environment"], **self._forker.reap(order["environment"]))
        elif kind == "end":
            self._replay_reports(is_complete=True)
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
            self._state = snapshot.StateSnapshot(
                self._session, self._side, self._own_descriptors, ignored, self._written_files()
            )
            config.pluginmanager.register(load("state.body_start").BodyStart(self._state, self._guard))
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
            text = "the order %r cannot be carried out: %s" % (order["order"], describe(error))
            self._send_problem("internal", None, text)

    def _written_files(self):
        if self._written is None:
            config = self._session.config
            roots = str(config.rootpath), os.getcwd()
            self._written = WrittenFiles(self._side, roots, pytest_directories(config))
        return self._written

    def _own_descriptors(self):
        return self._wire.descriptors() | self._stack_dumps.descriptors()

    # -- Runs --------------------------------------------------------------------------------------

    def _run(self, numbers, retries, hold):
        self._stop = None
        if self._side and not self._writes_reports:
            self._written_files().start()
            self._written_files().begin_run()
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
            stopped = self._retry(n, self._attempt(n, 0, item, next_item), next_item, retries)
            self._items.release(n)
            if stopped is not None:
                self._unsent += self._wire.encode("stopped", **stopped)
                self._tear_down()
                break
        if self._forwarder is not None:
            self._forwarder.end()
        if self._state is not None:
            for written in self._state.stop_watch():
                self._unsent += self._wire.encode("written", **written)
        self._wire.send_lines(self._unsent + b'{"event":"idle"}\n')
        self._unsent = b""
        self._setup_error = self._repeated_setup_error = None

    # -- Reports -----------------------------------------------------------------------------------

    def _forward_reports(self):
        if self._forwarder is None and not self._writes_reports:
            self._forwarder = ReportForwarder(self._side, self._name(), self._session.config, self._guard)
            self._session.config.pluginmanager.register(self._forwarder, "unflake-forwarder")

    def _replay_reports(self, is_complete):
        if self._writes_reports and self._side:
            replay_reports(self._side, self._session.config, is_complete)
            self._reports.clear()

    # -- Forks and exit ----------------------------------------------------------------------------

    def _fork(self, environment, private, seed, settings):
        why = self._forker.obstacle()
        config = self._session.config
        if why is None:
            make_base_temp(config)
            flush_output(config)
            self._prepare_tracebacks()
            if self._state is not None:
                self._state.before_fork()
            if private and self._private_world is None:
                self._private_world = PrivateWorld(self._settings["private_plan"])
            if settings:
                load("core.world_plugins")  # Once for all forks.
            try:
                pid = self._forker.fork(environment)
            except OSError as error:
                why = "fork failed: %s" % error
        if why is not None:
            self._wire.send("unforkable", environment=environment, why=self._truncate(why))
        elif pid:
            self._wire.send("forked", environment=environment, pid=pid)
        else:
            # First of all: from here on an error is one of this process.
            parent, self._environment = self._environment, environment
            self._is_fork, self._writes_reports = True, False
            self._guard.enter(self._name())
            self._forker.begin_child()
            if private:
                self._private_world.enter()
            if seed is not None:
                set_seed(config.pluginmanager, seed, self.randomness)
            if settings:
                load("core.world_plugins").register_in_fork(settings, config.pluginmanager, self)
            self._wire.connect(environment=environment, parent=parent)
            self._stack_dumps.open(self._name())
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


def _files(items):
    try:
        return list(dict.fromkeys(map(node_path, items)))
    except Exception:
        return []
