"""Plays unflake: starts pytest with the agent in a project, sends orders, collects events."""

import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time

from warm_python import WarmPython

AGENT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
TIMEOUT = 60  # In seconds. Generous, for busy machines.


def _reset_signals():
    """Undoes that a shell ignores SIGINT in background jobs."""
    os.setpgrp()
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class ConnectionClosed(Exception):
    """The agent has closed the connection."""


class Connection:
    """A connection of an agent. Its first event, `hello`, is read at once."""

    def __init__(self, plain, log=None):
        self._socket = plain
        self._received = b""
        self.events = []
        self.log = [] if log is None else log
        self.hello = self.event("hello")
        self.environment = self.hello["environment"]

    def order(self, kind, **fields):
        message = {"order": kind, **fields}
        self.log.append({"from": "unflake", "message": message})
        self._socket.sendall(json.dumps(message).encode() + b"\n")

    def next(self, timeout=TIMEOUT):
        while b"\n" not in self._received:
            ready, _, _ = select.select([self._socket], [], [], timeout)
            if not ready:
                raise TimeoutError("no message of the agent; the last were %r" % self.events[-5:])
            try:
                data = self._socket.recv(1 << 20)
            except ConnectionResetError:
                data = b""
            if not data:
                raise ConnectionClosed("the agent disconnected; its last messages were %r" % self.events[-5:])
            self._received += data
        line, self._received = self._received.split(b"\n", 1)
        assert len(line) < 4 << 20
        message = json.loads(line.decode())
        self.events.append(message)
        self.log.append({"from": "agent", "message": message})
        return message

    def until(self, *kinds):
        """All events up to and including one of these kinds."""
        found = []
        while not found or found[-1]["event"] not in kinds:
            found.append(self.next())
        return found

    def event(self, kind):
        return self.until(kind)[-1]

    def run(self, *tests, **options):
        """The `done` events of a `run`, in order."""
        return [event for event in self.events_of_run(*tests, **options) if event["event"] == "done"]

    def events_of_run(self, *tests, again=0, **options):
        self.order("run", tests=list(tests), again=again, **options)
        return self.until("idle")

    def outcomes(self, *tests, **options):
        return [done["outcome"] for done in self.run(*tests, **options)]

    def remaining(self):
        """The events until the agent closes the connection."""
        found = []
        try:
            while True:
                found.append(self.next())
        except ConnectionClosed:
            return found

    def close(self):
        self._socket.close()


@functools.lru_cache(None)
def warm_python():
    """The interpreter whose forks are pytest."""
    return WarmPython(_without_settings(os.environ))


def _without_settings(environment):
    """Without what the pytest that runs these tests, and its plugins, tell their own children."""
    left_out = "PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER", "COV_CORE_SOURCE"
    return {name: value for name, value in environment.items() if name not in left_out}


class FakeUnflake:
    """A project in a directory, and pytest with the agent running in it."""

    def __init__(self, directory, *args, **options):
        self.directory = str(directory)
        self.side = os.path.join(self.directory, "side")
        os.makedirs(self.side, exist_ok=True)
        self._listener = socket.socket(socket.AF_UNIX)
        self._path = os.path.join(self.directory, "s")
        if os.path.exists(self._path):
            os.unlink(self._path)
        self._listener.bind(self._path)
        self._listener.listen(50)
        self._listener.settimeout(TIMEOUT)
        self._connections = []
        self._start(args, **options)

    def _start(self, args, reports="yes", limit=None, environment=0, variables=None, command=None, plugins=False):
        variables = variables or {}
        env = _without_settings(dict(os.environ, **variables))
        if not plugins:  # Loading them takes most of the time, and most tests need none.
            env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        changed = {"PYTHONPATH": AGENT, "PYTEST_PLUGINS": "unflake_agent"}
        before = {name: env.get(name) for name in changed}
        for name, separator in (("PYTHONPATH", os.pathsep), ("PYTEST_PLUGINS", ",")):
            env[name] = changed[name] + (separator + before[name] if before[name] else "")
        env.update(
            UNFLAKE_SOCKET=self._path,
            UNFLAKE_ENVIRONMENT=str(environment),
            UNFLAKE_SIDE=self.side,
            UNFLAKE_REPORTS=reports,
            UNFLAKE_RESTORE=json.dumps(before),
        )
        if limit is not None:
            env["UNFLAKE_OUTPUT_LIMIT"] = str(limit)
        arguments = ["-p", "no:cacheprovider"] + list(args)
        # Other variables may change how the interpreter itself starts.
        if command is None and not plugins and all(name.startswith("UNFLAKE_") for name in variables):
            self.process = warm_python().start(arguments, self.directory, env)
            return
        self.process = subprocess.Popen(
            (command or [sys.executable, "-m", "pytest"]) + arguments,
            cwd=self.directory,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            preexec_fn=_reset_signals,
        )

    def accept(self, log=None):
        """The next connection that an agent makes."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            self._listener.settimeout(0.5)
            try:
                plain, _ = self._listener.accept()
                break
            except socket.timeout:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise AssertionError("no agent connected; output of pytest:\n" + self.kill_and_read_output())
        plain.setblocking(True)
        connection = Connection(plain, log)
        self._connections.append(connection)
        return connection

    def ready(self, log=None):
        """The first connection after `ready`, with its `tests`, `notes` and `problems`."""
        connection = self.accept(log)
        events = connection.until("ready")
        connection.tests = [test for event in events if event["event"] == "listed" for test in event["tests"]]
        connection.ids = [test["id"] for test in connection.tests]
        connection.ready = events[-1]
        connection.notes = [event["text"] for event in events if event["event"] == "note"]
        connection.problems = [event for event in events if event["event"] == "problem"]
        return connection

    def fork(self, connection, environment, log=None, **fields):
        """The connection of a forked process."""
        connection.order("fork", environment=environment, **fields)
        connection.forked = connection.until("forked", "unforkable")[-1]
        assert connection.forked["event"] == "forked", connection.forked
        return self.accept(log)

    def end(self, connection):
        """Ends the agent; the exit status of pytest."""
        connection.order("end")
        remaining = connection.remaining()
        assert remaining and remaining[-1] == {"event": "bye"}, remaining
        return self.wait()

    def wait(self):
        self.output = self.process.communicate(timeout=TIMEOUT)[0].decode(errors="replace")
        return self.process.returncode

    def kill_and_read_output(self):
        self.process.kill()
        return self.process.communicate(timeout=TIMEOUT)[0].decode(errors="replace")

    def close(self):
        for connection in self._connections:
            connection.close()
        self._listener.close()
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.stdout.close()
        self.process.wait()
