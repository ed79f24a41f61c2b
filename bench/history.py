"""How often a change and a test have nothing in common, and whether that is ever wrong: `python3 bench/history.py`.

Successive releases of a package from PyPI are made the commits of a repository. At each release B, what every test depends
on is learned, by file and by function, and then it is asked which tests the step from the release A before it can affect:

released   from A as it was released
settled    from A with what builds, configures and describes the package, and its version number, as in B: a commit seldom
           touches these
code       from the code of A, settled, with the tests of B: as if they had been written first
back       the same the other way round, from where tests fail, which is where people ask

The safety check: a test that ends in another way before and after the step must be among those that the step can affect.
"""

import argparse
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import urllib.parse
import urllib.request
from collections import Counter
from statistics import median

import suites
from outcomes import WORDS, without_digits

VERSION = "%d.%d" % sys.version_info[:2]
VENV = suites.ROOT / ".venvs" / ("bench-history-" + VERSION)
PLACE = suites.ROOT / ".venvs" / "bench-history-releases"
PYTHON = str(VENV / "bin" / "python")
UNFLAKE = str(VENV / "unflake")

INSTALLED = ["pytest==8.4.2", "pytz==2025.2", "simplejson==3.20.2"]

# Successive releases, with nothing left out in between.
RELEASES = {
    "cachetools": "5.3.0 5.3.1 5.3.2 5.3.3 5.4.0 5.5.0 5.5.1 5.5.2 6.0.0 6.1.0 6.2.0 6.2.1 6.2.2 6.2.3 6.2.4",
    "click": "8.0.3 8.0.4 8.1.0 8.1.1 8.1.2 8.1.3 8.1.4 8.1.5 8.1.6 8.1.7 8.1.8",
    "marshmallow": "3.23.1 3.23.2 3.23.3 3.24.0 3.24.1 3.24.2 3.25.0 3.25.1 3.26.0 3.26.1",
    # Older ones came without their tests.
    "boltons": "23.1.0 23.1.1 24.0.0 24.1.0 25.0.0 26.0.0 26.1.0 26.2.0",
}
# What the plain command needs beside `python -m pytest`, for every release alike.
OPTIONS = ["-q", "-p", "no:cacheprovider"]

LEVELS = ["file", "function"]
CONFIGURES = re.compile(
    r"(^|/)(pyproject\.toml|setup\.py|setup\.cfg|tox\.ini|pytest\.ini|noxfile\.py|MANIFEST\.in|Makefile|(poetry|uv|pdm)\.lock"
    r"|[^/]*(requirements|constraints)[^/]*\.(txt|in)|PKG-INFO)$|(^|/)requirements/|\.egg-info/"
)
TESTS = re.compile(r"(^|/)tests?/")
# Seconds for one test, bytes for all: a test that was written for a loop without end meets it in the code before.
LIMIT = 60
MEMORY = 6 << 30


def pytest_runtest_setup():
    """Plain pytest has no limit, so this file is a plugin for it too."""
    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(LIMIT)


def pytest_runtest_teardown():
    signal.alarm(0)


def too_long(*_):
    raise TimeoutError("more than %d seconds" % LIMIT)


