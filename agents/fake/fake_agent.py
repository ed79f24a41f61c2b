"""An agent without a runner, for testing what unflake does with agents: `python3 fake_agent.py script.json`.

It reads the variables of a real agent (UNFLAKE_SOCKET, UNFLAKE_ENVIRONMENT, …) and carries out the script, a JSON
list of steps, one after the other. After the last it leaves with status 0.

    {"send": {"event": "note", "text": "x"}}    send a message; {"hello": {…}} sends a hello with these fields changed
    {"send_raw": "not json"}                    send a text as it is (no newline is added)
    {"expect": "run"}                           wait for an order of this kind; others before it are dropped
    {"sleep": 0.2}                              seconds
    {"print": "text"}, {"print_error": "text"}  write to standard output or error
    {"close": true}                             close the connection and go on
    {"exit": 3}, {"signal": 11}                 end at once
    {"hang": true}                              wait for ever, deaf to SIGTERM and SIGINT if the value is "deaf"
    {"spawn_daemon": true}                      leave a `sleep 1000` behind in a session of its own; its pid goes to
                                                the file `daemon` in the side directory
    {"serve": {"tests": {"a": ["failed", "passed"], "b": "passed"}}}
                                                be a whole agent until `end`

`serve` says hello, lists the tests in their order and obeys. Each time a test runs, its next outcome is taken; the last
one repeats. Outcomes are those of the protocol, and "crash" (SIGSEGV in the test), "hang", "exit" (the process ends
with status 3), "stop" (passes, then the runner wants to stop) and "pgroup" (leaves a `sleep 1000` in the agent's process
group, then passes). A copy starts again with the first outcomes, as a fresh environment would, unless "shared": true
says that it goes on where its parent was; "fresh": {"a": "passed"} gives a test other outcomes in every process but
the first. Further fields of `serve`: "unforkable": "why", "seconds": 0.1 (how long a
test takes, slept), "deselected": 2, "stdout": "text" (of failures), "bye": false (leave without it).
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time


class Left(Exception):
    """unflake closed the connection."""


class Agent:
    def __init__(self):
        self.environment = int(os.environ.get("UNFLAKE_ENVIRONMENT", "0"))
        self.parent = None
        self.path = os.environ["UNFLAKE_SOCKET"]
        self.side = os.environ.get("UNFLAKE_SIDE", ".")
        self.connect()

    def connect(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(self.path)
        self.rest = b""

    def send(self, event, **fields):
        self.send_raw(json.dumps({"event": event, **fields}) + "\n")

    def send_raw(self, text):
        self.socket.sendall(text.encode())

    def hello(self, **changes):
        hello = {"protocol": 1, "agent": "fake", "environment": self.environment, "pid": os.getpid()}
        hello.update(runner="fake 1", language="Python", root=os.getcwd())
        if self.parent is not None:
            hello["parent"] = self.parent
        hello.update(changes)
        self.send("hello", **hello)

    def order(self):
        while b"\n" not in self.rest:
            got = self.socket.recv(65536)
            if not got:
                raise Left
            self.rest += got
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def expect(self, kind):
        while self.order()["order"] != kind:
            pass


def sleep_in_background(**options):
    nothing = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(["sleep", "1000"], **nothing, **options)


def hang(deaf=False):
    if deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        time.sleep(1000)


def die(number):
    signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None
    os.kill(os.getpid(), number)
    time.sleep(10)


class Server:
    """A whole agent, for the step `serve`."""

    def __init__(self, agent, script):
        self.agent = agent
        self.script = script
        self.names = list(script["tests"])
        self.times = {}
        self.children = {}

    def serve(self):
        agent = self.agent
        agent.hello()
        listed = [{"n": n, "id": name, "file": "fake.txt", "line": n + 1} for n, name in enumerate(self.names)]
        for first in range(0, len(listed), 200):
            agent.send("listed", tests=listed[first : first + 200])
        unforkable = self.script.get("unforkable")
        agent.send("ready", tests=len(listed), deselected=self.script.get("deselected", 0), unforkable=unforkable)
        while True:
            order = agent.order()
            if order["order"] == "end":
                if self.script.get("bye", True):
                    agent.send("bye")
                os._exit(0)
            getattr(self, order["order"])(**{key: value for key, value in order.items() if key != "order"})

    def run(self, tests, again):
        for n in tests:
            run = 0
            outcome = self.attempt(n, run)
            while outcome in ("failed", "error") and run < again:
                run += 1
                outcome = self.attempt(n, run)
            if outcome == "stop":
                self.agent.send("stopped", cause="exit", why="the script says so")
                break
        self.agent.send("idle")

    def attempt(self, n, run):
        name = self.names[n]
        outcomes = self.script["tests"][name]
        if self.agent.environment != 0:
            outcomes = self.script.get("fresh", {}).get(name, outcomes)
        outcomes = [outcomes] if isinstance(outcomes, str) else outcomes
        times = self.times.get(name, 0)
        self.times[name] = times + 1
        outcome = outcomes[min(times, len(outcomes) - 1)]
        self.agent.send("start", n=n, run=run)
        seconds = self.script.get("seconds", 0)
        time.sleep(seconds)
        if outcome == "crash":
            die(signal.SIGSEGV)
        if outcome == "hang":
            hang()
        if outcome == "exit":
            os._exit(3)
        if outcome == "pgroup":
            sleep_in_background()
        told = "passed" if outcome in ("stop", "pgroup") else outcome
        details = {}
        if told in ("failed", "error"):
            phase = "call" if told == "failed" else "set-up"
            message = "attempt %d of %s in this process" % (times + 1, name)
            details["failure"] = {"phase": phase, "kind": "Scripted", "message": message, "trace": message}
            if "stdout" in self.script:
                details["stdout"] = self.script["stdout"]
        self.agent.send("done", n=n, run=run, outcome=told, seconds=seconds, **details)
        return outcome

    def fork(self, environment):
        agent = self.agent
        if self.script.get("unforkable"):
            agent.send("unforkable", environment=environment, why=self.script["unforkable"])
            return
        pid = os.fork()
        if pid:
            self.children[environment] = pid
            agent.send("forked", environment=environment, pid=pid)
            return
        os.setpgid(0, 0)
        agent.socket.close()
        agent.parent, agent.environment = agent.environment, environment
        agent.connect()
        agent.hello()
        self.children = {}
        if not self.script.get("shared"):
            self.times = {}

    def reap(self, environment):
        pid = self.children.pop(environment, None)
        how = {}
        if pid is not None:
            status = os.waitpid(pid, 0)[1]
            how = {"signal": os.WTERMSIG(status)} if os.WIFSIGNALED(status) else {"exit": os.WEXITSTATUS(status)}
        self.agent.send("reaped", environment=environment, **how)


def carry_out(agent, step):
    ((kind, value),) = step.items()
    if kind == "send":
        agent.send_raw(json.dumps(value) + "\n")
    elif kind == "hello":
        agent.hello(**(value if isinstance(value, dict) else {}))
    elif kind == "send_raw":
        agent.send_raw(value)
    elif kind == "expect":
        agent.expect(value)
    elif kind == "sleep":
        time.sleep(value)
    elif kind in ("print", "print_error"):
        print(value, file=sys.stdout if kind == "print" else sys.stderr, flush=True)
    elif kind == "close":
        agent.socket.close()
    elif kind == "exit":
        os._exit(value)
    elif kind == "signal":
        die(value)
    elif kind == "hang":
        hang(deaf=value == "deaf")
    elif kind == "spawn_daemon":
        daemon = sleep_in_background(start_new_session=True)
        with open(os.path.join(agent.side, "daemon"), "w") as file:
            file.write(str(daemon.pid))
    elif kind == "serve":
        Server(agent, value).serve()
    else:
        sys.exit("fake_agent: no such step: %s" % kind)


def main():
    with open(sys.argv[1]) as file:
        script = json.load(file)
    agent = Agent()
    try:
        for step in script:
            carry_out(agent, step)
    except (Left, BrokenPipeError, ConnectionResetError):
        os._exit(1)


if __name__ == "__main__":
    main()
