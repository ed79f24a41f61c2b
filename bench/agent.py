"""Plays unflake to a pytest with our agent in it, as it was when the bench began, whatever is changed meanwhile."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import suites

AGENT = suites.ROOT / "agents" / "pytest"
# One for each bench.
FROZEN = suites.KEPT / ("bench-agent-" + Path(sys.argv[0]).stem)


def freeze():
    shutil.rmtree(FROZEN, ignore_errors=True)
    shutil.copytree(AGENT / "unflake_agent", FROZEN / "unflake_agent", ignore=shutil.ignore_patterns("__pycache__"))


def freeze_tracer(library):
    """The native tracer: this one, or else one that is built now."""
    freeze()
    place = FROZEN / "unflake_agent" / "tracer.so"
    if library is not None:
        shutil.copy(library, place)
        return
    rustc = "rustc --edition 2024 --crate-type cdylib -C opt-level=3 -C panic=abort -C codegen-units=1 -C strip=symbols -o"
    subprocess.run([*rustc.split(), place, AGENT / "tracer" / "tracer.rs"], check=True)


class Line:
    """To the agent in one process."""

    def __init__(self, listener):
        self.socket = listener.accept()[0]
        self._file = self.socket.makefile("rb")

    def order(self, **order):
        self.socket.sendall(json.dumps(order).encode() + b"\n")

    def until(self, *kinds):
        events = []
        for line in self._file:
            events.append(json.loads(line.decode()))
            if events[-1]["event"] in kinds:
                return events
        raise SystemExit("the agent left after %s" % events[-1:])

    def run(self, tests):
        """The attempts at these tests."""
        self.order(order="run", tests=list(tests), again=0)
        return [event for event in self.until("idle") if event["event"] == "done"]


@contextlib.contextmanager
def place():
    """A directory for what agents write, with a socket in it that they come to."""
    with tempfile.TemporaryDirectory() as directory:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(directory + "/s")
        listener.listen(8)
        listener.settimeout(120)
        yield directory, listener


@contextlib.contextmanager
def started(command, directory, listener, **variables):
    """The line to the agent in this command, and how many tests it has collected. Variables that are None are left out."""
    path = os.environ.get("PYTHONPATH")
    settings = {
        "PYTHONPATH": str(FROZEN) + (os.pathsep + path if path else ""),
        "PYTEST_PLUGINS": "unflake_agent",
        "UNFLAKE_SOCKET": directory + "/s",
        "UNFLAKE_SIDE": directory,
        "UNFLAKE_REPORTS": "no",
        "UNFLAKE_RESTORE": json.dumps({"PYTHONPATH": path, "PYTEST_PLUGINS": None}),
        **{name: value for name, value in variables.items() if value},
    }
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, env=dict(os.environ, **settings), stdin=quiet, stdout=quiet, stderr=quiet)
    agent = Line(listener)
    events = agent.until("ready")
    agent.tests = [test["id"] for event in events if event["event"] == "listed" for test in event["tests"]]
    yield agent, events[-1]["tests"]
    agent.order(order="end")
    process.wait()
