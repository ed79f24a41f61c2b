"""A minimal runner with an agent inside: `python3 agent.py tests.json`.

The file is a JSON object: for each test a list of actions, in order. A test passes unless an action fails.

    "set x 1"     the cell x is 1 from now on
    "drop x"      removes the cell x
    "need x 1"    fails unless x is 1; "need x" fails if x exists
    "crash"       ends the process with SIGSEGV
    "hang"        never ends
    "orphan"      kills the process from which this one was forked
    "thread"      the process cannot be forked from now on
    "write f t"   writes the text t into the file f; "read f t" fails unless f contains t; "missing f" fails if f exists
    "sleep 0.1"   seconds
    "deaf"        state queries fail from now on
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
        self.send(
            "hello", protocol=1, agent="cells", environment=self.environment, pid=os.getpid(), runner="cells 1",
            language="Python", root=os.getcwd(), **more
        )

    def send(self, event, **fields):
        self.socket.sendall((json.dumps(dict(event=event, **fields)) + "\n").encode())

    def serve(self):
        self.send("listed", tests=[{"n": n, "id": name} for n, name in enumerate(self.names)])
        self.send("ready", tests=len(self.names))
        self.execute_orders()

    def execute_orders(self):
        for line in self.lines:
            order = json.loads(line)
            getattr(self, order.pop("order"))(**order)
        os._exit(0)

    def run(self, tests, again, hold=False, jobs=1):
        for n in tests:
            self.send("start", n=n, run=0)
            failed = None
            for action in self.tests[self.names[n]]:
                failed = failed or self.do(self.names[n], action)
            failure = {"phase": "call", "kind": "Failed", "message": failed or "", "trace": ""}
            more = {"outcome": "failed", "failure": failure} if failed else {"outcome": "passed"}
            self.send("done", n=n, run=0, seconds=0.0, **more)
        self.send("idle")

    def do(self, test, text):
        """Return why the test fails, or None."""
        action, name, value = (text.split() + [None, None])[:3]
        if action in ("set", "drop"):
            if action == "set":
                self.cells[name] = value
            else:
                self.cells.pop(name, None)
            if name in self.watched:
                self.send("written", cell=name, file=test, line=1 + self.tests[test].index(text), function=action)
        elif action == "need" and self.cells.get(name) != value:
            return "%s is %s" % (name, self.cells.get(name))
        elif action == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        elif action == "orphan" and self.parent is not None:
            os.kill(os.getppid(), signal.SIGKILL)
        elif action == "hang":
            time.sleep(1000)
        elif action == "thread":
            self.obstacle = "a thread is alive"
        elif action == "deaf":
            self.deaf = True
        elif action == "sleep":
            time.sleep(float(name))
        elif action == "write":
            with open(name, "w") as file:
                file.write(value)
        elif action == "read" and (not os.path.exists(name) or open(name).read() != value):
            return "%s does not have %s" % (name, value)
        elif action == "missing" and os.path.exists(name):
            return "%s is there" % name

    def remember(self):
        self.remembered = dict(self.cells)
        self.send("remembered", cells=len(self.cells), seconds=0.0)

    def compare(self):
        if self.deaf:
            return self.send("problem", kind="internal", place=None, text="deaf")
        names = sorted(set(self.cells) | set(self.remembered))
        before, after = self.remembered.get, self.cells.get
        cells = [{"path": name, "kind": "cell", "before": before(name), "after": after(name)} for name in names]
        path = os.path.join(os.environ["UNFLAKE_SIDE"], "changed-%d" % self.environment)
        with open(path, "w") as file:
            cells = [cell for cell in cells if cell["before"] != cell["after"]]
            json.dump({"format": 1, "cells": cells, "unknown": []}, file)
        self.send("changed", path=path)

    def restore(self, cells):
        failed = [{"cell": name, "why": "it is fixed"} for name in cells if name.startswith("fixed")]
        for name in cells:
            if name in self.remembered:
                self.cells[name] = self.remembered[name]
            elif not name.startswith("fixed"):
                self.cells.pop(name, None)
        self.send("restored", failed=failed)

    def watch(self, cells):
        self.watched = cells

    def fork(self, environment):
        if self.obstacle:
            return self.send("unforkable", environment=environment, why=self.obstacle)
        pid = os.fork()
        if pid:
            self.children[environment] = pid
            return self.send("forked", environment=environment, pid=pid)
        os.setpgid(0, 0)
        self.parent, self.environment, self.children = self.environment, environment, {}
        self.connect()
        self.execute_orders()

    def reap(self, environment):
        _, status = os.waitpid(self.children.pop(environment), 0)
        how = {"signal": status & 0x7F} if status & 0x7F else {"exit": status >> 8}
        self.send("reaped", environment=environment, **how)

    def end(self, failed=None):
        self.send("bye")
        os._exit(0)


with open(sys.argv[1]) as file:
    Agent(json.load(file)).serve()
