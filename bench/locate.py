"""How often `unflake locate` is right: `python3 bench/locate.py`.

Runs it on every specimen of specimens/divergence and judges the line that it names first by what is true of that specimen: `exact` (it starts there,
and a fix would go there), `relevant` (it has to do with it, a fix would go elsewhere), or wrong. What it gets wrong stays in the table.
unflake is the one that is built below the target directory (CARGO_TARGET_DIR, --profile). Needs Python 3.11.
"""

import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

from run import Table
from suites import ROOT, TARGET

PYTHON = ROOT / ".venvs" / "e2e" / "bin" / "python"
# Ziftci and Cavalcanti 2020: 43 exact and 25 relevant of 83, by the first developer.
PAPER = "43 exact and 25 relevant of 83: 81.93 %"
USEFUL = ("exact", "relevant")


class Specimen:
    def __init__(self, directory):
        self.directory, self.name = directory, "%s/%s" % (directory.parent.name, directory.name)
        data = tomllib.loads((directory / "specimen.toml").read_text())
        self.truth = data["locate"]
        self.args, self.options, self.build = data.get("args", ["pytest"]), data.get("options", []), data.get("build", [])
        self.lines = {
            line["at"]: verdict
            for name, verdict in [("exact", "exact"), ("second", "exact"), ("relevant", "relevant"), ("red_herring", "**wrong**: red herring")]
            for line in self.truth.get(name, [])
        }

    def judge(self, place):
        return self.lines.get(place, "**wrong**")

    def judge_kind(self, kind):
        if kind in [self.truth["category"], *(also["category"] for also in self.truth.get("also", []))]:
            return "right"
        return "unknown" if kind == "unknown" else "**wrong**"


class Project:
    """A copy of a specimen, with its own home and temporary directory."""

    def __init__(self, specimen, unflake, place):
        self.specimen, self.unflake, self.place = specimen, unflake, Path(place)
        self.directory = self.place / "project"
        leave = shutil.ignore_patterns(".unflake", ".pytest_cache", "__pycache__", "target", "build", "build-traced")
        shutil.copytree(specimen.directory, self.directory, ignore=leave)
        (self.place / "tmp").mkdir()
        for command in specimen.build:
            subprocess.run(command, cwd=self.directory, stdout=subprocess.DEVNULL, check=True)

    def variables(self):
        ours = ("PYTHON", "PYTEST_", "UNFLAKE_", "CARGO_TARGET")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        return dict(kept, TMPDIR=str(self.place / "tmp"), XDG_CACHE_HOME=str(ROOT / ".venvs" / "bench-cache"))

    def locate(self, args, seconds):
        """The document, the standard error, and the seconds it took."""
        words = [word for arg in args for word in ([str(PYTHON), "-m", "pytest"] if arg == "pytest" else [arg])]
        found = self.place / "found.json"
        found.unlink(missing_ok=True)
        command = [self.unflake, "locate", self.specimen.truth["test"], "--json", str(found), *self.specimen.options, "--", *words]
        began = time.monotonic()
        try:
            done = subprocess.run(
                command, cwd=self.directory, env=self.variables(), stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds
            )
            output = done.stderr.decode(errors="replace")
        except subprocess.TimeoutExpired:
            output = "no end after %d s" % seconds
        took = time.monotonic() - began
        text = found.read_text() if found.exists() else ""
        return json.loads(text) if text else None, output, took

    def answer(self, seconds):
        document, output, took = self.locate(self.specimen.args, seconds)
        advice = "".join(problem["text"] for problem in (document or {}).get("problems", []))
        if "CXX=clang++" in advice:
            # Not built for tracing: unflake tells how to.
            command = advice[advice.index("CXX=clang++") :].partition("\nWith gcc")[0]
            for line in (command, "cmake --build build-traced"):
                subprocess.run(["sh", "-c", line], cwd=self.directory, stdout=subprocess.DEVNULL, check=True)
            traced = [word.replace("build/", "build-traced/") for word in self.specimen.args]
            document, output, took = self.locate(traced, seconds)
        return document, output, took


