"""What it costs to tell what a run looked like, side by side in one run: `python3 bench/layers.py`.

Whole suites in one process: plain pytest, the agent that tells nothing, with each layer, and with all of them. Contenders take turns.
CPU time counts the process and everything below it, and is the steadier of the two on a busy machine. Recordings go to TMPDIR.
"""

import argparse
import json
import os
import sys
from pathlib import Path

import agent
import suites
from dependencies import environment
from measure import Contender, alternate, compared

LAYERS = "assertion", "code", "branch", "behaviour", "interface"
MODES = {"off": "", **{layer: layer for layer in LAYERS}, "all": ",".join(LAYERS)}


def play(mode, command):
    """The whole suite in one process."""
    with agent.place() as (place, listener):
        with agent.started(command, place, listener, UNFLAKE_LAYERS=MODES[mode]) as (line, tests):
            done = line.run(range(tests))
            if mode != "off" and not all("layers" in event for event in done):
                raise SystemExit("an attempt has no layers")
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
    agent.freeze_tracer(options.library)
    print("| Python | suite | contender | CPU s, median / least | × agent off | wall s | × agent off |\n|---|---|---|---|---|---|---|")
    for version in options.pythons:
        python = environment(version)
        for name in options.suites if python else []:
            costs = alternate(contenders(python, suites.real(name), options.modes), options.times)
            base = costs["agent, off"]
            for contender, cost in costs.items():
                print("| %s |" % " | ".join([version, name, contender, *compared(cost, base)]), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--play"]:
        play(sys.argv[2], sys.argv[3:])
    else:
        main()
