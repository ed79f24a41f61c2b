"""The agent in the process that distributes tests to workers of pytest-xdist.

No test runs here. Each worker has an agent of its own, which reports the tests that xdist gives
it; see `xdist_worker`. This one starts them, reports how workers died, and ends the runner.
"""

import json
import os
import sys

import pytest

from .. import DIRECTORY
from .attempts import describe

# Settings of this process that apply in its workers, too.
PASSED_ON = "socket", "environment", "side", "output_limit", "cache"
# Settings that need the tests in this process.
IN_ONE_PROCESS = "traced", "layers", "filter", "dependencies", "under", "only"
# How long a worker that has closed its connection may take to exit, in seconds.
EXIT_TIME = 2


def why_not(settings, option):
    """Why the tests cannot run in workers; None if they can."""
    if settings.get("reports", "yes") == "no":
        return "each session has one process here; --jobs says how many run at once"
    if any(settings.get(name) for name in IN_ONE_PROCESS):
        return "what is recorded here needs all tests in one process"
    if option.dist == "each":
        return "it runs every test several times; unflake reruns those that fail"
    if any(not spec.split("*")[-1].startswith("popen") for spec in option.tx or ()):
        return "unflake cannot reach workers on other machines"
    plugin = sys.modules.get("xdist.plugin")
    if not isinstance(getattr(plugin, "_sys_path", None), list):
        return "unflake does not know this version of pytest-xdist"
    return None


class XdistController:
    def __init__(self, settings, wire, guard, truncate):
        self._settings, self._wire, self._guard, self._truncate = settings, wire, guard, truncate
        self._numbers = {}
        self._config = None

    # -- Workers -----------------------------------------------------------------------------------

    def pytest_xdist_setupnodes(self, config):
        """Before the first worker starts. A crashed one is replaced later, by the same function."""
        with self._guard:
            self._config = config
            group = config.pluginmanager.getplugin("dsession").nodemanager.group
            # Workers take over this path; the agent removes itself from it.
            paths, parent = sys.modules["xdist.plugin"]._sys_path, os.path.dirname(DIRECTORY)
            if parent not in paths:
                paths.append(parent)
            start = group.makegateway

            def start_with_agent(spec=None):
                number = len(self._numbers)
                with self._guard:
                    variables = self._variables(number)
                    before = {name: os.environ.get(name) for name in variables}
                    os.environ.update(variables)
                try:
                    gateway = start(spec)
                finally:
                    for name, value in before.items():
                        if value is None:
                            os.environ.pop(name, None)
                        else:
                            os.environ[name] = value
                self._numbers[gateway.id] = number
                return gateway

            group.makegateway = start_with_agent

    def _variables(self, number):
        """The environment variables with which a worker loads the agent."""
        old = os.environ.get("PYTEST_PLUGINS")
        variables = {"UNFLAKE_" + name.upper(): self._settings[name] for name in PASSED_ON if name in self._settings}
        variables["UNFLAKE_PROCESS"] = str(number)
        variables["UNFLAKE_RESTORE"] = json.dumps({"PYTEST_PLUGINS": old})
        variables["PYTEST_PLUGINS"] = "unflake_agent" + ("," + old if old else "")
        return variables

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node, error):
        if error is None or node.gateway.id not in self._numbers:
            return
        with self._guard:
            code = _exit_code(node.gateway)
            death = {} if code is None else {"signal": -code} if code < 0 else {"exit": code}
            self._wire.send("exited", process=self._numbers[node.gateway.id], **death)

    # -- The run -----------------------------------------------------------------------------------

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session):
        outcome = yield  # xdist runs the suite.
        error = outcome.excinfo[1] if outcome.excinfo is not None else None
        # xdist stops with an interrupt of its own, for --maxfail or because a worker was stopped.
        is_stop = error is not None and type(error).__name__ in ("Interrupted", "Failed")
        if error is not None and not is_stop:
            return
        with self._guard:
            if is_stop:
                self._wire.send("stopped", cause="limit", why=self._truncate(describe(error)))
            self._wire.send("idle")
            failed = self._wait_for_end()
        if failed is not None:
            session.testsfailed = failed
            if failed == 0 and is_stop and "stopping after" in describe(error):
                outcome.force_result(True)  # The failures for which it stopped do not count.

    def _wait_for_end(self):
        """The number of failures that count. The order to run has been executed by the workers."""
        while True:
            order = self._wire.next_order()
            if order.get("order") == "end":
                return order.get("failed")

    def pytest_internalerror(self, excrepr):
        self._wire.send("problem", kind="internal", place=None, text=self._truncate(str(excrepr)))

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self):
        with self._guard:
            self._wire.send("bye")
            self._wire.drop()


def _exit_code(gateway):
    """How the process of a worker exited; None if that is not known."""
    process = getattr(getattr(gateway, "_io", None), "popen", None)
    try:
        return process.wait(timeout=EXIT_TIME)
    except Exception:
        return None
