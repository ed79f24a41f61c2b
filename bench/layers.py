"""What it costs to tell what a run looked like, side by side in one run: `python3 bench/layers.py`.

Whole suites in one process: plain pytest, the agent that tells nothing, with each layer, and with all of them. Contenders take turns.
CPU time counts the process and everything below it, and is the steadier of the two on a busy machine. What is told goes to TMPDIR.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import suites
from dependencies import Line, environment
from measure import Contender, alternate, least, median
from python_trace import FROZEN, freeze

LAYERS = "assertion", "code", "behaviour", "interface"
MODES = {"off": "", **{layer: layer for layer in LAYERS}, "all": ",".join(LAYERS)}


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
        if MODES[mode]:
            told["UNFLAKE_LAYERS"] = MODES[mode]
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(command, env=dict(os.environ, **told), stdin=quiet, stdout=quiet, stderr=quiet)
        agent = Line(listener)
        tests = agent.until("ready")[-1]["tests"]
        agent.order(order="run", tests=list(range(tests)), again=0)
        done = [event for event in agent.until("idle") if event["event"] == "done"]
        if mode != "off" and not all("layers" in event for event in done):
            raise SystemExit("an attempt does not tell what it looked like")
        agent.order(order="end")
        process.wait()
        if os.environ.get("SIZES"):
            print(mode, json.dumps(sizes(place)), file=sys.stderr)


def sizes(place):
    """How many lines of each kind there are, and how much it is."""
    found = {"bytes": 0}
    for file in Path(place).glob("layers-*"):
        found["bytes"] += file.stat().st_size
        for line in file.read_text().split("\n")[:-1]:
            kind = json.loads(line)[0]
            found[kind] = found.get(kind, 0) + 1
    return found


def contenders(python, suite, modes):
    variables = dict(suite.variables(), PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    pytest = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *suite.options]
    found = [Contender("pytest", pytest, suite.directory, variables)]
    for mode in modes:
        command = [sys.executable, __file__, "--play", mode, *pytest]
        found.append(Contender("agent, %s" % mode, command, suite.directory, variables))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--suites", nargs="*", default=["click", "jinja2", "marshmallow"])
    parser.add_argument("--pythons", nargs="*", default=["3.11", "3.13"])
    parser.add_argument("--modes", nargs="*", default=list(MODES), help="of the agent; `off` is what ratios are of")
    parser.add_argument("--library", help="the native tracer; built here if it is not given")
    options = parser.parse_args()
    freeze(options.library)
    print("| Python | suite | contender | CPU s, median / least | × agent off | wall s | × agent off |\n|---|---|---|---|---|---|---|")
    for version in options.pythons:
        python = environment(version)
        for name in options.suites if python else []:
            costs = alternate(contenders(python, suites.real(name), options.modes), options.times)
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
