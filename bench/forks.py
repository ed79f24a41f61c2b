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

    def __init__(self, suite):
        self._place = tempfile.TemporaryDirectory()
        path = os.path.join(self._place.name, "s")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen(16)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self.process = self._start(suite, path)
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

    def _start(self, suite, path):
        plain = suite.variables()
        told = {
            "PYTHONPATH": str(AGENT) + os.pathsep + plain["PYTHONPATH"],
            "PYTEST_PLUGINS": "unflake_agent",
            "UNFLAKE_SOCKET": path,
            "UNFLAKE_ENVIRONMENT": "0",
            "UNFLAKE_SIDE": self._place.name,
            "UNFLAKE_REPORTS": "no",
            "UNFLAKE_RESTORE": json.dumps({"PYTHONPATH": plain["PYTHONPATH"], "PYTEST_PLUGINS": None}),
        }
        quiet = subprocess.DEVNULL
        command = suite.pytest()
        return subprocess.Popen(
            command, cwd=suite.directory, env={**plain, **told}, stdin=quiet, stdout=quiet, stderr=quiet,
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
        outcomes, ahead, alive = {}, list(range(len(self.tests)))[::-1], 0
        began, cpu = time.perf_counter(), self._cpu()
        while len(outcomes) < len(self.tests) or alive:
            while ahead and alive < at_once:
                self._root.order(order="fork", environment=ahead.pop() + 1)
                alive += 1
            line, event = self._next()
            kind = event and event["event"]
            if line is self._root:
                if kind in (None, "unforkable"):
                    raise SystemExit("the warm pytest said %s" % event)
                if kind == "reaped":
                    alive -= 1
                    outcomes.setdefault(self.tests[event["environment"] - 1], "crashed")
            elif kind == "hello":
                line.environment = event["environment"]
                line.order(order="run", tests=[line.environment - 1], again=0)
                line.order(order="end")
            elif kind == "done":
                outcomes[self.tests[event["n"]]] = event["outcome"]
            elif kind is None:
                self._root.order(order="reap", environment=line.environment)
        return outcomes, time.perf_counter() - began, self._cpu() - cpu

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
