"""Runs plain pytest many times: a process that has imported pytest, and nothing of the project, is forked for each.

Starting Python and importing pytest takes longer than many suites. Reads one request per line (JSON: `directory`, `arguments`,
`variables`, `file`, `seconds`), writes one line: the exit code, or `hangs`.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path


class PlainRuns:
    """The other side: asks a server for runs."""

    def __init__(self, python, variables):
        self._variables = variables
        self._server = subprocess.Popen(
            [python, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def outcomes(self, directory, arguments, seconds):
        """By test. None where the tests cannot be collected. Raises TimeoutError."""
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            request = {"directory": str(directory), "arguments": arguments, "variables": self._variables, "file": file.name, "seconds": seconds}
            self._server.stdin.write(json.dumps(request) + "\n")
            self._server.stdin.flush()
            answer = self._server.stdout.readline().strip()
            if answer == "hangs":
                raise TimeoutError
            return json.loads(Path(file.name).read_text()) if answer in ("0", "1") else None


def child(request):
    import pytest

    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):
        os.dup2(null, number)
    os.chdir(request["directory"])
    os.environ.update(request["variables"], BENCH_OUTCOMES=request["file"])
    sys.path[1:1] = request["variables"].get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [request["directory"], *filter(None, sys.path), os.path.dirname(os.path.abspath(__file__))]
    sys.argv = ["pytest", *request["arguments"]]
    return int(pytest.main([*request["arguments"], "-p", "plain_outcomes"]))


def serve():
    import _pytest.main  # noqa: F401

    for line in sys.stdin:
        request = json.loads(line)
        pid = os.fork()
        if pid == 0:
            code = 70
            try:
                code = child(request)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        end, answer = time.monotonic() + request["seconds"], None
        while answer is None:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                answer = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > end:
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                answer = "hangs"
            else:
                time.sleep(0.01)
        print(answer, flush=True)


if __name__ == "__main__":
    serve()
