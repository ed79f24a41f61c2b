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
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import suites
from dependencies import Line, environment
from measure import Contender, alternate, least, median

AGENT = suites.ROOT / "agents" / "pytest"
# As it was when the bench began, whatever is changed meanwhile.
FROZEN = suites.ROOT / ".venvs" / "bench-trace-agent"
MODES = {"off": (None, None), "lines": ("lines", None), "values": ("values", None), "lines in Python": ("lines", "python")}


def play(mode, command):
    """Plays unflake to a pytest that runs its whole suite."""
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
        for name, value in zip(("UNFLAKE_TRACED", "UNFLAKE_TRACER"), MODES[mode]):
            if value:
                told[name] = value
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(command, env=dict(os.environ, **told), stdin=quiet, stdout=quiet, stderr=quiet)
        agent = Line(listener)
        tests = agent.until("ready")[-1]["tests"]
        agent.order(order="run", tests=list(range(tests)), again=0)
        done = [event for event in agent.until("idle") if event["event"] == "done"]
        if mode != "off" and not all("trace" in event for event in done):
            raise SystemExit("an attempt has no trace")
        agent.order(order="end")
        process.wait()
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


def freeze(library):
    shutil.rmtree(FROZEN, ignore_errors=True)
    shutil.copytree(AGENT / "unflake_agent", FROZEN / "unflake_agent", ignore=shutil.ignore_patterns("__pycache__"))
    if library is None:
        library = FROZEN / "unflake_agent" / "tracer.so"
        rustc = "rustc --edition 2024 --crate-type cdylib -C opt-level=3 -C panic=abort -C codegen-units=1 -C strip=symbols -o"
        subprocess.run([*rustc.split(), library, AGENT / "tracer" / "tracer.rs"], check=True)
    else:
        shutil.copy(library, FROZEN / "unflake_agent" / "tracer.so")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--suites", nargs="*", default=["jinja2", "marshmallow"])
    parser.add_argument("--pythons", nargs="*", default=["3.11", "3.13"])
    parser.add_argument("--modes", nargs="*", default=list(MODES), help="of the agent")
    parser.add_argument("--library", help="the native tracer; built here if it is not given")
    options = parser.parse_args()
    freeze(options.library)
    print("| Python | suite | contender | CPU s, median / least | × agent off | wall s | × agent off |\n|---|---|---|---|---|---|---|")
    for version in options.pythons:
        python = environment(version)
        for name in options.suites if python else []:
            directory = tempfile.mkdtemp()
            costs = alternate(contenders(python, suites.real(name), directory, options.modes), options.times)
            shutil.rmtree(directory)
            base = costs["agent, off"]
            for contender, cost in costs.items():
                row = [version, name, contender]
                for what in ("cpu", "wall"):
                    row.append("%.2f / %.2f" % (median(cost, what), least(cost, what)))
                    row.append("%.2f / %.2f" % (median(cost, what) / median(base, what), least(cost, what) / least(base, what)))
                print("| %s |" % " | ".join(row), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--play"]:
        play(sys.argv[2], sys.argv[3:])
    else:
        main()
