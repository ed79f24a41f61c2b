"""What others say of the known cases, asked as their documentation says: each answers for a whole suite, in a copy of the project."""

import json
import re
import shutil
import tempfile
import xml.etree.ElementTree as ElementTree
from contextlib import contextmanager
from pathlib import Path

from measure import Contender, once

ORDERS = 10
TIMEOUT = 900


@contextmanager
def copied(project):
    """Rivals leave files behind. A copy of the project, and a place for what they write."""
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place) / "tests"
        shutil.copytree(project.directory, directory, symlinks=True)
        yield directory, Path(place)


def run(project, directory, command, *rivals):
    """Ended when it takes too long; whatever it leaves with."""
    line = ["timeout", str(TIMEOUT), *map(str, command)]
    return once(Contender(command[0], line, directory, project.variables(*rivals), tuple(range(256))))


def whyflaky(project, cases):
    """Which of the cases it names, with the known culprit or another."""
    with copied(project) as (directory, place):
        start = "import sys; from whyflaky.cli import main; sys.exit(main())"
        cost = run(project, directory, [project.python, "-c", start, "scan", "-q", "--json", place / "found.json"], "whyflaky")
        found = place / "found.json"
        flakes = {one["test_id"]: one for one in json.loads(found.read_text())["flakes"]} if found.exists() else {}
    answers = {}
    for case in cases:
        flake = flakes.get(case["test"])
        polluters = ((flake or {}).get("diagnosis") or {}).get("polluters") or []
        answers[case["case"]] = "no" if flake is None else "with the culprit" if case["culprit"] in polluters else "seen: %s" % flake["kind"]
    others = len(set(flakes) - {case["test"] for case in cases})
    return answers, others, cost


def random_order(project, cases):
    """In how many of ten shuffled orders a known test failed (a victim, a brittle): it names no culprit."""
    failed = dict.fromkeys((case["test"] for case in cases), 0)
    total = None
    with copied(project) as (directory, place):
        for seed in range(ORDERS):
            report = place / ("order-%d.xml" % seed)
            options = ["--random-order-bucket=global", "--random-order-seed=%d" % seed, "--junitxml=%s" % report]
            cost = run(project, directory, project.pytest(*options), "pytest-random-order")
            total = cost if total is None else added(total, cost)
            for test in failures(report):
                for known in failed:
                    failed[known] += same(known, test)
    return {case["case"]: "fails in %d of %d orders" % (failed[case["test"]], ORDERS) for case in cases}, 0, total


def repeat(project, cases):
    """Which of the cases fail when everything is run twice in a row; and whatever else does, by itself or the second time only."""
    with copied(project) as (directory, place):
        report = place / "twice.xml"
        options = ["--count=2", "--junitxml=%s" % report]
        cost = run(project, directory, project.pytest(*options), "pytest-repeat")
        failed = set(failures(report))
    second = {re.sub(r"-?2-2\]$", "]", test).replace("[]", "") for test in failed if test.endswith("2-2]")}
    first = {re.sub(r"-?1-2\]$", "]", test).replace("[]", "") for test in failed if test.endswith("1-2]")}
    alarms = second - first
    answers = {case["case"]: "yes" if any(same(case["test"], test) for test in alarms) else "no" for case in cases}
    known = sum(any(same(case["test"], test) for case in cases) for test in alarms)
    return answers, len(alarms) - known, cost


def ipflakies(project, case):
    """Asked for one test. It wants a terminal, and brings pytest 6 with it."""
    with copied(project) as (directory, place):
        words = "%s -m ipflakies -t '%s'" % (project.python, case["test"])
        cost = run(project, directory, ["script", "-qec", words, place / "output"], "ipflakies")
        output = (place / "output").read_text(errors="replace")
    named = re.findall(r"^\[\d+\]\s+(\S+)", output, re.M)
    last = [line for line in output.replace("\r", "").splitlines() if line.strip() and not line.startswith("Script done")]
    if case["culprit"] in named:
        return "named", cost
    return "not named: %s" % (", ".join(named) or (last[-1].strip() if last else "no output"))[:100], cost


def added(one, other):
    return type(one)(one.wall + other.wall, one.cpu + other.cpu, one.own_cpu + other.own_cpu)


def failures(report):
    if not report.exists():
        raise SystemExit("%s was not written: the rival did not run" % report.name)
    if not report.stat().st_size:  # A test had its way with pytest itself.
        return
    for case in ElementTree.parse(report).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            yield "%s::%s" % (case.get("classname", ""), case.get("name", ""))


def same(test, junit):
    """Whether an id of pytest and the class and name of a report mean the same test."""
    path, _, rest = test.partition("::")
    *classes, name = rest.split("::")
    return junit == "%s::%s" % (".".join([path[: -len(".py")].replace("/", "."), *classes]), name)
