"""Real commits against `unflake affected`: `python3 bench/commits.py NAME REPOSITORY --commits 40`.

Replays the newest commits of a repository, each against its first parent. Plain pytest says which tests end in another
way; all of them must be listed. The other pairs of test and commit may be excluded: the share counts. Dependencies are
learned by function after each commit that can affect a test; from the same record the tests are listed
by file too. pytest-testmon, if wanted, keeps its own record of the same commits.
"""

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

from plain_server import PlainRuns

HERE = Path(__file__).resolve().parent
PLAIN = ["-q", "-p", "no:cacheprovider", "-p", "no:testmon", "-p", "no:randomly"]
LONGEST = 240  # Seconds of a run of the suite.
# No test reads these, so their commits are counted and not run.
PROSE = re.compile(r"^(docs?/|\.github/|\.circleci/|\.gitlab)|(^|/)(CHANGES|CHANGELOG|HISTORY|README|AUTHORS|CONTRIBUTING|LICENSE)[^/]*$|\.(md|rst)$")


class Replay:
    def __init__(self, arguments):
        self.arguments, self.name, self.place = arguments, arguments.name, arguments.place
        self.root = self.place / arguments.name
        if not self.root.exists():
            subprocess.run(["git", "clone", "-q", "--no-checkout", arguments.repository, self.root], check=True)
        (self.root / ".git" / "info" / "exclude").write_text("__pycache__/\n.pytest_cache/\n.unflake/\n.testmondata*\n*.egg-info/\n.hypothesis/\n")
        self.store = str(self.place / (arguments.name + "-store"))
        shutil.rmtree(self.store, ignore_errors=True)
        path = os.pathsep.join([str(self.root / "src"), str(self.root)])
        self.variables = {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "UNFLAKE"))}
        self.environment = dict(kept, **self.variables)
        self.plain = PlainRuns(arguments.python, self.variables)

    def git(self, *words):
        done = subprocess.run(["git", *words], cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
        return done.stdout.strip()

    def checkout(self, commit):
        self.git("checkout", "-q", "--force", "--detach", commit)
        self.git("clean", "-qfd")

    def outcomes(self):
        return self.plain.outcomes(self.root, [*PLAIN, *self.arguments.option], LONGEST)

    def affected(self, *words):
        """The listed tests, or None; and CPU seconds."""
        command = [self.arguments.unflake, "affected", "--store", self.store, "--null", *words, "--", self.arguments.python]
        command += ["-m", "pytest", *PLAIN, *self.arguments.option]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, cwd=self.root, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.said = done.stderr
        return (set(done.stdout.split("\0")[:-1]) if done.returncode == 0 else None), seconds

    def why(self, test):
        command = [self.arguments.unflake, "affected", "--store", self.store, "--why", "--granularity", "function", "--base", self.parent, "--"]
        command += [self.arguments.python, "-m", "pytest", *PLAIN, *self.arguments.option]
        done = subprocess.run(command, cwd=self.root, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        reasons = {}
        for line in done.stdout.splitlines():
            reason = line.partition("\t")[2]
            reasons[reason] = reasons.get(reason, 0) + 1
        return reasons

    def learn(self):
        listed, seconds = self.affected("--learn", "--granularity", "function", "--base", "HEAD")
        return listed is not None, seconds

    def testmon(self, *words):
        command = [self.arguments.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--testmon", *words, *self.arguments.option]
        environment = dict(self.environment, TESTMON_DATAFILE=str(self.place / (self.name + "-testmon")))
        return subprocess.run(command, cwd=self.root, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def run(self):
        arguments = self.arguments
        commits = self.git("rev-list", "--first-parent", "-n", str(arguments.commits + arguments.skip + 1), arguments.tip).splitlines()[arguments.skip :][::-1]
        total = {"commits": 0, "prose": 0, "broken": 0, "pairs": 0, "differ": 0, "learned": 0, "learning": 0.0}
        answers = {}
        excluded, wrong = {"file": 0, "function": 0, "testmon": 0}, {"file": 0, "function": 0, "testmon": 0}
        base = None
        for self.parent, commit in zip(commits, commits[1:]):
            changed = self.git("diff", "--name-only", self.parent, commit).splitlines()
            is_prose = all(PROSE.search(path) for path in changed)
            if base is None:
                self.checkout(self.parent)
                base = self.outcomes()
                if base is None:
                    total["broken"] += 1
                    continue
                known, seconds = self.learn()
                total["learned"], total["learning"] = total["learned"] + 1, total["learning"] + seconds
                if arguments.testmon:
                    self.testmon()
            self.checkout(commit)
            total["commits"] += 1
            if is_prose:
                total["prose"] += 1
                truth = base
            else:
                try:
                    truth = self.outcomes()
                except TimeoutError:
                    truth = None
                if truth is None:
                    total["broken"] += 1
                    base = None
                    continue
            differing = {test for test in truth if truth[test] != base.get(test)}
            answers = {mode: self.affected("--granularity", mode, "--base", self.parent)[0] for mode in arguments.modes.split(",")}
            if arguments.testmon:
                selected = self.testmon("--collect-only").stdout.splitlines()
                answers["testmon"] = {line for line in selected if "::" in line}
            total["pairs"] += len(truth)
            total["differ"] += len(differing)
            shown = []
            for who, listed in answers.items():
                listed = set(truth) if listed is None else listed
                missed = differing - listed
                wrong[who] += len(missed)
                excluded[who] += len(set(truth) - listed)
                shown.append("%s %d" % (who, len(set(truth) - listed)))
                if missed:
                    print("%s misses %d of %d at %s, first %s" % (who, len(missed), len(differing), commit[:10], sorted(missed)[0]))
            print("%s %d tests, %d differ, excluded: %s%s" % (commit[:10], len(truth), len(differing), ", ".join(shown), " (prose)" if is_prose else ""))
            if arguments.why and answers.get("function"):
                for reason, count in sorted(self.why(None).items(), key=lambda one: -one[1])[:4]:
                    print("    %5d %s" % (count, reason))
            sys.stdout.flush()
            # What cannot affect a test leaves what it depends on as it was.
            if not is_prose and any(listed is None or listed for listed in answers.values()):
                known, seconds = self.learn()
                total["learned"], total["learning"] = total["learned"] + 1, total["learning"] + seconds
                if arguments.testmon:
                    self.testmon()
            base = truth
        print(json.dumps({"name": self.name, **total, "excluded": excluded, "wrong": wrong}))
        for who in answers:
            print("%-10s excluded %.1f %% of %d pairs, wrong %d" % (who, 100.0 * excluded[who] / max(1, total["pairs"]), total["pairs"], wrong[who]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name")
    parser.add_argument("repository", help="a clone or its git directory")
    parser.add_argument("--commits", type=int, default=40)
    parser.add_argument("--skip", type=int, default=0, help="leave out so many of the newest")
    parser.add_argument("--tip", default="HEAD")
    parser.add_argument("--option", action="append", default=[], help="of pytest")
    parser.add_argument("--modes", default="file,function")
    parser.add_argument("--testmon", action="store_true")
    parser.add_argument("--why", action="store_true", help="print the most frequent reasons")
    parser.add_argument("--python", default=str(HERE.parent / ".venvs" / "bench-impact" / "venv" / "bin" / "python"))
    parser.add_argument("--place", type=Path, default=HERE.parent / ".venvs" / "bench-commits")
    parser.add_argument("--unflake", default=str(HERE.parent / "target" / "release" / "unflake"))
    arguments = parser.parse_args()
    arguments.place.mkdir(parents=True, exist_ok=True)
    Replay(arguments).run()


if __name__ == "__main__":
    main()