def release(name, version):
    """The files of a release: path and contents."""
    file = PLACE / ("%s-%s.tar.gz" % (name, version))
    if not file.exists():
        PLACE.mkdir(parents=True, exist_ok=True)
        # By hand and not by `pip download`, which builds what it fetches, a hundred times here.
        index = "%s/%s/" % (os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/"), name)
        with urllib.request.urlopen(index) as answer:
            link = re.search(r'href="([^"#]*/%s#sha256=(\w+))"' % re.escape(file.name), answer.read().decode())
        if link is None:
            raise SystemExit("%s is not at %s" % (file.name, index))
        with urllib.request.urlopen(urllib.parse.urljoin(index, link[1])) as answer:
            archive = answer.read()
        if hashlib.sha256(archive).hexdigest() != link[2]:
            raise SystemExit("what was fetched as %s is not what the index says it is: try again" % file.name)
        file.write_bytes(archive)
    with tarfile.open(file) as archive:
        return {one.name.partition("/")[2]: archive.extractfile(one).read() for one in archive if one.isfile()}


def settled(a, b, was, now):
    """A's files, but for what a release changes and a commit seldom does."""
    number = re.compile(r"""(version\w*\s*(?::\s*\w+\s*)?=\s*)(["'])%s\2""" % re.escape(was), re.IGNORECASE)
    kept = {path: content for path, content in a.items() if not CONFIGURES.search(path)}
    for path, content in kept.items():
        if path.endswith(".py"):
            text = content.decode("utf-8", "surrogateescape")
            kept[path] = number.sub(r"\g<1>\g<2>%s\2" % now, text).encode("utf-8", "surrogateescape")
    return {**kept, **{path: content for path, content in b.items() if CONFIGURES.search(path)}}


def code(a, b):
    """A's code and B's tests."""
    return {
        **{path: content for path, content in a.items() if not TESTS.search(path)},
        **{path: content for path, content in b.items() if TESTS.search(path)},
    }


class History:
    """A repository whose commits are trees of files."""

    def __init__(self, name):
        self.directory = suites.ROOT / ".venvs" / "bench-history-repositories" / ("%s-%s" % (name, VERSION))
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        self.git("init", "-q")
        # Not a file of the project: no release has it.
        (self.directory / ".git" / "info" / "exclude").write_text(".unflake/\n")
        self._outcomes = {}

    def git(self, *words):
        git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-C", str(self.directory), *words]
        return subprocess.run(git, check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout.strip()

    def commit(self, files):
        self._clear()
        for path, content in files.items():
            file = self.directory / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        self.git("add", "-A", "-f")
        self.git("commit", "-q", "--allow-empty", "-m", "As released")
        return self.git("rev-parse", "HEAD")

    def _clear(self):
        for one in self.directory.iterdir():
            if one.name != ".git":
                shutil.rmtree(one) if one.is_dir() and not one.is_symlink() else one.unlink()

    def go(self, commit):
        """The files of a commit, and nothing else: no history, nothing that tests left behind."""
        self._clear()
        self.git("checkout", "-q", "--force", "--detach", commit)

    def run(self, command, **variables):
        # Files of two commits may have the same size and time, which is all that compiled ones are known by.
        variables = {**suites.Suite(None, self.directory).variables(path=[suites.HERE]), "PYTHONDONTWRITEBYTECODE": "1", **variables}
        return subprocess.run(
            command, cwd=self.directory, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            encoding="utf-8", errors="replace", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
        )  # fmt: skip

    def outcomes(self, commit):
        """How each test ends under plain pytest."""
        if commit not in self._outcomes:
            self.go(commit)
            with tempfile.TemporaryDirectory() as place:
                file = os.path.join(place, "outcomes.json")
                command = [PYTHON, "-m", "pytest", *OPTIONS, "--continue-on-collection-errors", "-p", "plain_outcomes", "-p", "history"]
                self.run(command, BENCH_OUTCOMES=file)
                with open(file) as text:
                    found = {test: WORDS.get(outcome, outcome) for test, outcome in json.load(text).items()}
            self._outcomes[commit] = found
        return self._outcomes[commit]

    def affected(self, here, level, bases):
        """For each base the tests that can be affected here, with why. None where tests cannot be collected."""
        self.go(here)
        # Given explicitly, because a history of this checkout itself would be taken for the history of everything below it.
        settings = ["--store", ".unflake", "--granularity", level, "--timeout", str(LIMIT)]
        answers = []
        for base in bases:
            learn = [] if answers else ["--learn"]
            command = [UNFLAKE, "affected", *learn, "--why", *settings, "--base", base]
            done = self.run([*command, "--", PYTHON, "-m", "pytest", *OPTIONS])
            if done.returncode:
                sys.stderr.write(done.stderr)
                return None
            answers.append(dict(line.rsplit("\t", 1) for line in done.stdout.splitlines()))
        return answers


class Tally:
    """What was asked and answered of one package in one way."""

    def __init__(self):
        self.steps = 0
        self.pairs = 0
        self.disjoint = Counter()
        self.by_test = {level: {} for level in LEVELS}
        self.why = {level: Counter() for level in LEVELS}
        self.differ = 0
        self.wrong = []

    def step(self, tests):
        self.steps += 1
        self.pairs += len(tests)

    def count(self, level, tests, affected):
        for test in tests:
            known = self.by_test[level].setdefault(test, [])
            known.append(test not in affected)
            self.disjoint[level] += test not in affected
        self.why[level].update(reason(why) for why in affected.values())

    def check(self, level, step, before, after, affected, same_files):
        for test, was in differing(before, after, same_files):
            self.differ += level == LEVELS[0]
            if test not in affected:
                self.wrong.append("%s, by %s: %s was %s and is %s" % (step, level, test, was, after[test]))

    def median(self, level):
        """Of tests that were there in half of the steps or more: in how many of these each is disjoint, and the middle one."""
        shares = [sum(known) / len(known) for known in self.by_test[level].values() if 2 * len(known) >= self.steps]
        return median(shares)


def differing(before, after, same_files):
    """Tests that end in another way after than before, and how they ended. Where the test files are the same, one that could
    not be collected before is such a test too."""
    shapes = set(map(without_digits, before))
    for test, now in after.items():
        was = before.get(test)
        if was is None and same_files and without_digits(test) not in shapes:
            was = "not collected"
        if was not in (None, now):
            yield test, was


def reason(why):
    """Why, without the names."""
    if why.startswith("cannot be ruled out: "):
        return "cannot be ruled out"
    path, _, how = why.partition(" ")
    return "a test file " + how if TESTS.search(path) else how


def walk(name, limit):
    """All steps of one package."""
    history, tallies = History(name), {way: Tally() for way in ("released", "settled", "code", "back")}
    versions = RELEASES[name].split()[-limit - 1 :]
    a = release(name, versions[0])
    before = history.commit(a)
    for was, now in zip(versions, versions[1:]):
        b = release(name, now)
        calm = settled(a, b, was, now)
        bases = {"released": before, "settled": history.commit(calm), "code": history.commit(code(calm, b))}
        here = history.commit(b)
        step(history, "%s %s to %s" % (name, was, now), here, bases, tallies)
        a, before = b, here
    return tallies


def step(history, name, here, bases, tallies):
    after = history.outcomes(here)
    for way in bases:
        tallies[way].step(after)
    for level in LEVELS:
        answers = history.affected(here, level, bases.values())
        if answers is None:
            raise SystemExit("%s: the tests could not be asked about" % name)
        for (way, base), affected in zip(bases.items(), answers):
            affected = met(affected, after)
            tallies[way].count(level, after, affected)
            tallies[way].check(level, "%s (%s)" % (name, way), history.outcomes(base), after, affected, way == "code")
    ask_back(history, name, bases["code"], here, tallies["back"])
    shares = ["%s %.0f %%" % (level, 100 * tallies["settled"].disjoint[level] / tallies["settled"].pairs) for level in LEVELS]
    sys.stderr.write("%s: %d tests; settled so far %s; %d wrong\n" % (name, len(after), ", ".join(shares), wrong(tallies)))


def ask_back(history, name, here, base, tally):
    """From where tests fail because the code is older than they are, if any do and all can be collected."""
    before, after = history.outcomes(base), history.outcomes(here)
    if not any(differing(before, after, True)):
        return
    answers = [history.affected(here, level, [base]) for level in LEVELS]
    if None in answers:
        return
    tally.step(after)
    for level, (affected,) in zip(LEVELS, answers):
        affected = met(affected, after)
        tally.count(level, after, affected)
        tally.check(level, name + " (back)", before, after, affected, True)


def met(affected, known):
    """marshmallow names tests after the time at which they were collected: names that differ in nothing but digits are one."""
    others = {without_digits(test): test for test in known if test not in affected}
    answer = {test if test in known else others.get(without_digits(test), test): why for test, why in affected.items()}
    if not set(answer) <= set(known):
        raise SystemExit("plain pytest does not know %s" % sorted(set(answer) - set(known)))
    return answer


def wrong(tallies):
    return sum(len(tally.wrong) for tally in tallies.values())


def prepare():
    """The virtual environment, and unflake as it is now, whatever is built meanwhile."""
    wanted = VENV / "bench-packages"
    if not wanted.exists() or wanted.read_text().split() != INSTALLED:
        subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
        subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *INSTALLED], check=True)
        wanted.write_text("\n".join(INSTALLED))
    subprocess.run(["cargo", "build", "--quiet", "--release", "-p", "unflake"], cwd=suites.ROOT, check=True)
    shutil.copy(suites.TARGET / "release" / "unflake", UNFLAKE)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", nargs="*", default=list(RELEASES), choices=RELEASES)
    parser.add_argument("--steps", type=int, default=1000, help="so many of each package, the newest")
    parser.add_argument("--quick", action="store_true", help="three steps of one package")
    options = parser.parse_args()
    if options.quick:
        options.packages, options.steps = options.packages[:1], 3
    prepare()
    print("CPython %s" % sys.version.split()[0])
    print(
        "| package | from | steps | tests × steps | disjoint by file | by function | middle test, by file | by function "
        "| outcomes that differ | wrong answers |\n|---|---|---|---|---|---|---|---|---|---|"
    )
    failed, reasons = [], []
    for name in options.packages:
        for way, tally in walk(name, options.steps).items():
            if not tally.steps:
                continue
            row = [name, way, "%d" % tally.steps, "{:,}".format(tally.pairs)]
            row += ["%.1f %%" % (100 * tally.disjoint[level] / tally.pairs) for level in LEVELS]
            row += ["%.0f %%" % (100 * tally.median(level)) for level in LEVELS]
            print("| %s |" % " | ".join([*row, "%d" % tally.differ, "%d" % len(tally.wrong)]), flush=True)
            failed += tally.wrong
            for level in LEVELS:
                why = ", ".join("%d %s" % (count, how) for how, count in tally.why[level].most_common(6))
                reasons.append("%s, %s, by %s: %s" % (name, way, level, why))
    print("\nWhy the others can be affected, by the first reason:\n" + "\n".join(reasons))
    if failed:
        raise SystemExit("\nEnded in another way and called unaffected:\n" + "\n".join(failed))


if __name__ == "__main__":
    main()
