"""What `unflake why` finds in the specimens of every technique: `python3 bench/why.py [PART OF A PATH]`.

One test of each specimen that says what must be found, with the kind and the confidence of the root cause, the executions
and the seconds it took. *right* is the cause that the specimen names: its line, factor, polluter or schedule; *related* is
another true finding (a seed where a line is asked for, a delay where a factor is). A specimen without a flaw must be
explained by nothing. unflake is the one that is built below the target directory (CARGO_TARGET_DIR, --profile).
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib

from run import Table
from suites import ROOT, TARGET

SPECIMENS = ROOT / "specimens"


def wanted(specimen):
    """The test to diagnose, and a function from the best finding to right, related or wrong. None: nothing is asked."""
    if "why" in specimen:
        why = specimen["why"]
        return why["test"], lambda one, all: by_why(one, all, why)
    if "factors" in specimen and "test" in specimen["factors"]:
        factors = specimen["factors"]
        return factors["test"], lambda one, all: by_factor(one, all, factors.get("kind", "none"))
    if "locate" in specimen:
        locate = specimen["locate"]
        return locate["test"], lambda one, all: by_line(one, all, locate)
    for table in ("order", "nio"):
        for finding in specimen.get(table, {}).get("finding", []):
            if finding.get("kind") in ("victim", "brittle", "nio"):
                return finding["test"], lambda one, all: by_state(one, all, finding)
    return None


def by_why(one, all, why):
    is_right = one["technique"] == why["technique"] and why.get("contains", "") in json.dumps(one)
    return "right" if is_right else "related" if any(other["technique"] == why["technique"] for other in all) else "wrong"


def by_factor(one, all, kind):
    if kind == "none":
        return "wrong"
    kinds = kind.split("+")
    found = [set(other["kind"].split("+")) for other in all if other["technique"] == "factor"]
    if any(set(kinds) <= names for names in found):
        return "right"
    return "related" if one["technique"] in ("divergence", "factor") else "wrong"


def by_line(one, all, locate):
    places = lambda name: [line["at"] for line in locate.get(name, [])]
    found = [place(other) for other in all if other["technique"] == "divergence"]
    if any(at in places("exact") for at in found):
        return "right"
    is_related = any(at in places("relevant") for at in found) or one["technique"] == "factor"
    return "related" if is_related else "wrong"


def by_state(one, all, finding):
    culprits = [names[-1] for names in finding.get("culprits", [])]
    text = json.dumps(all)
    names = culprits + finding.get("cells", [])
    if one["technique"] in ("state", "order", "nio") and (not names or any(name in text for name in names)):
        return "right"
    return "related" if one["technique"] in ("state", "order", "nio") else "wrong"


def place(finding):
    locations = finding.get("locations") or []
    return "%s:%s" % (locations[0]["file"], locations[0]["line"]) if locations else ""


def diagnosed(unflake, directory, test, command, limit):
    """The findings, the number of executions, the seconds."""
    found = directory / "found.json"
    began = time.monotonic()
    subprocess.run(
        [unflake, "why", test, "--for", "%ds" % limit, "-q", "--json", str(found), "--", *command],
        cwd=directory,
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    took = time.monotonic() - began
    document = json.loads(found.read_text()) if found.exists() else {}
    return document.get("findings", []), len(document.get("attempts", [])), took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="*", help="parts of the paths of specimens")
    parser.add_argument("--profile", default="release")
    parser.add_argument("--seconds", type=int, default=300, help="the budget of one test")
    parser.add_argument("--python", default=sys.executable, help="a Python with pytest")
    arguments = parser.parse_args()
    unflake = TARGET / ("debug" if arguments.profile == "dev" else arguments.profile) / "unflake"
    table = Table("`unflake why` on specimens", "specimen", "flaw", "root cause", "confidence", "", "executions", "s")
    counts = {}
    for path in sorted(SPECIMENS.glob("*/*/*/specimen.toml")):
        name = str(path.parent.relative_to(SPECIMENS))
        specimen = tomllib.loads(path.read_text())
        asked = wanted(specimen)
        if asked is None or arguments.only and not any(part in name for part in arguments.only):
            continue
        test, judge = asked
        with tempfile.TemporaryDirectory(prefix="unflake-bench-why-") as scratch:
            directory = type(path)(scratch) / path.parent.name
            shutil.copytree(path.parent, directory)
            environment = dict(os.environ, CARGO_NET_OFFLINE="true")
            for step in specimen.get("build", []):
                subprocess.run(step, cwd=directory, env=environment, shell=isinstance(step, str), capture_output=True)
            command = specimen.get("args", ["pytest"])
            command = [arguments.python, "-m", *command] if command[0] == "pytest" else command
            findings, executions, took = diagnosed(unflake, directory, test, command, arguments.seconds)
        findings = [one for one in findings if one.get("confidence")]
        best = findings[0] if findings else None
        is_healthy = specimen["flaw"].startswith("none")
        verdict = judge(best, findings) if best else ("right" if is_healthy else "none")
        counts[verdict] = counts.get(verdict, 0) + 1
        cause = " ".join(best["sentence"].split())[:90] if best else "–"
        confidence = best["confidence"] if best else "–"
        table.row(name, specimen["flaw"], cause, confidence, verdict, executions, "%.0f" % took)
    table.notes.append(", ".join("%d %s" % (number, verdict) for verdict, number in sorted(counts.items())))
    print(table.markdown())


if __name__ == "__main__":
    main()
