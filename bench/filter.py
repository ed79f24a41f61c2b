"""The flake filter: what learning costs, how versions add up, and whether true differences stay: `python3 bench/filter.py`.

- cost: ten runs with `unflake filter learn` beside ten plain runs of a suite of 500 tests, by turns.
- shop: the versions of specimens/assertion_filter/python/shop, by chance and not by turns; failures excused by the samples of the version before,
  and by what all have, as in Table 5.12 of the dissertation. Excused bugs are counted: there must be none.
- real: the tests of one release on the sources of the next, beside tests that the hash seed makes flaky.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path

import suites

try:
    import tomllib
except ImportError:  # Before 3.11.
    tomllib = None

SHOP = suites.ROOT / "specimens" / "assertion_filter" / "python" / "shop"
# How often each version of the shop is run with a filter.
TIMES = 5
# What the next release of click changed, and what its old tests say to that, was found by running them, not by the filter.
OLD, NEW = "8.1.8", "8.2.0"
BY_HASH_SEED = '''
import click
from click.testing import CliRunner


def palette():
    return list({"red", "green", "blue", "black"})


def test_first_choice():
    first, runner = palette()[0], CliRunner()

    @click.command()
    @click.option("--colour", type=click.Choice(sorted(palette())), default=first)
    def paint(colour):
        click.echo(colour)

    result = runner.invoke(paint)
    assert result.exit_code == 0
    assert result.output != "red\\n"


def test_order_of_help():
    last = palette()[-1]
    assert last != "black"
'''


class Project:
    def __init__(self, unflake, command, variables=None):
        self.place = Path(tempfile.mkdtemp(prefix="filter-"))
        self.unflake, self.command = unflake, command
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "UNFLAKE_", "PYTEST_"))}
        self.variables = dict(kept, **(variables or {}))
        self.git("init", "-q")

    def git(self, *words):
        who = ["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-C", str(self.place)]
        subprocess.run([*who, *words], check=True, capture_output=True)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "another version")

    def run(self, *words):
        """What a command of unflake found."""
        found = self.place.parent / (self.place.name + ".json")
        call = [self.unflake, *words, "--json", str(found), "--", *self.command]
        done = subprocess.run(call, cwd=self.place, env=self.variables, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise SystemExit("%s\n%s\n%s" % (" ".join(words), done.stdout, done.stderr))
        document = json.loads(found.read_text())
        found.unlink()
        return document

    def forget(self):
        shutil.rmtree(self.place)


def excused(document):
    return [f["assertion"]["expression"] for f in document["findings"] if f["technique"] == "filter" and f["kind"] == "flaky"]


def real(document):
    return {f["test"] for f in document["findings"] if f["technique"] == "verdict" and f["kind"] == "real"}


class Clock:
    """Seconds on the wall, and of CPU by everything that was started and waited for; the second is the steadier on a busy machine."""

    def __enter__(self):
        self.wall, self.cpu = time.monotonic(), self._cpu()
        return self

    def __exit__(self, *_):
        self.wall, self.cpu = time.monotonic() - self.wall, self._cpu() - self.cpu

    def _cpu(self):
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime


def cost(unflake, rounds):
    body = "value = sum(range(%d))\nassert value == %d\nassert str(value)"
    suite = suites.made(500, "filter", lambda n: body % (n, n * (n - 1) // 2))
    plain, learned = [], []
    for _ in range(rounds):
        with Clock() as clock:
            for _ in range(10):
                subprocess.run(suite.pytest(), cwd=suite.directory, env=suite.variables(), check=True, capture_output=True)
        plain.append(clock)
        suite.forget()
        with Clock() as clock:
            call = [unflake, "filter", "learn", "--", *suite.pytest()]
            subprocess.run(call, cwd=suite.directory, env=suite.variables(), check=True, capture_output=True)
        learned.append(clock)
    for what, of in (("on the wall", lambda clock: clock.wall), ("of CPU", lambda clock: clock.cpu)):
        one, other = (statistics.median(map(of, clocks)) for clocks in (plain, learned))
        print("cost, 500 tests, %d rounds, %s: ten plain runs %.1f s, learning %.1f s, %.2f times as much"
              % (rounds, what, one, other, other / one))


def shop_version(project, number):
    for before in range(1, number + 1):
        shutil.copytree(SHOP / str(before), project.place, dirs_exist_ok=True)
    project.commit()


def shop(unflake, python):
    truth = tomllib.loads((SHOP / "specimen.toml").read_text())["version"]
    command = [python, "-m", "pytest", "-q"]
    all_versions = Project(unflake, command)
    shop_version(all_versions, 1)
    known = len(all_versions.run("filter", "learn")["findings"])
    rows = []
    for version in truth:
        number = version["number"]
        alone = Project(unflake, command)
        shop_version(alone, number - 1)
        alone.run("filter", "learn")
        counts = []
        for project in (alone, all_versions):
            shop_version(project, number)
            filter_file = project.place / "unflake-filter.toml"
            entries = filter_file.read_text().count("[[assertion]]") if filter_file.exists() else 0
            # Chance decides what fails in one run: several of them, each against the same filter.
            gone, lost = 0, 0
            for _ in range(TIMES):
                document = project.run("run", "--filter", "--granularity", "off") if filter_file.exists() else {"findings": []}
                gone += len(excused(document))
                lost += len({test for test, _ in version["bugs"] + version["updates"]} - real(document))
            counts.append((entries, gone, lost))
        rows.append((number, *counts))
        alone.forget()
        all_versions.run("filter", "learn")
    all_versions.forget()
    print("shop, by chance: version 1 has %d assertions that vary" % known)
    print("| version | entries, all before | entries, the one before | excused in %d runs, all before | the one before | better | bugs lost |" % TIMES)
    print("|---|---|---|---|---|---|---|")
    for number, (single, single_gone, single_lost), (accumulated, gone, lost) in rows:
        better = "%.0f %%" % ((gone / single_gone - 1) * 100) if single_gone else "–"
        print("| %d | %d | %d | %d | %d | %s | %d and %d |" % (number, accumulated, single, gone, single_gone, better, lost, single_lost))


def sources(version):
    directory = suites.PLACE / ("click-%s" % version)
    if not directory.exists():
        suites.pip("download", "--no-deps", "--no-binary", ":all:", "--dest", suites.PLACE, "click==%s" % version)
        with tarfile.open(suites.PLACE / ("click-%s.tar.gz" % version)) as archive:
            archive.extractall(suites.PLACE, filter="data")
    return directory / "src"


def release(unflake, python):
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "default", "tests"]
    project = Project(unflake, command)
    project.variables["PYTHONPATH"] = str(project.place / "src")
    old = suites.PLACE / ("click-%s" % OLD)
    for part in ("tests", "src"):
        shutil.copytree(old / part, project.place / part, ignore=shutil.ignore_patterns("__pycache__"))
    (project.place / ".gitignore").write_text("__pycache__/\n.unflake/\n")
    for name in ("pyproject.toml", "setup.cfg"):
        if (old / name).exists():
            shutil.copy(old / name, project.place)
    (project.place / "tests" / "test_palette.py").write_text(BY_HASH_SEED)
    project.commit()
    learned = project.run("filter", "learn")
    shutil.rmtree(project.place / "src")
    shutil.copytree(sources(NEW), project.place / "src", ignore=shutil.ignore_patterns("__pycache__"))
    project.commit()

    def plain():
        done = subprocess.run([*command, "-rfE"], cwd=project.place, env=project.variables, capture_output=True, text=True)
        lines = [line.split(" - ")[0] for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        return {line.split(" ", 1)[1] for line in lines}

    runs = [plain() for _ in range(3)]
    ours = {test for run in runs for test in run if "test_palette" in test}
    always, sometimes = set.intersection(*runs) - ours, set.union(*runs) - set.intersection(*runs) | ours
    print("real: click %s to %s: %d tests, learned %d varying assertions" % (OLD, NEW, len(learned["tests"]), len(learned["findings"])))
    print("  of 3 plain runs, %d tests fail in all, %d in some: %s" % (len(always), len(sometimes), ", ".join(sorted(sometimes))))
    for attempt in range(3):
        document = project.run("run", "--filter", "--granularity", "off", "--too-many", "100")
        found = real(document)
        print("  run %d with the filter: %d real, %d of those that fail always missing, %d real that do not fail always; excused: %s"
              % (attempt + 1, len(found), len(always - found), len(found - always), "; ".join(sorted(excused(document))) or "nothing"))
    project.forget()


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--unflake", default=str(suites.TARGET / "release" / "unflake"))
    arguments.add_argument("--only", choices=["cost", "shop", "real"])
    arguments.add_argument("--rounds", type=int, default=3)
    wanted = arguments.parse_args()
    parts = {
        "cost": lambda: cost(wanted.unflake, wanted.rounds),
        "shop": lambda: shop(wanted.unflake, suites.PYTHON),
        "real": lambda: release(wanted.unflake, suites.PYTHON),
    }
    for name, part in parts.items():
        if wanted.only in (None, name):
            part()


if __name__ == "__main__":
    main()
