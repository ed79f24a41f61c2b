"""A scripted agent without a runner, to test unflake itself: `python3 fake_agent.py script.json`.

It reads the variables of a real agent (UNFLAKE_SOCKET, UNFLAKE_ENVIRONMENT, …) and executes the
script, a JSON list of steps. After the last step it exits with status 0.

    {"send": {"event": "note", "text": "x"}}    send a message
    {"hello": {…}}                              send `hello` with these fields changed
    {"send_raw": "not json"}                    send a text without a newline
    {"expect": "run"}                           wait for an order of this kind, drop others
    {"sleep": 0.2}                              seconds
    {"print": "text"}, {"print_error": "text"}  write to standard output or error
    {"close": true}                             close the connection and continue
    {"exit": 3}, {"signal": 11}                 end at once
    {"hang": true}                              wait forever; "deaf" ignores SIGTERM and SIGINT
    {"spawn_daemon": true}                      start a `sleep 1000` in a new session; its pid
                                                goes to the file `daemon` in the side directory
    {"serve": {"tests": {"a": ["failed", "passed"], "b": "passed"}}}
                                                be a complete agent until `end`

`serve` sends `hello`, lists the tests and executes orders. Each run of a test takes its next
outcome; the last one repeats. Outcomes are those of the protocol and

- "crash": SIGSEGV in the test,
- "hang": waits forever,
- "exit": the process exits with status 3,
- "stop": passes, then the runner wants to stop,
- "pgroup": leaves a `sleep 1000` in the agent's process group, then passes.

Further fields of `serve`:

- "shared": true: a forked process continues with the outcomes of its parent. By default it starts
  again with the first ones, as a fresh environment would.
- "fresh": {"a": "passed"}: other outcomes of a test in every process but the first.
- "unforkable": "why"; "seconds": 0.1, how long a test sleeps; "deselected": 2; "stdout": "text" of
  failures; "bye": false, to exit without it.
- "meet": [3, 0.5]: in environments without other seeds but the first, a test waits until three tests
  run at the same time, but at most half a second. It passes if they do.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time


class ConnectionClosed(Exception):
    """unflake has closed the connection."""


class FakeAgent:
    def __init__(self):
        self.environment = int(os.environ.get("UNFLAKE_ENVIRONMENT", "0"))
        self.parent = None
        self.path = os.environ["UNFLAKE_SOCKET"]
        self.side = os.environ.get("UNFLAKE_SIDE", ".")
        self.connect()

    def connect(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(self.path)
        self.received = b""

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

    def next_order(self):
        while b"\n" not in self.received:
            data = self.socket.recv(65536)
            if not data:
                raise ConnectionClosed
            self.received += data
        line, self.received = self.received.split(b"\n", 1)
        return json.loads(line)

    def expect(self, kind):
        while self.next_order()["order"] != kind:
            pass


def start_sleep(**options):
    no_streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(["sleep", "1000"], **no_streams, **options)


def hang(ignores_signals=False):
    if ignores_signals:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        time.sleep(1000)


def meet(agent, tests, seconds):
    """Whether so many tests run at the same time. The first that sees it lets all go on."""
    directory = agent.side
    # Not the process id: private processes may have the same.
    here, met = (os.path.join(directory, name) for name in ("here-%d" % agent.environment, "met"))
    deadline = time.monotonic() + seconds
    open(here, "w").close()
    while not os.path.exists(met) and time.monotonic() < deadline:
        if sum(name.startswith("here-") for name in os.listdir(directory)) >= tests:
            open(met, "w").close()
        time.sleep(0.01)
    os.remove(here)
    return os.path.exists(met)


def kill_self(number):
    signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None
    os.kill(os.getpid(), number)
    time.sleep(10)


class AgentServer:
    """A complete agent, for the step `serve`."""

    def __init__(self, agent, script):
        self.agent = agent
        self.script = script
        self.names = list(script["tests"])
        self.runs = {}
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
            fields = agent.next_order()
            kind = fields.pop("order")
            if kind == "end":
                if self.script.get("bye", True):
                    agent.send("bye")
                os._exit(0)
            getattr(self, kind)(**fields)

    def run(self, tests, again, **_):
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
        runs = self.runs.get(name, 0)
        self.runs[name] = runs + 1
        outcome = outcomes[min(runs, len(outcomes) - 1)]
        self.agent.send("start", n=n, run=run)
        seconds = self.script.get("seconds", 0)
        time.sleep(seconds)
        is_fork = self.agent.environment != 0 and "PYTHONHASHSEED" not in os.environ
        if is_fork and "meet" in self.script and meet(self.agent, *self.script["meet"]):
            outcome = "passed"
        if outcome == "crash":
            kill_self(signal.SIGSEGV)
        if outcome == "hang":
            hang()
        if outcome == "exit":
            os._exit(3)
        if outcome == "pgroup":
            start_sleep()
        reported = "passed" if outcome in ("stop", "pgroup") else outcome
        details = {}
        if reported in ("failed", "error"):
            phase = "call" if reported == "failed" else "set-up"
            message = "attempt %d of %s in this process" % (runs + 1, name)
            details["failure"] = {"phase": phase, "kind": "Scripted", "message": message, "trace": message}
            if "stdout" in self.script:
                details["stdout"] = self.script["stdout"]
        self.agent.send("done", n=n, run=run, outcome=reported, seconds=seconds, **details)
        return outcome

    def fork(self, environment, private=False, seed=None, settings=None):
        """Its tests use no files, draw nothing and have one thread: private worlds, seeds and schedules change nothing."""
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
            self.runs = {}

    def reap(self, environment):
        pid = self.children.pop(environment, None)
        status = {}
        if pid is not None:
            status = os.waitpid(pid, 0)[1]
            status = {"signal": os.WTERMSIG(status)} if os.WIFSIGNALED(status) else {"exit": os.WEXITSTATUS(status)}
        self.agent.send("reaped", environment=environment, **status)


def execute(agent, step):
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
        kill_self(value)
    elif kind == "hang":
        hang(ignores_signals=value == "deaf")
    elif kind == "spawn_daemon":
        daemon = start_sleep(start_new_session=True)
        with open(os.path.join(agent.side, "daemon"), "w") as file:
            file.write(str(daemon.pid))
    elif kind == "serve":
        AgentServer(agent, value).serve()
    else:
        sys.exit("fake_agent: no such step: %s" % kind)


def main():
    with open(sys.argv[1]) as file:
        script = json.load(file)
    agent = FakeAgent()
    try:
        for step in script:
            execute(agent, step)
    except (ConnectionClosed, BrokenPipeError, ConnectionResetError):
        os._exit(1)


if __name__ == "__main__":
    main()
