"""What `unflake locate` says of real flaky tests: `python3 bench/locate_real.py [PART OF A PACKAGE'S NAME]`.

The tests are in bench/locate/real.csv, with the line where each of them really starts, worked out by hand. Each package is fetched
as its authors released it, with what it needs. Whether a named line is of use is judged by hand in docs/located.md; this only puts
the result beside the truth. Most of these tests hang on the clock: on another machine they fail more or less often.
unflake is the one that is built below the target directory (CARGO_TARGET_DIR, --profile). Needs Python 3.11.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tarfile
import time
import venv
from pathlib import Path

from run import Table
from suites import HERE, ROOT, TARGET

PLACE = ROOT / ".venvs" / "bench-locate-real"


def unpacked(package, version):
    """The directory of the sources, and the Python with what they need."""
    place = PLACE / ("%s-%s" % (package, version))
    python = place / "venv" / "bin" / "python"
    if not (place / "complete").exists():
        venv.create(place / "venv", with_pip=True, clear=True)
        pip = [str(python), "-m", "pip", "-q", "--disable-pip-version-check"]
        wanted = "%s==%s" % (package, version)
        subprocess.run([*pip, "download", "--no-deps", "--no-binary", ":all:", "-d", str(place), wanted], check=True)
        archive = next(place.glob("*.tar.gz"))
        subprocess.run([*pip, "install", "pytest==8.3.4", "setuptools<70", str(archive)], check=True)
        with tarfile.open(archive) as sources:
            sources.extractall(place / "sources", filter="data")
        (place / "complete").touch()
    return next((place / "sources").iterdir()), python


def locate(unflake, row, limit):
    """What was found, how unflake ended in words, and the seconds it took."""
    sources, python = unpacked(row["package"], row["version"])
    found = PLACE / "found.json"
    found.unlink(missing_ok=True)
    command = [str(python), "-m", "pytest", "-o", "addopts=", row["test"].partition("::")[0]]
    began = time.monotonic()
    done = subprocess.run(
        [unflake, "locate", row["test"], "--for", "%ds" % limit, "--json", str(found), "--", *command],
        cwd=sources,
        env=dict(os.environ, PYTHONPATH=str(sources)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
    )
    took = time.monotonic() - began
    document = json.loads(found.read_text()) if found.exists() else {}
    findings = [one for one in document.get("findings", []) if one["technique"] == "divergence"]
    words = [*done.stdout.strip().splitlines(), *done.stderr.strip().splitlines()] or ["no output"]
    return findings, words[-1], took


def summary(findings, words):
    if not findings:
        return "–", "–", "**nothing**: %s" % words, "–"
    finding = findings[0]
    first = finding["locations"][0] if finding["locations"] else None
    place = "%s:%s %s" % (first["file"], first["line"], first["how"]) if first else "–"
    return finding["runs"], finding["failed"], place, finding["kind"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="*", help="parts of the names of packages")
    parser.add_argument("--profile", default="release")
    parser.add_argument("--seconds", type=int, default=120, help="how long to begin runs of one test")
    arguments = parser.parse_args()
    unflake = str(TARGET / arguments.profile / "unflake")
    table = Table("Real flaky tests", "package", "test", "runs", "failed", "result", "cause", "true line", "true cause", "s")
    with open(HERE / "locate" / "real.csv", newline="") as rows:
        for row in csv.DictReader(rows):
            if arguments.only and not any(part in row["package"] for part in arguments.only):
                continue
            findings, words, took = locate(unflake, row, arguments.seconds)
            test = row["test"].rpartition("::")[2]
            truth = row["true file:line"], row["category"]
            table.row("%s %s" % (row["package"], row["version"]), test, *summary(findings, words), *truth, "%.0f" % took)
    print(table.markdown())


if __name__ == "__main__":
    sys.exit(main())
