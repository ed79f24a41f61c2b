"""Plays unflake to a pytest with the agent inside: every test of a suite in a fork of its own."""

import json
import os
import selectors
import signal
import socket
import subprocess
import tempfile
import time

from measure import TICK
from suites import AGENT


class Line:
    """One connection of an agent."""

    def __init__(self, plain):
        self.socket = plain
        self.environment = None
        self._rest = b""

    def order(self, **order):
        self.socket.sendall(json.dumps(order).encode() + b"\n")

    def events(self):
        """What has come; None when the agent has left."""
        try:
            got = self.socket.recv(1 << 20)
        except ConnectionResetError:
            got = b""
        if not got:
            return None
        *lines, self._rest = (self._rest + got).split(b"\n")
        return [json.loads(line) for line in lines]


class Warm:
    """A pytest that has collected a suite and waits for orders."""

    def __init__(self, suite, plugins=(), only=None):
        self._place = tempfile.TemporaryDirectory()
        self._environments = 0
        path = os.path.join(self._place.name, "s")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen(16)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self.process = self._start(suite, path, plugins, only)
        self._waiting = []
        self.tests = []
        while True:
            line, event = self._next()
            if event is None:
                raise SystemExit("pytest left before it was ready")
            if event["event"] == "listed":
                self.tests += [test["id"] for test in event["tests"]]
            elif event["event"] == "ready":
                self._root = line
                break
        if event["unforkable"]:
            raise SystemExit("%s cannot be forked: %s" % (suite.name, event["unforkable"]))

    def _start(self, suite, path, plugins, only):
        plain = suite.variables(*plugins)
        settings = {
            "PYTHONPATH": str(AGENT) + os.pathsep + plain["PYTHONPATH"],
            "PYTEST_PLUGINS": "unflake_agent",
            "UNFLAKE_SOCKET": path,
            "UNFLAKE_ENVIRONMENT": "0",
            "UNFLAKE_SIDE": self._place.name,
            "UNFLAKE_REPORTS": "no",
            "UNFLAKE_RESTORE": json.dumps({"PYTHONPATH": plain["PYTHONPATH"], "PYTEST_PLUGINS": None}),
        }
        if only:
            settings["UNFLAKE_ONLY"] = os.path.join(self._place.name, "only")
            with open(settings["UNFLAKE_ONLY"], "w") as files:
                json.dump(only, files)
        quiet = subprocess.DEVNULL
        command = suite.pytest()
        return subprocess.Popen(
            command, cwd=suite.directory, env={**plain, **settings}, stdin=quiet, stdout=quiet, stderr=quiet,
            start_new_session=True,
        )

    def _next(self):
        """A line and an event from it, in the order in which they come."""
        while not self._waiting:
            ready = self._selector.select(60)
            if not ready:
                os.killpg(self.process.pid, signal.SIGKILL)
                raise SystemExit("nothing has come from pytest for a minute")
            for key, _ in ready:
                if key.fileobj is self._listener:
                    line = Line(self._listener.accept()[0])
                    self._selector.register(line.socket, selectors.EVENT_READ, line)
                    continue
                events = key.data.events()
                if events is None:
                    self._selector.unregister(key.data.socket)
                    key.data.socket.close()
                self._waiting += [(key.data, event) for event in (events if events is not None else [None])]
        return self._waiting.pop(0)

    def every_test_in_its_own_fork(self, at_once):
        """Outcomes by test, and wall and CPU seconds of it all."""
        seen, wall, cpu = self._each_in_its_own_fork(range(len(self.tests)), at_once)
        return {self.tests[n]: outcome for n, outcome in seen}, wall, cpu

    def one_test(self, test, times, at_once, outcome):
        """Wall and CPU seconds of a test that runs so often, each time in a fork of its own."""
        seen, wall, cpu = self._each_in_its_own_fork([self.tests.index(test)] * times, at_once)
        if {kind for _, kind in seen} != {outcome}:
            raise SystemExit("%s did not come out as %s" % (test, outcome))
        return wall, cpu

    def _each_in_its_own_fork(self, numbers, at_once):
        outcomes, ahead, under_way, done = {}, list(numbers)[::-1], {}, []
        began, cpu = time.perf_counter(), self._cpu()
        while ahead or under_way:
            while ahead and len(under_way) < at_once:
                self._environments += 1
                under_way[self._environments] = ahead.pop()
                self._root.order(order="fork", environment=self._environments)
            line, event = self._next()
            kind = event and event["event"]
            if line is self._root:
                if kind in (None, "unforkable"):
                    raise SystemExit("the warm pytest sent %s" % event)
                if kind == "reaped":
                    number = under_way.pop(event["environment"])
                    done.append((number, outcomes.pop(event["environment"], "crashed")))
            elif kind == "hello":
                line.environment = event["environment"]
                line.order(order="run", tests=[under_way[line.environment]], again=0)
                line.order(order="end")
            elif kind == "done":
                outcomes[line.environment] = event["outcome"]
            elif kind is None:
                self._root.order(order="reap", environment=line.environment)
        return done, time.perf_counter() - began, self._cpu() - cpu

    def _cpu(self):
        """Of the process and of the children it has waited for."""
        with open("/proc/%d/stat" % self.process.pid) as file:
            return sum(map(int, file.read().rpartition(")")[2].split()[11:15])) / TICK

    def close(self):
        self._root.order(order="end")
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self._listener.close()
        self._place.cleanup()
