"""A runner with an agent in it, small enough to be read: `python3 agent.py tests.json`.

The file is a JSON object: for each test a list of things that it does, in order, and it passes unless one of them says otherwise.

    "set x 1"     the cell x is 1 from now on
    "drop x"      the cell x is gone
    "need x 1"    fails unless x is 1; "need x" fails unless x is not there
    "crash"       ends the process with SIGSEGV
    "hang"        does not end
    "orphan"      kills the process from which this one was copied
    "thread"      no copy of the process can be made from now on
    "write f t"   writes the text t into the file f; "read f t" fails unless it is there; "missing f" fails if it is
    "sleep 0.1"   seconds
    "deaf"        no question about cells is answered from now on
"""

import json
import os
import signal
import socket
import sys
import time


class Agent:
    def __init__(self, tests):
        self.tests, self.names = tests, list(tests)
        self.cells, self.remembered, self.watched = {}, {}, []
        self.environment, self.parent = int(os.environ["UNFLAKE_ENVIRONMENT"]), None
        self.children, self.obstacle, self.deaf = {}, None, False
        self.connect()

    def connect(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(os.environ["UNFLAKE_SOCKET"])
        self.lines = self.socket.makefile("r")
        more = {} if self.parent is None else {"parent": self.parent}
        self.tell(
            "hello", protocol=1, agent="cells", environment=self.environment, pid=os.getpid(), runner="cells 1",
            language="Python", root=os.getcwd(), **more
        )

    def tell(self, event, **fields):
        self.socket.sendall((json.dumps(dict(event=event, **fields)) + "\n").encode())

    def serve(self):
        self.tell("listed", tests=[{"n": n, "id": name} for n, name in enumerate(self.names)])
        self.tell("ready", tests=len(self.names))
        self.obey()

    def obey(self):
        for line in self.lines:
            order = json.loads(line)
            getattr(self, order.pop("order"))(**order)
        os._exit(0)

    def run(self, tests, again, hold=False, jobs=1):
        for n in tests:
            self.tell("start", n=n, run=0)
            failed = None
            for deed in self.tests[self.names[n]]:
                failed = failed or self.do(self.names[n], deed)
            failure = {"phase": "call", "kind": "Failed", "message": failed or "", "trace": ""}
            more = {"outcome": "failed", "failure": failure} if failed else {"outcome": "passed"}
            self.tell("done", n=n, run=0, seconds=0.0, **more)
        self.tell("idle")

    def do(self, test, text):
        """Why the test fails, if it does."""
        deed, name, value = (text.split() + [None, None])[:3]
        if deed in ("set", "drop"):
            if deed == "set":
                self.cells[name] = value
            else:
                self.cells.pop(name, None)
            if name in self.watched:
                self.tell("written", cell=name, file=test, line=1 + self.tests[test].index(text), function=deed)
        elif deed == "need" and self.cells.get(name) != value:
            return "%s is %s" % (name, self.cells.get(name))
        elif deed == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        elif deed == "orphan" and self.parent is not None:
            os.kill(os.getppid(), signal.SIGKILL)
        elif deed == "hang":
            time.sleep(1000)
        elif deed == "thread":
            self.obstacle = "a thread is alive"
        elif deed == "deaf":
            self.deaf = True
        elif deed == "sleep":
            time.sleep(float(name))
        elif deed == "write":
            with open(name, "w") as file:
                file.write(value)
        elif deed == "read" and (not os.path.exists(name) or open(name).read() != value):
            return "%s does not have %s" % (name, value)
        elif deed == "missing" and os.path.exists(name):
            return "%s is there" % name

    def remember(self):
        self.remembered = dict(self.cells)
        self.tell("remembered", cells=len(self.cells), seconds=0.0)

    def compare(self):
        if self.deaf:
            return self.tell("problem", kind="internal", place=None, text="deaf")
        names = sorted(set(self.cells) | set(self.remembered))
        before, after = self.remembered.get, self.cells.get
        cells = [{"path": name, "kind": "cell", "before": before(name), "after": after(name)} for name in names]
        path = os.path.join(os.environ["UNFLAKE_SIDE"], "changed-%d" % self.environment)
        with open(path, "w") as file:
            cells = [cell for cell in cells if cell["before"] != cell["after"]]
            json.dump({"format": 1, "cells": cells, "unknown": []}, file)
        self.tell("changed", path=path)

    def restore(self, cells):
        failed = [{"cell": name, "why": "it is fixed"} for name in cells if name.startswith("fixed")]
        for name in cells:
            if name in self.remembered:
                self.cells[name] = self.remembered[name]
            elif not name.startswith("fixed"):
                self.cells.pop(name, None)
        self.tell("restored", failed=failed)

    def watch(self, cells):
        self.watched = cells

    def fork(self, environment):
        if self.obstacle:
            return self.tell("unforkable", environment=environment, why=self.obstacle)
        pid = os.fork()
        if pid:
            self.children[environment] = pid
            return self.tell("forked", environment=environment, pid=pid)
        os.setpgid(0, 0)
        self.parent, self.environment, self.children = self.environment, environment, {}
        self.connect()
        self.obey()

    def reap(self, environment):
        _, status = os.waitpid(self.children.pop(environment), 0)
        how = {"signal": status & 0x7F} if status & 0x7F else {"exit": status >> 8}
        self.tell("reaped", environment=environment, **how)

    def end(self, failed=None):
        self.tell("bye")
        os._exit(0)


with open(sys.argv[1]) as file:
    Agent(json.load(file)).serve()
