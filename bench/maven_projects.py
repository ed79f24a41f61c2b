"""unflake against plain `mvn test` on whole Maven projects: `python3 bench/maven_projects.py DIRECTORY...`.

Each directory is a clone that has been built once with its dependencies downloaded. Outcomes are
compared, test for test, with Surefire's reports; then both are timed by turns, with everything
compiled. The first round of unflake, which unpacks its agent, does not count.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

import jvm

ROOT = Path(__file__).resolve().parent.parent
MAVEN = ["mvn", "-o", "-B", "-q", "test"]


def run(command, place):
    """Seconds and exit code."""
    began = time.monotonic()
    done = subprocess.run(command, cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - began, done.returncode


def surefire(place):
    merged = {}
    for reports in place.rglob("target/surefire-reports"):
        for (name, outcome), count in jvm.surefire(reports.parent.parent).items():
            merged[name, outcome] = merged.get((name, outcome), 0) + count
    return merged


def differences(place, report):
    """How many names there are, and which have other outcomes."""
    found = jvm.without_numbers(jvm.ours(json.loads(report.read_text())))
    plain = jvm.without_numbers(surefire(place))
    return plain, sorted(name for name in plain.keys() | found.keys() if plain.get(name) != found.get(name)), found


def main():
    words = argparse.ArgumentParser()
    words.add_argument("projects", nargs="+", type=Path)
    words.add_argument("--unflake", default=str(ROOT / "target" / "debug" / "unflake"))
    words.add_argument("--rounds", type=int, default=3)
    given = words.parse_args()
    for place in given.projects:
        for reports in place.rglob("target/surefire-reports/*.xml"):
            reports.unlink()
        with tempfile.TemporaryDirectory() as parent:
            report = Path(parent, "report.json")
            unflake = [given.unflake, "run", "--store", parent + "/history", "--json", str(report), "--", *MAVEN]
            plain_code = run(MAVEN, place)[1]
            code = run(unflake, place)[1]
            plain, differing, found = differences(place, report)
            print("%s: %d tests, %d names, %d differ, exit %d and %d, load %.1f" % (
                place.name, sum(surefire(place).values()), len(plain), len(differing), plain_code, code, os.getloadavg()[0]), flush=True)
            for name in differing[:10]:
                print("   ", name, plain.get(name), found.get(name))
            times = [(run(MAVEN, place)[0], run(unflake, place)[0]) for _ in range(given.rounds)]
            one, two = median(one for one, _ in times), median(two for _, two in times)
            ratio = median(two / one for one, two in times)
            print("    Maven %.1f s, unflake %.1f s, %.2f times (medians of %d), load %.1f" % (
                one, two, ratio, len(times), os.getloadavg()[0]), flush=True)


if __name__ == "__main__":
    main()
