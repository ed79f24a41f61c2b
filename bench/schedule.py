#!/usr/bin/env python3
"""Failures of races per CPU second: under schedules, plainly, and with a short switch interval of Python.

    schedule.py [--cpu 1] [--only TEXT] [--traced PROGRAM --plain PROGRAM --arguments TEXT --fixed TEXT]

Each Python specimen of `specimens/schedule` runs in one process, again and again, for so many CPU seconds in each way, one
way after the other; its fixed twin runs under the same schedules. A schedule has a new seed in each run. With `--traced` it
measures a native test program instead, built for tracing and plainly, in a new process for each run. Where nothing failed,
the ratio is a lower bound: as if one run had failed.
"""

import argparse
import glob
import importlib
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
AGENT = os.path.join(ROOT, "agents", "pytest")


def specimens(only):
    """Directory, module and the names of race and twin."""
    for path in sorted(glob.glob(os.path.join(ROOT, "specimens", "schedule", "python", "*", "specimen.toml"))):
        with open(path) as file:
            tests = re.findall(r'^(?:race|fixed) = "tests/(\w+)\.py::(\w+)"$', file.read(), re.MULTILINE)
        if only in path:
            yield os.path.dirname(path), tests[0][0], tests[0][1], tests[1][1]


def repeat(run, cpu, clock):
    """Failures, runs and CPU seconds."""
    failures, runs, start = 0, 0, clock()
    while clock() - start < cpu:
        runs += 1
        failures += run(runs)
    return failures, runs, clock() - start


def fails(test):
    try:
        test()
    except AssertionError:
        return 1
    return 0


def scheduled(test, root):
    """A function that runs a test under the schedule of a seed."""
    from unflake_agent.schedule.change_points import SeededPoints
    from unflake_agent.schedule.event_loop import LoopDelays
    from unflake_agent.schedule.threads import LineDelays, see_lines

    def name(code):
        return os.path.relpath(code.co_filename, root) if code.co_filename.startswith(root) else None

    def run(seed):
        delays = LineDelays(SeededPoints(seed), None, name, lambda point: None)
        parts = [delays, LoopDelays(delays), see_lines(delays)]
        for part in parts:
            part.begin()
        try:
            return fails(test)
        finally:
            for part in reversed(parts):
                part.end()

    return run


def report(name, ways, twin):
    """One line: failures in each way, and how many times as many per CPU second as in the others."""
    rate = {way: max(failed, 1) / cpu for way, (failed, _, cpu) in ways.items()}
    counts = ", ".join("%s %d of %d in %.1f s" % ((way,) + ways[way]) for way in ways)
    against = [(way, rate["schedule"] / rate[way], ways[way][0]) for way in ways if way != "schedule"]
    ratios = ", ".join("%s%.0f times %s" % ("" if failed else "at least ", ratio, way) for way, ratio, failed in against)
    print("%s: %s; %s; fixed %d of %d" % ((name, counts, ratios) + twin[:2]), flush=True)


def measure_python(cpu, only):
    sys.path.insert(0, AGENT)
    sys.dont_write_bytecode = True
    for directory, module, race, fixed in specimens(only):
        sys.path[:0] = [directory, os.path.join(directory, "tests")]
        tests = importlib.import_module(module)
        race, fixed = getattr(tests, race), getattr(tests, fixed)
        ways = {"plain": repeat(lambda _: fails(race), cpu, time.process_time)}
        usual = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        ways["switch interval"] = repeat(lambda _: fails(race), cpu, time.process_time)
        sys.setswitchinterval(usual)
        ways["schedule"] = repeat(scheduled(race, directory), cpu, time.process_time)
        report(os.path.basename(directory), ways, repeat(scheduled(fixed, directory), cpu, time.process_time))


def children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure_native(traced, plain, arguments, twin, cpu):
    place = tempfile.mkdtemp()

    def run(program, words, seed):
        variables = dict(os.environ)
        if seed is not None:
            shutil.rmtree(os.path.join(place, "trace"), ignore_errors=True)
            under = "origins=1,2,3;schedule=%d,0" % seed
            variables.update(UNFLAKE_TRACE=os.path.join(place, "trace"), UNFLAKE_UNDER=under)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return int(subprocess.run([program] + words, env=variables, **quiet).returncode != 0)

    try:
        ways = {
            "plain": repeat(lambda _: run(plain, arguments, None), cpu, children),
            "schedule": repeat(lambda seed: run(traced, arguments, seed), cpu, children),
        }
        report(os.path.basename(plain), ways, repeat(lambda seed: run(traced, twin, seed), cpu, children))
    finally:
        shutil.rmtree(place)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cpu", type=float, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--traced")
    parser.add_argument("--plain")
    parser.add_argument("--arguments", default="", help="that choose the race")
    parser.add_argument("--fixed", default="", help="arguments that choose its twin")
    options = parser.parse_args()
    if options.traced:
        words = options.arguments.split(), options.fixed.split()
        measure_native(options.traced, options.plain, *words, options.cpu)
    else:
        measure_python(options.cpu, options.only)


if __name__ == "__main__":
    main()
