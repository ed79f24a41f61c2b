"""Imports made-up histories of which the truth is known, scores them, and lays that beside flaky-tests-detection from PyPI.

Usage: python3 bench/history_score.py [--tests N] [--runs N] [--full] [--no-rival] [--seed N]
--full is 20,000 tests in 500 runs: ten million executions, about 1.2 GB of XML in the temporary directory.
"""

import argparse
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from datetime import datetime, timedelta, timezone
from pathlib import Path

import suites

RIVAL = "flaky-tests-detection==1.3.0"
VENV = suites.ROOT / ".venvs" / "bench-history-score"
# Of a hundred tests so many are each of these; the others are sound.
SHARES = {"independent": 2, "bursty": 0.5, "drifting": 0.5, "broken": 1, "fixed": 0.5, "newly flaky": 0.5}
BAD_DAYS = 3


class Truth:
    """One test: whether it fails in a run, and how likely a flaky failure is in the next."""

    def __init__(self, kind, runs, dice):
        self.kind, self.dice, self.runs = kind, dice, runs
        self.rate = dice.uniform(0.01, 0.3)
        self.to = dice.uniform(0.01, 0.3)
        self.goes_on = dice.uniform(0.5, 0.8)
        self.at = dice.randrange(runs // 4, runs * 3 // 4)
        self.until = self.at + dice.randint(4, 30)
        self.failing = False

    def probability(self, run):
        if self.kind == "independent":
            return self.rate
        if self.kind == "bursty":
            return self.goes_on if self.failing else self.rate / 5
        if self.kind == "drifting":
            return self.rate + (self.to - self.rate) * run / self.runs
        if self.kind == "fixed":
            return self.rate if run < self.at else 0.0
        if self.kind == "newly flaky":
            return self.rate if run >= self.at else 0.0
        return 0.0

    def fails(self, run):
        self.failing = self.dice.random() < self.probability(run)
        return self.failing or self.kind == "broken" and self.at <= run < self.until


def draw(tests, runs, seed):
    dice = random.Random(seed)
    kinds = [kind for kind, share in SHARES.items() for _ in range(max(1, round(tests * share / 100)))]
    kinds += ["sound"] * (tests - len(kinds))
    dice.shuffle(kinds)
    return [Truth(kind, runs, random.Random(seed * 1_000_003 + at)) for at, kind in enumerate(kinds)]


def name_of(at):
    return "tests.area_%d.test_module_%d" % (at // 1000, at // 20), "test_number_%d" % at


def write(place, truths, runs, seed):
    """One report a run, as pytest writes them. Returns the bytes."""
    dice = random.Random(seed + 1)
    bad_days = set(dice.sample(range(runs // 4, runs - 1), min(BAD_DAYS, runs // 10)))
    heads = []
    for at in range(len(truths)):
        heads.append('<testcase classname="%s" name="%s" time="' % name_of(at))
    odd = [at for at, truth in enumerate(truths) if truth.kind != "sound"]
    passes = ['%.3f" />' % (number / 1000) for number in range(100)]
    failure = '%.3f"><failure message="AssertionError: assert False">def test(): assert False</failure></testcase>'
    began, size = datetime(2026, 1, 1, tzinfo=timezone.utc), 0
    for run in range(runs):
        endings = [passes[(at * 7 + run) % 100] for at in range(len(truths))]
        for at in odd:
            if truths[at].fails(run):
                endings[at] = failure % 0.2
        if run in bad_days:
            for at in dice.sample(range(len(truths)), len(truths) * 7 // 10):
                endings[at] = failure % 0.2
        when = (began + timedelta(hours=4 * run)).isoformat()
        head = '<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest" tests="%d" timestamp="%s">' % (len(truths), when)
        text = head + "".join(map("".join, zip(heads, endings))) + "</testsuite></testsuites>"
        (place / ("TEST-%05d.xml" % run)).write_text(text)
        size += len(text)
    return size


class Took:
    """Seconds on the clock, and of the processor: on a busy machine only these say something."""

    def __init__(self, wall, cpu):
        self.wall, self.cpu = wall, cpu

    def __str__(self):
        return "%.2f s (%.2f s of the processor)" % (self.wall, self.cpu)


def timed(command, **more):
    def cpu():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    began, used = time.perf_counter(), cpu()
    more.setdefault("stderr", subprocess.PIPE)
    done = subprocess.run(command, stdout=subprocess.PIPE, universal_newlines=True, **more)
    if done.returncode:
        sys.exit("%s\n%s" % (" ".join(map(str, command)), (done.stderr or done.stdout)[-2000:]))
    return done.stdout, Took(time.perf_counter() - began, cpu() - used)


def found_by_unflake(unflake, place):
    _, took = timed([unflake, "history", "score"], cwd=place)
    answer, _ = timed([unflake, "history", "score", "--json", "-", "--all"], cwd=place)
    rows = [row for row in json.loads(answer)["findings"] if row["state"] != "broken"]
    return {row["test"].rpartition("::")[2]: row for row in rows}, took


def pages(unflake, place):
    """How long pages take: of twenty times each the median and the longest."""
    server = subprocess.Popen([unflake, "serve", "--port", "0"], cwd=place, stdout=subprocess.PIPE, universal_newlines=True)
    try:
        address = server.stdout.readline().strip().partition("?")[0]
        print("\n| page | bytes | median | longest |\n|---|---|---|---|")
        for path in ("", "inbox.json", "tests", "matrix", "runs", "test/1"):
            times, size = [], 0
            for _ in range(20):
                began = time.perf_counter()
                with urllib.request.urlopen(address + path) as answer:
                    size = len(answer.read())
                times.append(1000 * (time.perf_counter() - began))
            print("| /%s | %d | %.0f ms | %.0f ms |" % (path, size, sorted(times)[10], max(times)))
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()


def found_by_rival(reports, runs, wanted):
    """Its best window of several, so that it is not at a disadvantage."""
    if not (VENV / "bin" / "flaky").exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([VENV / "bin" / "pip", "install", "--quiet", RIVAL], check=True)
    answers = {}
    for size in (5, 10, 20):
        options = ["--grouping-option", "runs", "--window-size", str(size), "--window-count", str(runs // size), "--top-n", str(wanted)]
        answer, took = timed([VENV / "bin" / "flaky", "--junit-files", reports, *options], cwd=reports.parent, stderr=subprocess.STDOUT)
        found = re.findall(r"test_number_\d+", answer[answer.index("exponential") :])
        answers[size] = (list(dict.fromkeys(found))[:wanted], took)
    return answers


def precision(ranked, flaky):
    return sum(name in flaky for name in ranked[: len(flaky)]) / len(flaky)


def calibration(truths, runs, rows):
    """Of tests that are scored alike: how likely they were to fail, and how likely they are."""
    print("\n| scored | tests | score, mean | true, mean |\n|---|---|---|---|")
    bounds = [0, 0.01, 0.05, 0.1, 0.2, 0.4, 1.01]
    for low, high in zip(bounds, bounds[1:]):
        pairs = []
        for at, truth in enumerate(truths):
            row = rows.get(name_of(at)[1])
            scored = row["probability"] if row else 0.0
            if low <= scored < high:
                pairs.append((scored, truth.probability(runs)))
        if pairs:
            scored, true = (sum(pair[i] for pair in pairs) / len(pairs) for i in (0, 1))
            print("| %.2f to %.2f | %d | %.4f | %.4f |" % (low, min(high, 1), len(pairs), scored, true))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--no-rival", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.full:
        options.tests, options.runs, options.no_rival = 20_000, 500, True
    subprocess.run(["cargo", "build", "--quiet", "--release", "-p", "unflake"], cwd=suites.ROOT, check=True)
    unflake = suites.TARGET / "release" / "unflake"
    truths = draw(options.tests, options.runs, options.seed)
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        reports = place / "reports"
        reports.mkdir()
        size = write(reports, truths, options.runs, options.seed)
        executions = options.tests * options.runs
        print("%d executions of %d tests in %d reports, %.0f MB" % (executions, options.tests, options.runs, size / 1e6))
        _, took = timed([unflake, "history", "import", reports], cwd=place)
        rates = executions / took.wall, executions / took.cpu
        print("imported in %s: %.0f test cases a second (%.0f of the processor)" % (took, *rates))
        _, took = timed([unflake, "history", "import", reports], cwd=place)
        print("imported once more, which adds nothing, in %s" % took)
        store = sum(file.stat().st_size for file in (place / ".unflake").iterdir())
        print("the history is %.1f MB: %.1f bytes an execution" % (store / 1e6, store / executions))
        rows, took = found_by_unflake(unflake, place)
        print("all tests scored in %s" % took)
        pages(unflake, place)
        calibration(truths, options.runs, rows)
        flaky = {name_of(at)[1] for at, truth in enumerate(truths) if truth.probability(options.runs) > 0}
        ranked = sorted(rows, key=lambda name: -rows[name]["probability"])
        print("\n| of the %d tests ranked first, so many are flaky now | precision | took |\n|---|---|---|" % len(flaky))
        print("| unflake history score | %.2f | %s |" % (precision(ranked, flaky), took))
        if not options.no_rival:
            for window, (found, rival) in found_by_rival(reports, options.runs, len(flaky)).items():
                print("| %s, windows of %d runs | %.2f | %s |" % (RIVAL, window, precision(found, flaky), rival))


if __name__ == "__main__":
    main()
