"""What it costs to be told what each test depended on, side by side in one run: `python3 bench/dependencies.py`.

Whole suites in one process; and fresh attempts as a verdict has them: a pytest that collects only the files of the
failing tests and is forked for each of these. Contenders take turns. CPU time counts the process and everything below it,
and is the steadier of the two on a busy machine.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import suites
from measure import Contender, alternate, least, median

AGENT = suites.ROOT / "agents" / "pytest"
# As it was when the bench began, whatever is changed meanwhile.
FROZEN = suites.ROOT / ".venvs" / "bench-dependencies-agent"
PEERS = ["coverage==7.17.2", "pytest-cov==7.1.0"]
MAYBE = ["pytest-testmon"]


class Line:
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


def play(mode, fresh, command):
    """Plays unflake to a pytest: the whole suite in one process, or `fresh` of its tests, from as many files as there
    are, each in a fork."""
    with tempfile.TemporaryDirectory() as place:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(place + "/s")
        listener.listen(8)
        listener.settimeout(120)
        path = os.environ.get("PYTHONPATH")
        told = {
            "PYTHONPATH": str(FROZEN) + (os.pathsep + path if path else ""),
            "PYTEST_PLUGINS": "unflake_agent",
            "UNFLAKE_SOCKET": place + "/s",
            "UNFLAKE_SIDE": place,
            "UNFLAKE_REPORTS": "no",
            "UNFLAKE_RESTORE": json.dumps({"PYTHONPATH": path, "PYTEST_PLUGINS": None}),
        }
        if mode != "off":
            told["UNFLAKE_DEPENDENCIES"] = mode
        if fresh:
            files = sorted(str(file) for file in Path("tests").absolute().glob("test_*.py"))
            told["UNFLAKE_ONLY"] = place + "/only"
            Path(told["UNFLAKE_ONLY"]).write_text(json.dumps(evenly(files, fresh)))
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(command, env=dict(os.environ, **told), stdin=quiet, stdout=quiet, stderr=quiet)
        agent = Line(listener)
        tests = agent.until("ready")[-1]["tests"]
        done = []
        if fresh:
            for number, test in enumerate(evenly(range(tests), fresh), 1):
                agent.order(order="fork", environment=number)
                copy = Line(listener)
                copy.order(order="run", tests=[test], again=0)
                done += [event for event in copy.until("idle") if event["event"] == "done"]
                copy.order(order="end")
                agent.until("forked")
                agent.order(order="reap", environment=number)
                agent.until("reaped")
        else:
            agent.order(order="run", tests=list(range(tests)), again=0)
            done = [event for event in agent.until("idle") if event["event"] == "done"]
        if mode != "off":
            files = [json.loads(Path(event["dependencies"]).read_text()) for event in done[:: max(1, len(done) // 20)]]
            known = sum(not file["unknown"] for file in files)
            sys.stderr.write("%d of %d looked at have nothing unknown\n" % (known, len(files)))
        agent.order(order="end")
        process.wait()


def evenly(all, number):
    """So many of them, spread over all."""
    number = min(number, len(all))
    return [all[len(all) * one // number] for one in range(number)]


def environment(version):
    """A virtual environment with what the suites and the peers need, for this version of Python; None where it is not here."""
    sys.path.insert(0, str(AGENT))
    from matrix import interpreters

    python = interpreters().get(version)
    if python is None:
        return None
    place = suites.ROOT / ".venvs" / ("bench-dependencies-" + version)
    inside = str(place / "bin" / "python")
    if not (place / "ready").exists():
        subprocess.run([python, "-m", "venv", "--clear", place], check=True)
        pip = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run(pip + suites.PACKAGES + PEERS, check=True)
        subprocess.run(pip + ["--no-deps"] + MAYBE)
        (place / "ready").write_text("")
    return inside


def contenders(python, suite, fresh, directory):
    variables = dict(suite.variables(), PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    pytest = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *suite.options]
    found = []
    if not fresh:
        found.append(Contender("pytest", pytest, suite.directory, variables))
    for mode in ("off", "file", "function"):
        command = [sys.executable, __file__, "--play", mode, "--tests", str(fresh), *pytest]
        found.append(Contender("agent, %s" % mode, command, suite.directory, variables))
    if not fresh:
        covered = dict(variables, COVERAGE_FILE=os.path.join(directory, "coverage"))
        command = [python, "-m", "coverage", "run", "--source=src", *pytest[1:]]
        found.append(Contender("coverage.py", command, suite.directory, covered))
        # By test, as what is told here: pytest-cov names the test that runs.
        command = [*pytest, "-p", "pytest_cov", "--cov=src", "--cov-context=test", "--cov-report="]
        found.append(Contender("coverage.py by test", command, suite.directory, covered))
        if subprocess.run([python, "-c", "import testmon"], stderr=subprocess.DEVNULL).returncode == 0:
            # From nothing each time: what is measured is the watching, not what is left out afterwards.
            tested = dict(variables, TESTMON_DATAFILE=os.path.join(directory, "testmon"))
            # It wants the cache plugin to be there.
            plain = [python, "-m", "pytest", "-q", "-o", "cache_dir=%s/cache" % directory, *suite.options]
            command = ["sh", "-c", 'rm -f "$TESTMON_DATAFILE"*; exec "$@"', "sh", *plain, "-p", "testmon.pytest_testmon", "--testmon"]
            found.append(Contender("pytest-testmon", command, suite.directory, tested))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--suites", nargs="*", default=["click", "jinja2", "marshmallow", "packaging"])
    parser.add_argument("--pythons", nargs="*", default=["3.11", "3.13"])
    parser.add_argument("--tests", type=int, nargs="*", default=[0, 1, 10], help="how many are run in forks; 0: the suite as a whole")
    options = parser.parse_args()
    shutil.rmtree(FROZEN, ignore_errors=True)
    shutil.copytree(AGENT / "unflake_agent", FROZEN / "unflake_agent", ignore=shutil.ignore_patterns("__pycache__"))
    print("| Python | suite | what | contender | CPU s, median / least | × agent off | wall s | × agent off |\n|---|---|---|---|---|---|---|---|")
    for version in options.pythons:
        python = environment(version)
        for name in options.suites if python else []:
            for fresh in options.tests:
                directory = tempfile.mkdtemp()
                costs = alternate(contenders(python, suites.real(name), fresh, directory), options.times)
                shutil.rmtree(directory)
                base = costs["agent, off"]
                for contender, cost in costs.items():
                    row = [version, name, "%d fresh" % fresh if fresh else "whole", contender]
                    for what in ("cpu", "wall"):
                        row.append("%.2f / %.2f" % (median(cost, what), least(cost, what)))
                        row.append("%.2f / %.2f" % (median(cost, what) / median(base, what), least(cost, what) / least(base, what)))
                    print("| %s |" % " | ".join(row), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--play"]:
        play(sys.argv[2], int(sys.argv[4]), sys.argv[5:])
    else:
        main()
