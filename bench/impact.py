"""Mutants of real packages against `unflake affected`: `python3 bench/impact.py click --mutants 100`.

Or of the newest commit of a repository: `python3 bench/impact.py NAME --repository PATH`.

Each mutant changes one place of the code, the tests, a fixture, a data file, a template or the configuration. A plain
run of the whole suite says which tests it affects: those with another outcome than at the base. All of them must be
listed. Of the others, the excluded share counts, beside that of pytest-testmon. The cost of learning is a ratio of
CPU times of runs that take turns.
"""

import argparse
import ast
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

from plain_server import PlainRuns

HERE = Path(__file__).resolve().parent
PACKAGES = ["pytest==8.4.2", "pytest-testmon==2.1.3", "trio==0.31.0", "simplejson==3.20.2", "markupsafe==3.0.3", "pytest-asyncio==1.2.0",
            "freezegun==1.5.5"]  # fmt: skip
VERSIONS = {
    "click": "8.1.8", "jinja2": "3.1.6", "marshmallow": "3.26.1", "itsdangerous": "2.2.0", "blinker": "1.9.0",
    "cachetools": "5.5.2", "markupsafe": "3.0.3",
}  # fmt: skip
# The deselected test wants the package to be installed, not only importable.
OPTIONS = {"marshmallow": ["--deselect", "tests/test_version_attributes.py::test_version_attributes_deprecated"]}
PLAIN = "-p", "no:cacheprovider", "-p", "no:testmon"
LONGEST = 300  # Seconds of a plain run. A mutant that hangs is left out.
GIT = ["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost"]


class Project:
    """A released package in a repository of its own, with an environment in which its tests run."""

    def __init__(self, arguments):
        name, place = arguments.project, arguments.place
        self.name, self.unflake, self.place, self.options = name, arguments.unflake, place, arguments.option
        self.python = arguments.python or str(place / "venv" / "bin" / "python")
        if not Path(self.python).exists():
            venv.create(place / "venv", with_pip=True)
            self.pip("install", *PACKAGES)
        self.root = place / ("%s-%s" % (name, VERSIONS.get(name, "head")))
        if not self.root.exists() and arguments.repository:
            subprocess.run(["git", "clone", "-q", arguments.repository, self.root], check=True)
        elif not self.root.exists():
            self.pip("download", "--no-deps", "--no-binary", ":all:", "--dest", place, "%s==%s" % (name, VERSIONS[name]))
            with tarfile.open(next(place.glob("%s-*.tar.gz" % name))) as archive:
                archive.extractall(place, filter="data")
        shutil.rmtree(self.root / ".git", ignore_errors=True)
        if not arguments.keep:
            shutil.rmtree(self.root / ".unflake", ignore_errors=True)
        path = os.pathsep.join([str(self.root / "src"), str(self.root), str(HERE)])
        self.variables = {"PYTHONPATH": path}
        self.plain = PlainRuns(self.python, self.variables)
        (self.root / ".gitignore").write_text("__pycache__/\n.pytest_cache/\n.unflake/\n.testmondata*\n")
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "As released"]):
            subprocess.run(GIT + words, cwd=self.root, check=True)

    def pip(self, *words):
        subprocess.run([self.python, "-m", "pip", "-q", "--disable-pip-version-check", *map(str, words)], check=True)

    def pytest(self, *options):
        return [self.python, "-m", "pytest", "-q", *OPTIONS.get(self.name, ()), *self.options, *options]

    def run(self, command, longest=LONGEST, **variables):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "UNFLAKE"))}
        environment = dict(kept, **self.variables, **variables)
        return subprocess.run(
            command, cwd=self.root, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, timeout=longest,
        )  # fmt: skip

    def outcomes(self):
        """The outcome of every test in a plain run. None where the tests cannot be collected."""
        return self.plain.outcomes(self.root, [*self.pytest(*PLAIN)[3:]], LONGEST)

    def affected(self, granularity, learn=False):
        """The tests that are listed. None where they cannot be listed."""
        mode = ["--granularity", granularity, "--store", ".unflake/" + granularity, "--base", "HEAD", "--null"]
        mode += ["--learn"] if learn else []
        longest = None if learn else LONGEST
        done = self.run([self.unflake, "affected", *mode, "--", *self.pytest(*PLAIN)], longest)
        return set(done.stdout.split("\0")[:-1]) if done.returncode == 0 else None

    def verdicts(self):
        """The kinds of verdicts of a run with a history."""
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            options = ["--store", ".unflake/file", "--new-processes", "2", "--json", file.name]
            self.run([self.unflake, "run", *options, "--", *self.pytest(*PLAIN)])
            text = Path(file.name).read_text()
        findings = json.loads(text)["findings"] if text else []
        return {one["test"]: one["kind"] for one in findings if one["technique"] == "verdict"}

    def testmon(self):
        """The tests that pytest-testmon selects. Its record of the base is kept."""
        base = self.root / ".testmondata"
        shutil.copy(base, self.place / "testmondata")
        done = self.run(self.pytest("--testmon", "--collect-only"))
        for file in self.root.glob(".testmondata*"):
            file.unlink()
        shutil.copy(self.place / "testmondata", base)
        return {line for line in done.stdout.splitlines() if "::" in line} if done.returncode in (0, 5) else None


