"""Known cases against what unflake finds on whole suites, and whatever else it finds against plain pytest."""

import json
import re
import subprocess
import tempfile
from pathlib import Path

import suites
from measure import Contender, once
from projects import table

# Both runs through all of pytest, in one process: the simplest way to see that a test does not bear to be run twice.
TWICE = "import pytest, sys; sys.exit(pytest.main(sys.argv[1:]) or 10 * pytest.main(sys.argv[1:]))"


def exit_of(project, command, seconds=300):
    done = subprocess.run(
        command, cwd=project.directory, env=project.variables(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, timeout=seconds, shell=isinstance(command, str),
    )
    return done.returncode


def plain_shows(project, kind, test, culprits):
    """Whether plain pytest shows it: `culprits` are the tests before it, empty for one that is run twice."""
    alone = exit_of(project, project.only(test))
    if kind == "NIO":
        return alone == 0 and exit_of(project, [project.python, "-c", TWICE, "-q", "-p", "no:cacheprovider", test]) == 10
    # With a few files given as such, pytest keeps the order of the tests as they are named.
    after = exit_of(project, project.only(*culprits, test))
    return (alone, after) == ((0, 1) if kind == "OD-victim" else (1, 0))


def search(project, *words, seconds, jobs=None):
    """What a search of unflake says, as its document, and what it cost."""
    with tempfile.TemporaryDirectory() as place:
        found = Path(place) / "found.json"
        options = ["--for", "%ds" % seconds, "--json", str(found)] + (["--jobs", str(jobs)] if jobs else [])
        command = [suites.UNFLAKE, *words, *options, "--", *project.pytest()]
        cost = once(Contender("unflake", command, project.directory, project.variables(), (0, 1)))
        return json.loads(found.read_text()), cost


KINDS = {("nio", "nio"): "NIO", ("order", "victim"): "OD-victim", ("order", "brittle"): "OD-brittle", ("nio", "brittle"): "OD-brittle"}


def kind_of(finding):
    """In the words of the table of cases; None for what only explains another."""
    if finding["technique"] == "verdict":
        return "NOD" if finding["kind"].startswith("flaky") else None
    if finding["kind"] == "non-deterministic":
        return "NOD"
    return KINDS.get((finding["technique"], finding["kind"]))


def culprits_of(finding):
    return [list(one) for one in finding.get("culprits", [])]


class Answer:
    """What a search says of one case."""

    def __init__(self, case, document):
        ours = [one for one in document["findings"] if one["test"] == case["test"]]
        self.finding = next((one for one in ours if kind_of(one) == case["kind"]), None)
        named = culprits_of(self.finding) if self.finding else []
        self.culprit = not case["culprit"] or [case["culprit"]] in named
        self.other = named[0] if named and not self.culprit else None
        states = [one for one in ours if one["technique"] == "state"]
        right = [one for one in states if any(re.search(pattern(case), cell["path"]) for cell in one["cells"])]
        self.state = "proven" if any(one["kind"] == "proven" for one in right) else "possible" if right else "no"
        self.cells = [cell["path"] for one in right for cell in one["cells"]][:3]
        self.lines = ["%(file)s:%(line)s" % cell["written"] for one in right for cell in one["cells"] if cell.get("written")][:2]


def pattern(case):
    return "|".join(re.escape(part) for part in case["cell"].split("|"))


def extras(document, command, package, cases):
    """Findings that no case foretold, as rows for the table of judgements."""
    known = {(case["test"], case["kind"]) for case in cases}
    for one in document["findings"]:
        kind = kind_of(one)
        if kind and (one["test"], kind) not in known:
            yield {"package": package, "command": command, "test": one["test"], "kind": kind}, one


def judgements():
    return {(row["package"], row["test"], row["kind"]): row for row in table("judged.csv")}
