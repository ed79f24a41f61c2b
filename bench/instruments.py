"""Whether any instrument of the pytest agent changes an outcome: `python3 bench/instruments.py [SUITE …]`.

Released suites run in one process: under plain pytest, with the agent that records nothing, and with each instrument. Every outcome
is compared with that under plain pytest, test for test. What differs between two plain runs as well is counted apart.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import agent
import outcomes
import suites
from dependencies import environment

LAYERS = "assertion,code,branch,behaviour,interface"
INSTRUMENTS = {
    "agent alone": {},
    "all layers": {"UNFLAKE_LAYERS": LAYERS},
    "filter": {"UNFLAKE_LAYERS": "assertion", "UNFLAKE_FILTER": "yes"},
    "lines": {"UNFLAKE_TRACED": "lines", "UNFLAKE_TRACER": "native"},
    "values": {"UNFLAKE_TRACED": "values", "UNFLAKE_TRACER": "native"},
    "lines in Python": {"UNFLAKE_TRACED": "lines", "UNFLAKE_TRACER": "python"},
    "dependencies": {"UNFLAKE_DEPENDENCIES": "function"},
    "schedule": {"UNFLAKE_UNDER": "origins=1,2,3;schedule=7,200;page=/nowhere"},
    "state": {},
}


def play(instrument, answer, command):
    """Writes the outcomes of the suite in one process."""
    variables = dict(INSTRUMENTS[instrument])
    if variables.get("UNFLAKE_TRACER") == "native":
        variables["UNFLAKE_TRACER"] = str(agent.FROZEN / "unflake_agent" / "tracer.so")
    with agent.place() as (place, listener):
        with agent.started(command, place, listener, **variables) as (line, _):
            done = with_state(line) if instrument == "state" else line.run(range(len(line.tests)))
    found = {line.tests[one["n"]]: one["outcome"] for one in done}
    with open(answer, "w") as file:
        json.dump(found, file)


def with_state(line):
    done = []
    for test in range(len(line.tests)):
        line.order(order="remember")
        line.until("remembered", "problem")
        line.order(order="run", tests=[test], again=0, hold=True)
        done += [event for event in line.until("idle") if event["event"] == "done"]
        line.order(order="compare")
        line.until("changed", "problem")
    return done


def plain(python, suite):
    with tempfile.TemporaryDirectory() as place:
        file = os.path.join(place, "outcomes.json")
        variables = dict(suite.variables(path=[suites.HERE]), BENCH_OUTCOMES=file, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
        outcomes.run([*command(python, suite), "-p", "plain_outcomes"], suite, variables)
        with open(file) as text:
            return {test: outcomes.WORDS.get(outcome, outcome) for test, outcome in json.load(text).items()}


def command(python, suite):
    return [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *suite.options]


def under(instrument, python, suite):
    with tempfile.TemporaryDirectory() as place:
        answer = os.path.join(place, "outcomes.json")
        words = [sys.executable, __file__, "--play", instrument, answer, *command(python, suite)]
        variables = dict(suite.variables(), PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", BENCH_PLACE=str(suites.KEPT))
        done = subprocess.run(words, cwd=suite.directory, env=variables, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if done.returncode:
            raise SystemExit("%s, %s:\n%s" % (suite.name, instrument, done.stderr.decode(errors="replace")[-3000:]))
        with open(answer) as file:
            return json.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", default=[*suites.REAL, *suites.MORE])
    parser.add_argument("--python", default="3.13")
    parser.add_argument("--instruments", nargs="*", default=list(INSTRUMENTS), choices=list(INSTRUMENTS))
    parser.add_argument("--library", help="the native tracer; built here if it is not given")
    options = parser.parse_args()
    agent.freeze_tracer(options.library)
    python = environment(options.python) or sys.exit("there is no Python %s" % options.python)
    print("| suite | tests | %s |\n|---|--:|%s" % (" | ".join(options.instruments), "--:|" * len(options.instruments)), flush=True)
    total = 0
    for name in options.suites:
        suite = suites.real(name)
        expected = plain(python, suite)
        cells, began = [], time.time()
        for instrument in options.instruments:
            found = outcomes.differences(expected, under(instrument, python, suite))
            if found:
                again = {test for test, _, _ in outcomes.differences(expected, plain(python, suite))}
                own = [one for one in found if one[0] not in again]
                print("%s, %s: %s" % (name, instrument, found[:5]), file=sys.stderr, flush=True)
                total += len(own)
                cells.append(str(len(own)) if len(own) == len(found) else "%d (%d)" % (len(own), len(found)))
            else:
                cells.append("0")
        print("| %s | %d | %s |" % (suite.directory.name, len(expected), " | ".join(cells)), flush=True)
        print("%s: %.0f s" % (name, time.time() - began), file=sys.stderr, flush=True)
    sys.exit(1 if total else 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--play"]:
        play(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        main()