# -- Mutants ---------------------------------------------------------------------------------------

REPLACED = {"==": "!=", "!=": "==", "<": ">=", ">": "<=", "<=": ">", ">=": "<", "+": "-", "-": "+", "*": "//"}
OPERATORS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.Gt: ">", ast.LtE: "<=", ast.GtE: ">=", ast.Add: "+",
             ast.Sub: "-", ast.Mult: "*"}  # fmt: skip


def code_mutants(text):
    """Pairs of a description and a changed source."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    source = text.encode()

    def span(node):
        return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset

    def changed(begin, end, new):
        return (source[:begin] + new.encode() + source[end:]).decode()

    tree = ast.parse(text)
    inside_fstrings = {id(one) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for one in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in inside_fstrings:
            continue
        pairs = []
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            pairs = [(node.left, node.ops[0], node.comparators[0])]
        elif isinstance(node, ast.BinOp):
            pairs = [(node.left, node.op, node.right)]
        for left, operator, right in pairs:
            sign = OPERATORS.get(type(operator))
            between = source[span(left)[1] : span(right)[0]].decode()
            if sign and between.strip() == sign:
                new = between.replace(sign, REPLACED[sign])
                yield "line %d: %s" % (node.lineno, new.strip()), changed(span(left)[1], span(right)[0], new)
        if isinstance(node, ast.Constant):
            begin, end = span(node)
            shown = source[begin:end].decode()
            if node.value is True or node.value is False:
                yield "line %d: %s" % (node.lineno, not node.value), changed(begin, end, str(not node.value))
            elif type(node.value) is int:
                yield "line %d: %s + 1" % (node.lineno, shown), changed(begin, end, "(%s + 1)" % shown)
            elif type(node.value) is str and shown[-1:] == shown[:1] and len(shown) > 3:
                yield "line %d: longer text" % node.lineno, changed(begin, end, shown[:1] + "x" + shown[1:])
        if isinstance(node, ast.Return) and node.value is not None:
            begin, end = span(node.value)
            yield "line %d: return None" % node.lineno, changed(begin, end, "None")
        if isinstance(node, ast.If):
            begin, end = span(node.test)
            yield "line %d: if not" % node.lineno, changed(begin, end, "not (%s)" % source[begin:end].decode())


def is_for_tests(file):
    *directories, name = file.split("/")
    return bool({"tests", "testing", "test"}.intersection(directories)) or name.startswith("test_") or name in ("test.py", "conftest.py")


def mutants(project, seed):
    """Endless: (kind, path, description, new text)."""
    chosen = random.Random(seed)
    files = subprocess.run(["git", "ls-files"], cwd=project.root, stdout=subprocess.PIPE, text=True, check=True)
    files = files.stdout.split("\n")[:-1]
    tests = [file for file in files if is_for_tests(file) and file.endswith(".py")]
    known = "docs/", "doc/", "examples/", "scripts/", "benchmark", "misc/", "bench/", "setup.py", "noxfile.py", ".github/", "tasks.py", "conf"
    code = [file for file in files if file.endswith(".py") and file not in tests and not file.startswith(known)]
    fixtures = [file for file in tests if file.endswith("conftest.py")]
    suffixes = (".py", ".pyi", ".pyc", ".typed", ".toml")
    packages = {file.split("/")[0] for file in code if "/" in file} | {"src"}
    data = [file for file in files if (is_for_tests(file) or file.split("/")[0] in packages) and not file.endswith(suffixes)]
    configured = project.root / "pyproject.toml"
    configuration = ["pyproject.toml"] if configured.exists() and "[tool.pytest.ini_options]\n" in configured.read_text() else []
    kinds = [("code", code, 12), ("test", tests, 3), ("fixture", fixtures, 1), ("data", data, 3), ("configuration", configuration, 1)]
    kinds = [(kind, files, weight) for kind, files, weight in kinds if files]
    seen = set()
    while True:
        kind, files, _ = chosen.choices(kinds, [weight for _, _, weight in kinds])[0]
        file = chosen.choice(files)
        try:
            text = (project.root / file).read_text()
        except (UnicodeDecodeError, OSError):
            continue
        if kind == "configuration":
            table, option = "[tool.pytest.ini_options]\n", chosen.choice(["xfail_strict = true", "minversion = '6'"])
            yield kind, file, option, text.replace(table, table + option + "\n", 1)
            continue
        if kind == "data":
            lines = text.splitlines(keepends=True)
            at = chosen.randrange(len(lines) + 1)
            yield kind, file, "a line added at %d" % at, "".join(lines[:at]) + "mutant\n" + "".join(lines[at:])
            continue
        found = list(code_mutants(text))
        if found:
            what, new = chosen.choice(found)
            if (file, what) not in seen:
                seen.add((file, what))
                yield kind, file, what, new


# -- The measurement -------------------------------------------------------------------------------


def cpu(call):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = call()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, result


def learn(project, rounds, modes, testmon):
    """Learns, and prints what that costs beside a plain run."""
    plain, costs = [], {"file": [], "function": [], "testmon": []}
    for _ in range(rounds):
        base = project.outcomes()
        seconds, _ = cpu(lambda: project.run(project.pytest(*PLAIN)))
        plain.append(seconds)
        for granularity in modes:
            seconds, listed = cpu(lambda: project.affected(granularity, learn=True))
            assert listed is not None, "learning failed"
            costs[granularity].append(seconds)
        if testmon:
            for file in project.root.glob(".testmondata*"):
                file.unlink()
            seconds, _ = cpu(lambda: project.run(project.pytest("--testmon")))
            costs["testmon"].append(seconds)
    for who, seconds in costs.items():
        if not seconds:
            continue
        print("%-10s learning %.2f times the CPU time of a plain run (%.1f s)" % (who, min(seconds) / min(plain), min(plain)))
    return base


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("project")
    parser.add_argument("--repository", help="a clone or its git directory, in place of a released version")
    parser.add_argument("--option", action="append", default=[], help="of pytest")
    parser.add_argument("--modes", default="file,function")
    parser.add_argument("--testmon", type=int, default=0, help="so many mutants are shown to pytest-testmon too")
    parser.add_argument("--by-file", type=int, default=1 << 30, help="so many mutants are compared by file, too")
    parser.add_argument("--python")
    parser.add_argument("--keep", action="store_true", help="what an earlier call has learned")
    parser.add_argument("--mutants", type=int, default=100)
    parser.add_argument("--verdicts", type=int, default=0, help="so many failing mutants get a full run")
    parser.add_argument("--rounds", type=int, default=2, help="of measuring the cost of learning")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--place", type=Path, default=HERE.parent / ".venvs" / "bench-impact")
    parser.add_argument("--unflake", default=str(HERE.parent / "target" / "release" / "unflake"))
    parser.add_argument("--record", type=Path, help="a line of JSON for each mutant is added to this file")
    arguments = parser.parse_args()
    if arguments.project == "summary":
        return summarize(arguments.record)
    arguments.place.mkdir(parents=True, exist_ok=True)
    project = Project(arguments)
    modes = arguments.modes.split(",")
    base = learn(project, arguments.rounds, modes, arguments.testmon)
    assert base, "it cannot be collected at the base"
    if arguments.verdicts:
        project.run([arguments.unflake, "run", "--store", ".unflake/file", "--", *project.pytest(*PLAIN)])
    count(project, base, arguments)


def summarize(record):
    """Prints the table of all recorded projects: `python3 bench/impact.py summary --record DIRECTORY`."""
    for file in sorted(record.glob("*.jsonl")):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        verdicts = [line for line in lines if line["kind"] == "verdicts"]
        lines = [line for line in lines if line["kind"] != "verdicts"]
        kinds = [line["kind"] for line in lines]
        shown = ", ".join("%d %s" % (kinds.count(kind), kind) for kind in sorted(set(kinds)))
        print("%s: %d mutants (%s), %d change an outcome, %d pairs; verdicts of %d, wrong %d" % (
            file.stem, len(lines), shown, sum(line["differing"] > 0 for line in lines), sum(line["tests"] for line in lines),
            len(verdicts), sum(line["wrong"] for line in verdicts)))  # fmt: skip
        for who in sorted({who for line in lines for who in line["listed"]}):
            seen = [line for line in lines if who in line["listed"]]
            tests, listed = sum(line["tests"] for line in seen), sum(line["listed"][who] for line in seen)
            wrong, differing = sum(line["missed"][who] for line in seen), sum(line["differing"] for line in seen)
            print("  %-9s %d mutants, wrong not-listed %d of %d, excluded %.1f %%, precision %.1f %%" % (
                who, len(seen), wrong, differing, 100.0 - 100.0 * listed / max(1, tests), 100.0 * (differing - wrong) / max(1, listed)))  # fmt: skip


def count(project, base, arguments):
    began, tried, effective, wrong_verdicts, judged = os.times().elapsed, 0, 0, 0, 0
    kinds, missed, excluded, seen, pairs = {}, {}, {}, {}, 0
    time = 1_000_000_000
    for kind, file, what, text in mutants(project, arguments.seed):
        if tried >= arguments.mutants or os.times().elapsed - began > arguments.seconds:
            break
        path = project.root / file
        original = path.read_text()
        if text == original:
            continue
        # Bytecode is kept; Python takes it for stale by the second of the file's time and by its size.
        time += 2
        path.write_text(text)
        os.utime(path, (time, time))
        try:
            truth = project.outcomes()
            if truth is None:
                continue  # Nothing can be collected, and nothing is excluded.
            line = {"kind": kind, "file": file, "what": what, "tests": len(truth), "listed": {}, "missed": {}}
            differing = {test for test in truth if truth[test] != base.get(test)}
            tried, effective, pairs = tried + 1, effective + bool(differing), pairs + len(truth)
            kinds[kind] = kinds.get(kind, 0) + 1
            answers = {mode: project.affected(mode) for mode in arguments.modes.split(",") if tried <= arguments.by_file or mode != "file"}
            if tried <= arguments.testmon:
                answers["testmon"] = project.testmon()
            for who, listed in answers.items():
                seen[who] = seen.get(who, 0) + len(truth)
                if listed is None:
                    listed = set(truth)
                wrong = differing - listed
                line["listed"][who], line["missed"][who] = len(listed & set(truth)), len(wrong)
                missed[who] = missed.get(who, 0) + len(wrong)
                excluded[who] = excluded.get(who, 0) + len(set(truth) - listed)
                if wrong:
                    print("%s misses %d of %d: %s %s, first %s" % (who, len(wrong), len(differing), file, what, sorted(wrong)[0]))
            line["differing"] = len(differing)
            if arguments.record:
                with arguments.record.open("a") as out:
                    out.write(json.dumps(line) + "\n")
            if 0 < len(differing) < 10 and judged < arguments.verdicts:
                judged += 1
                excused = [test for test, kind in project.verdicts().items() if kind == "unaffected-by-change" and test in differing]
                wrong_verdicts += len(excused)
                if arguments.record:
                    with arguments.record.open("a") as out:
                        out.write(json.dumps({"kind": "verdicts", "failing": len(differing), "wrong": len(excused)}) + "\n")
                for test in excused:
                    print("wrong verdict unaffected: %s %s, %s" % (file, what, test))
        except (TimeoutError, subprocess.TimeoutExpired):
            print("left out, because it hangs: %s %s" % (file, what))
        finally:
            time += 2
            path.write_text(original)
            os.utime(path, (time, time))
        sys.stdout.flush()
    print("%s: %d mutants (%s), %d change an outcome, %d pairs of test and mutant" % (
        project.name, tried, ", ".join("%d %s" % (number, kind) for kind, number in sorted(kinds.items())), effective, pairs))
    for who in excluded:
        print("%-10s wrong not-listed %d, excluded %.1f %%" % (who, missed[who], 100.0 * excluded[who] / seen[who]))
    print("verdicts of %d failing mutants: wrong unaffected %d" % (judged, wrong_verdicts))


if __name__ == "__main__":
    main()
