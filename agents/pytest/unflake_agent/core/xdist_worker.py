"""The agent in a worker of pytest-xdist: reports the tests that xdist runs here.

xdist decides which tests run in which worker and in which order. All workers are one environment
of unflake; `process` tells them apart. A test that fails runs again at once, which xdist does not
see: its reports, and what it counts towards --maxfail, are those of the first attempt.
"""

import pytest

from .attempts import AttemptPlugin


class XdistWorker(AttemptPlugin):
    def __init__(self, settings):
        super().__init__(settings)
        self._start = b'{"event":"start","n":%%d,"run":%%d,"process":%d}\n' % self._process
        self._numbers = {}  # By identity of an item.
        self._ids = {}  # By identity of an item, where xdist adds its group to the node id.
        self._chosen = frozenset()
        self._retries = 0
        self._xdist = None

    def _start_event(self, n, run):
        return self._start % (n, run)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config):
        with self._guard:
            self._connect(early_config)
        yield

    def pytest_internalerror(self, excrepr):
        if self._wire is not None:
            self._send_problem("internal", None, str(excrepr))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config, items):
        if getattr(config.option, "loadgroup", False):
            self._ids = {id(item): item.nodeid for item in items}

    # -- The run -----------------------------------------------------------------------------------

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session):
        with self._guard:
            plugins = session.config.pluginmanager
            self._xdist = next(one for one in plugins.get_plugins() if hasattr(one, "sendevent"))
            self._collected(session)
            self._numbers = {id(item): n for n, item in enumerate(session.items)}
            self._take_orders(session)
            if len(self._chosen) < len(session.items):
                plugins.register(LeftOutTests(self._numbers, self._chosen), "unflake-left-out")
        yield  # xdist gives tests to this process until all have run.
        with self._guard:
            self._wire.send("idle")

    def _take_orders(self, session):
        """Takes orders until one says which tests may run."""
        while True:
            order = self._wire.next_order()
            if order["order"] == "list":
                self._send_collection_errors()
                self._send_listing(session.items, self._ids)
                self._wire.send("ready", tests=len(session.items), deselected=self._deselected)
            elif order["order"] == "run":
                self._chosen, self._retries = frozenset(order["tests"]), order["again"]
                return
            elif order["order"] == "end":
                return

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        n = self._numbers.get(id(item))
        if n is None or n not in self._chosen:  # A retry, or a test that is not to run.
            yield
            return
        with self._guard:
            self._items.take(n)  # Remembers the item as it is before its first run.
            self._begin_attempt(n, 0, item)
        outcome = yield
        interrupt = outcome.excinfo[1] if outcome.excinfo is not None else None
        with self._guard:
            stopped = self._retry(n, self._end_attempt(n, 0, item, interrupt), nextitem, self._retries)
            self._items.release(n)
            if stopped is not None and stopped["cause"] == "exit":
                self._unsent += self._wire.encode("stopped", **stopped)
            # Sent now: the next test may be long in coming.
            if self._unsent:
                self._wire.send_lines(self._unsent)
                self._unsent = b""

    def _attempt(self, n, run, item, next_item):
        self._xdist.sendevent = _ignore
        try:
            return super()._attempt(n, run, item, next_item)
        finally:
            del self._xdist.sendevent


class LeftOutTests:
    """Keeps tests from running that xdist distributes and unflake has not ordered."""

    def __init__(self, numbers, chosen):
        self._numbers, self._chosen = numbers, chosen

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item):
        n = self._numbers.get(id(item))
        return True if n is not None and n not in self._chosen else None


def _ignore(name, **fields):
    pass
