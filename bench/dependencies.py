"""The cost of recording what each test depends on, side by side in one run: `python3 bench/dependencies.py`.

Whole suites in one process; and fresh attempts as a verdict has them: a pytest that collects only the files of the
failing tests and is forked for each of these. Contenders take turns. CPU time counts the process and everything below it,
and is the steadier of the two on a busy machine.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import agent
import suites
from measure import Contender, alternate, compared

PEERS = ["coverage==7.17.2", "pytest-cov==7.1.0"]
MAYBE = ["pytest-testmon"]


def play(mode, fresh, command):
    """The whole suite in one process, or `fresh` of its tests, from as many files as there are, each in a fork."""
    with agent.place() as (place, listener):
        only = None
        if fresh:
            files = sorted(str(file) for file in Path("tests").absolute().glob("test_*.py"))
            only = place + "/only"
            Path(only).write_text(json.dumps(evenly(files, fresh)))
        settings = {"UNFLAKE_DEPENDENCIES": None if mode == "off" else mode, "UNFLAKE_ONLY": only}
        with agent.started(command, place, listener, **settings) as (line, tests):
            done = in_forks(line, listener, evenly(range(tests), fresh)) if fresh else line.run(range(tests))
        if mode != "off":
            files = [json.loads(Path(event["dependencies"]).read_text()) for event in done[:: max(1, len(done) // 20)]]
            known = sum(not file["unknown"] for file in files)
            sys.stderr.write("%d of %d recorded have nothing unknown\n" % (known, len(files)))


def in_forks(line, listener, tests):
    done = []
    for number, test in enumerate(tests, 1):
        line.order(order="fork", environment=number)
        copy = agent.Line(listener)
        done += copy.run([test])
        copy.order(order="end")
        line.until("forked")
        line.order(order="reap", environment=number)
        line.until("reaped")
    return done


def evenly(all, number):
    """So many of them, spread over all."""
    number = min(number, len(all))
    return [all[len(all) * one // number] for one in range(number)]


def environment(version):
    """A virtual environment with what the suites and the peers need, for this version of Python; None where it is not here."""
    sys.path.insert(0, str(agent.AGENT))
    from matrix import interpreters

    python = interpreters().get(version)
    if python is None:
        return None
    place = suites.KEPT / ("bench-dependencies-" + version)
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
        # By test, as the recordings here: pytest-cov names the test that runs.
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
    agent.freeze()
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
                    row = [version, name, "%d fresh" % fresh if fresh else "whole", contender, *compared(cost, base)]
                    print("| %s |" % " | ".join(row), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--play"]:
        play(sys.argv[2], int(sys.argv[4]), sys.argv[5:])
    else:
        main()
