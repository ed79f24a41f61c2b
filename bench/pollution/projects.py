"""The projects of pollution.py: released packages with the tests they came with, each beside a virtual environment of its own."""

import csv
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import suites

HERE = Path(__file__).resolve().parent
PLACE = suites.ROOT / ".venvs" / "bench-pollution"
RIVALS = PLACE / "rivals"
# A copy of the binary that no other bench replaces.
suites.FROZEN = PLACE / "frozen"
suites.UNFLAKE, suites.AGENT = str(suites.FROZEN / "unflake"), suites.FROZEN / "agent"

# Each in a directory of its own: only who wants it has it. ipflakies pins pytest 6, which then stands before the project's own.
RIVAL_PACKAGES = {
    "detect-test-pollution": "detect-test-pollution==1.2.0",
    "whyflaky": "whyflaky==0.1.0",
    "pytest-random-order": "pytest-random-order==1.2.0",
    "pytest-repeat": "pytest-repeat==0.9.4",
    "ipflakies": "ipflakies==1.1.1",
}
# setuptools: some of these are older than the day when it stopped to be there by itself.
BASE = ["pytest==8.3.4", "setuptools==69.5.1"]


def table(name):
    with open(HERE / name, newline="") as file:
        return list(csv.DictReader(file))


class Project:
    def __init__(self, row):
        self.package = row["package"]
        self.name = self.package.partition("==")[0]
        self.options, self.needs = row["options"].split(), row["needs"].split()
        self._missing = row["prepare"].split()  # Directories that the tests expect and the package lacks.
        self._place = PLACE / self.package.replace("==", "-")
        self.directory = self._place / "tests"
        self.python = str(self._place / "venv" / "bin" / "python")

    def prepare(self):
        done = self._place / "done"
        wanted = " ".join([*BASE, *self.needs])
        if done.exists() and done.read_text() == wanted:
            return self
        self._place.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", self._place / "venv"], check=True)
        pip(self.python, "install", *BASE, *self.needs)
        if not self.directory.exists():
            self._unpack()
        done.write_text(wanted)
        return self

    def _unpack(self):
        try:
            pip(self.python, "download", "--no-deps", "--no-binary", ":all:", "--dest", self._place, self.package)
        except subprocess.CalledProcessError:
            # Some were released as a wheel only, with the tests in it.
            pip(self.python, "download", "--no-deps", "--dest", self._place, self.package)
        for archive in self._place.glob("*.tar.gz"):
            with tarfile.open(archive) as file:
                file.extractall(self._place, filter="data") if hasattr(tarfile, "data_filter") else file.extractall(self._place)
            (self._place / archive.name.replace(".tar.gz", "")).rename(self.directory)
        for archive in self._place.glob("*.whl"):
            zipfile.ZipFile(archive).extractall(self.directory)
        for missing in self._missing:
            (self.directory / missing).mkdir()
        suites.as_repository(self.directory)

    def pytest(self, *more):
        return [self.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *self.options, *more]

    def only(self, *tests):
        """Plain pytest for these tests, in this order."""
        return [self.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]

    def variables(self, *rivals):
        ours = ("PYTHON", "PYTEST_", "UNFLAKE_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        kept.pop("VIRTUAL_ENV", None)
        kept["XDG_CACHE_HOME"] = str(PLACE / "cache")
        # Some tests use fixed names in it: no other process may interfere.
        (self._place / "tmp").mkdir(exist_ok=True)
        kept["TMPDIR"] = str(self._place / "tmp")
        kept["PYTHONPATH"] = os.pathsep.join(["."] + [str(RIVALS / rival) for rival in rivals])
        return kept


def projects():
    return {row["package"]: Project(row) for row in table("projects.csv")}


def prepare_rivals():
    for name, package in RIVAL_PACKAGES.items():
        if not (RIVALS / name).exists():
            alone = [] if name == "ipflakies" else ["--no-deps"]
            pip(sys.executable, "install", *alone, "--target", RIVALS / name, package)


def pip(python, *words):
    options = ["--quiet", "--disable-pip-version-check", "--no-input"]
    subprocess.run([python, "-m", "pip", *options, *map(str, words)], check=True, stderr=subprocess.DEVNULL)
