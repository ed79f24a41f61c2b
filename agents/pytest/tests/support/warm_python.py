"""Starts pytest in forks of an interpreter that has imported it and nothing else.

Starting Python and importing pytest take most of the time of a test of the agent. The interpreter
runs this file. It reads a request per line and forks twice for each: a process that waits, and
pytest itself.
"""

import json
import os
import runpy
import select
import signal
import subprocess
import sys
import tempfile
import time


class WarmPython:
    """The interpreter to fork. It ends with the process that started it."""

    def __init__(self, environment):
        self._directory = tempfile.TemporaryDirectory(prefix="uf-warm")
        self._starts = 0
        self._process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, env=environment)

    def start(self, arguments, directory, environment):
        """`python -m pytest ARGUMENTS` in this directory, with standard output and error in one stream."""
        self._starts += 1
        pipes = [os.path.join(self._directory.name, "%s-%d" % (name, self._starts)) for name in ("status", "output")]
        for path in pipes:
            os.mkfifo(path)
        request = {"arguments": arguments, "directory": directory, "environment": environment, "pipes": pipes}
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        started = WarmProcess(*pipes)
        for path in pipes:
            os.unlink(path)
        return started


class WarmProcess:
    """A started pytest, with the methods of `subprocess.Popen` that tests use."""

    def __init__(self, status, output):
        # Opening a named pipe waits for the other side.
        self._status = open(status, "rb", buffering=0)
        self.pid = int(self._status_line())
        self.stdout = open(output, "rb", buffering=0)
        self.returncode = None

    def _status_line(self):
        line = b""
        while not line.endswith(b"\n"):
            read = self._status.read(1)
            if not read:
                raise ChildProcessError("the interpreter with pytest has ended")
            line += read
        return line

    def poll(self):
        return self.wait() if self._is_readable(self._status, 0) else self.returncode

    def wait(self):
        if self.returncode is None:
            self.returncode = int(self._status_line())
            self._status.close()
        return self.returncode

    def communicate(self, timeout):
        output, deadline = b"", time.monotonic() + timeout
        while True:
            if not self._is_readable(self.stdout, max(0, deadline - time.monotonic())):
                raise subprocess.TimeoutExpired("pytest", timeout, output)
            read = self.stdout.read(1 << 16)
            if not read:
                self.wait()
                return output, None
            output += read

    def kill(self):
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    @staticmethod
    def _is_readable(file, timeout):
        return not file.closed and bool(select.select([file], [], [], timeout)[0])


def _serve():
    import pytest  # noqa: F401
    from _pytest.config import default_plugins

    for name in default_plugins:
        __import__("_pytest." + name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        line = sys.stdin.buffer.readline()
        if not line:
            return
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _wait_for_pytest(json.loads(line.decode()))


def _wait_for_pytest(request):
    status, output = request["pipes"]
    pid = os.fork()
    if pid == 0:
        _run_pytest(request, output)
    report = open(status, "wb", buffering=0)
    report.write(b"%d\n" % pid)
    _, how = os.waitpid(pid, 0)
    report.write(b"%d\n" % (-os.WTERMSIG(how) if os.WIFSIGNALED(how) else os.WEXITSTATUS(how)))
    os._exit(0)


def _run_pytest(request, output):
    """Becomes what `python -m pytest` is before its first line."""
    os.setpgrp()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    for descriptor, path, flags in ((0, os.devnull, os.O_RDONLY), (1, output, os.O_WRONLY)):
        opened = os.open(path, flags)
        os.dup2(opened, descriptor)
        os.close(opened)
    os.dup2(1, 2)
    sys.stdin = open(0)
    entries = request["environment"].get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [request["directory"]] + [entry for entry in entries if entry] + sys.path[1:]
    sys.argv[:] = ["-m"] + request["arguments"]
    runpy.run_module("pytest", run_name="__main__", alter_sys=True)
    sys.exit(0)


if __name__ == "__main__":
    _serve()