def examine(specimen, unflake, seconds):
    """A row of the table, the verdicts on line and cause, and what is to be noted."""
    with tempfile.TemporaryDirectory(prefix="locate-", ignore_cleanup_errors=True) as place:
        document, output, took = Project(specimen, unflake, place).answer(seconds)
    findings = [one for one in (document or {}).get("findings", []) if one["technique"] == "divergence"]
    if not findings:
        last = ([*(document or {}).get("notes", []), *output.strip().splitlines()] or ["no output"])[-1]
        return ["–", "–", "–", "**nothing**", "–", "%.1f" % took], "nothing", "nothing", "%s: %s" % (specimen.name, last)
    finding = findings[0]
    locations = ["%s:%s" % (one["file"], one["line"]) for one in finding["locations"]]
    how = finding["locations"][0]["how"] if locations else ""
    verdict = specimen.judge(locations[0]) if locations and not only_shows(finding) else "**nothing**"
    kind = specimen.judge_kind(finding["kind"])
    notes = []
    if specimen.truth.get("second"):
        both = all(any(line["at"] in locations for line in specimen.truth[name]) for name in ("exact", "second"))
        notes.append("%s has two causes; %s located exactly." % (specimen.name, "both are" if both else "not both are"))
    useful = next((at for at, place in enumerate(locations, 1) if specimen.judge(place) in USEFUL), None)
    if verdict not in USEFUL and useful and useful > 1:
        notes.append("%s: a useful line is number %d of those named, %s." % (specimen.name, useful, locations[useful - 1]))
    kind_text = finding["kind"] if kind == "right" else "%s (%s, not %s)" % (finding["kind"], kind, specimen.truth["category"])
    numbers = field(finding, "runs"), field(finding, "failed")
    return [*numbers, "%s %s" % (locations[0] if locations else "–", how), verdict, kind_text, "%.1f" % took], verdict, kind, " ".join(notes)


def only_shows(finding):
    """Whether the finding is only the failing line, without an earlier difference. That may be true, but explains nothing."""
    first, shows = finding["locations"][0], finding["shows"]
    return first["chance"] >= 1 and shows is not None and (first["file"], first["line"]) == (shows["file"], shows["line"])


def field(finding, name):
    return finding.get(name, finding.get("evidence", {}).get(name, "–"))


def table(arguments):
    result = Table("Where it starts: the first line named", "specimen", "runs", "failed", "top-1", "judged", "cause", "s")
    lines, kinds = collections.Counter(), collections.Counter()
    for directory in sorted((ROOT / "specimens" / "divergence").glob("*/*")):
        specimen = Specimen(directory)
        if arguments.only and not any(part in specimen.name for part in arguments.only):
            continue
        for _ in range(arguments.times):
            row, verdict, kind, note = examine(specimen, arguments.unflake, arguments.seconds)
            result.row(specimen.name, *row)
            lines[verdict] += 1
            kinds[kind] += 1
            if note and note not in result.notes:
                result.notes.append(note)
    result.notes[:0] = totals(lines, kinds)
    return result


def totals(lines, kinds):
    all_of_them = sum(lines.values())
    useful = sum(lines[verdict] for verdict in USEFUL)
    share = 100 * useful / all_of_them if all_of_them else 0
    right, unknown = kinds["right"], kinds["unknown"]
    return [
        "%d exact and %d relevant of %d: **%.2f %%** (the paper, on its own tests: %s)"
        % (lines["exact"], lines["relevant"], all_of_them, share, PAPER),
        "Cause: %d right, %d unknown, %d wrong, %d without an answer"
        % (right, unknown, all_of_them - right - unknown - kinds["nothing"], kinds["nothing"]),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", action="append", metavar="PART", help="only specimens with this in their names; may be repeated")
    parser.add_argument("--times", type=int, default=1, help="how often each is located (1)")
    parser.add_argument("--seconds", type=int, default=300, help="how long one may take (300)")
    parser.add_argument("--profile", default="release", help="which build of unflake: release or debug (release)")
    parser.add_argument("--no-build", action="store_true", help="take unflake as it is")
    parser.add_argument("--markdown", metavar="FILE", help="write the table there too")
    arguments = parser.parse_args()
    if not arguments.no_build:
        release = ["--release"] if arguments.profile == "release" else []
        subprocess.run(["cargo", "build", "--quiet", "-p", "unflake", *release], cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as place:
        # As it is now, whatever is built meanwhile.
        arguments.unflake = shutil.copy(TARGET / arguments.profile / "unflake", place)
        made = table(arguments).markdown()
    print(made)
    if arguments.markdown:
        Path(arguments.markdown).write_text(made)


if __name__ == "__main__":
    sys.exit(main())
