"""What the ordered trace of Python costs, side by side in one run: `python3 bench/python_trace.py`.

Whole suites in one process: with the agent that traces nothing, with lines, with values, with lines in pure Python, and with coverage.py,
which notes that a line ran and not when. Contenders take turns. CPU time counts the process and everything below it, and is the
steadier of the two on a busy machine. Traces go to TMPDIR: in memory (`TMPDIR=/dev/shm`) a file costs microseconds, on a disk
up to milliseconds.
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
from dependencies import environment
from measure import Contender, alternate, compared

MODES = {"off": (None, None), "lines": ("lines", None), "values": ("values", None), "lines in Python": ("lines", "python")}


def play(mode, command):
    """The whole suite in one process."""
    traced, tracer = MODES[mode]
    with agent.place() as (place, listener):
        with agent.started(command, place, listener, UNFLAKE_TRACED=traced, UNFLAKE_TRACER=tracer) as (line, tests):
            done = line.run(range(tests))
            if mode != "off" and not all("trace" in event for event in done):
                raise SystemExit("an attempt has no trace")
        if os.environ.get("SIZES"):
            print(mode, json.dumps(sizes(place)), file=sys.stderr)


def sizes(place):
    """How much there is of it."""
    found = {"events": 0, "values": 0, "bytes": 0}
    for file in Path(place).glob("trace-*/*/*"):
        found["bytes"] += file.stat().st_size
        if file.name.startswith("thread-"):
            found["events"] += (file.stat().st_size - 256) // 4
        elif file.name.startswith("values-"):
            found["values"] += file.read_bytes().count(b"\n")
    return found


def contenders(python, suite, directory, modes):
    variables = dict(suite.variables(), PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    pytest = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *suite.options]
    found = [Contender("pytest", pytest, suite.directory, variables)]
    for mode in modes:
        command = [sys.executable, __file__, "--play", mode, *pytest]
        found.append(Contender("agent, %s" % mode, command, suite.directory, variables))
    for core in ("ctrace", "sysmon"):
        if core == "sysmon" and subprocess.run([python, "-c", "import sys; sys.monitoring"], stderr=subprocess.DEVNULL).returncode:
            continue
        covered = dict(variables, COVERAGE_FILE=os.path.join(directory, "coverage"), COVERAGE_CORE=core)
        command = [python, "-m", "coverage", "run", "--source=src,tests", *pytest[1:]]
        found.append(Contender("coverage.py, %s" % core, command, suite.directory, covered))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--suites", nargs="*", default=["jinja2", "marshmallow"])
    parser.add_argument("--pythons", nargs="*", default=["3.11", "3.13"])
    parser.add_argument("--modes", nargs="*", default=list(MODES), help="of the agent")
    parser.add_argument("--library", help="the native tracer; built here if it is not given")
    options = parser.parse_args()
    agent.freeze_tracer(options.library)
    print("| Python | suite | contender | CPU s, median / least | × agent off | wall s | × agent off |\n|---|---|---|---|---|---|---|")
    for version in options.pythons:
        python = environment(version)
        for name in options.suites if python else []:
            directory = tempfile.mkdtemp()
            costs = alternate(contenders(python, suites.real(name), directory, options.modes), options.times)
            shutil.rmtree(directory)
            base = costs["agent, off"]
            for contender, cost in costs.items():
                print("| %s |" % " | ".join([version, name, contender, *compared(cost, base)]), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--play"]:
        play(sys.argv[2], sys.argv[3:])
    else:
        main()
