"""Mutants of Java sources and resources against `unflake affected`: `python3 bench/impact_jvm.py NAME --mutants 40`.

NAME is a module of `bench/jvm.py`. Each mutant changes one place. A
plain `mvn test` says which tests end in another way; all of them must be listed. The others may be excluded.
"""

import argparse
import json
import random
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import jvm

MAVEN = ["mvn", "-o", "-B", "-q", "test", "-Dmaven.test.failure.ignore=true"]
LONGEST = 900
GIT = ["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
CHANGES = [
    (r" == ", " != "), (r" != ", " == "), (r" < ", " >= "), (r" > ", " <= "), (r" && ", " || "), (r" \|\| ", " && "),
    (r" \+ 1\b", " + 2"), (r" - 1\b", " - 2"), (r"\breturn true;", "return false;"), (r"\breturn false;", "return true;"),
    (r"\breturn this;", "return null;"), (r'"(?=\w{2})', '"x'), (r"\bif \(", "if (!!"), (r"(?<== )\d+;", "77;"),
]  # fmt: skip


class Project:
    def __init__(self, arguments):
        self.unflake, self.root = arguments.unflake, jvm.project(arguments.project)
        shutil.rmtree(self.root / ".git", ignore_errors=True)
        shutil.rmtree(self.root / ".unflake", ignore_errors=True)
        (self.root / ".gitignore").write_text("target/\njars/\ncomplete\n.unflake/\n")
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "As released"]):
            subprocess.run(GIT + words, cwd=self.root, check=True)

    def run(self, command):
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, cwd=self.root, text=True, timeout=LONGEST, **pipes)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return done

    def outcomes(self):
        """By test. None where it cannot be compiled."""
        shutil.rmtree(self.root / "target" / "surefire-reports", ignore_errors=True)
        if self.run(MAVEN).returncode != 0:
            return None
        found = {}
        for (name, outcome), count in jvm.surefire(self.root).items():
            found.setdefault(plain(name), set()).add((outcome, count))
        return found

    def affected(self, *words):
        """The listed tests. None where they cannot be listed."""
        done = self.run([self.unflake, "affected", *words, "--null", "--base", "HEAD", "--", *MAVEN])
        return {plain(name) for name in done.stdout.split("\0")[:-1]} if done.returncode == 0 else None


def plain(name):
    """Without the number or the arguments of a repetition."""
    return re.sub(r"[\[({ ].*", "", name, flags=re.DOTALL)


def mutants(root, seed):
    chosen, seen = random.Random(seed), set()
    files = sorted(path for path in (root / "src").rglob("*") if path.is_file())
    code = [path for path in files if path.suffix == ".java" and "main" in path.parts]
    tests = [path for path in files if path.suffix == ".java" and "test" in path.parts]
    data = [path for path in files if path.suffix != ".java"]
    kinds = [("code", code, 8), ("test", tests, 2), ("data", data, 2)]
    kinds = [one for one in kinds if one[1]]
    while True:
        kind, paths, _ = chosen.choices(kinds, [weight for _, _, weight in kinds])[0]
        path = chosen.choice(paths)
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        if kind == "data":
            lines = text.splitlines(keepends=True)
            at = chosen.randrange(len(lines) + 1)
            yield kind, path, "a line added at %d" % at, "".join(lines[:at]) + "mutant\n" + "".join(lines[at:])
            continue
        places = []
        for pattern, new in CHANGES:
            for match in re.finditer(pattern, text):
                line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
                if not re.match(r"\s*(\*|/\*|//|@|import|package)", line) and "//" not in line:
                    places.append((match.start(), match.end(), new))
        if places:
            start, end, new = chosen.choice(places)
            what = "line %d: %s" % (text.count("\n", 0, start) + 1, new.strip())
            if (path, what) not in seen:
                seen.add((path, what))
                yield kind, path, what, text[:start] + new + text[end:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("project")
    parser.add_argument("--mutants", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", type=Path, required=True, help="a line of JSON for each mutant is added to this file")
    parser.add_argument("--unflake", default=str(Path(__file__).resolve().parent.parent / "target" / "release" / "unflake"))
    arguments = parser.parse_args()
    project = Project(arguments)
    base = project.outcomes()
    assert base, "it cannot be compiled"
    cost = project.seconds
    assert project.affected("--learn") is not None, "learning failed"
    print("learning %.2f times the CPU time of a plain run (%.1f s)" % (project.seconds / cost, cost), flush=True)
    tried = 0
    for kind, path, what, text in mutants(project.root, arguments.seed):
        if tried >= arguments.mutants:
            break
        original = path.read_text()
        path.write_text(text)
        try:
            truth = project.outcomes()
            if truth is None:
                continue
            listed = project.affected()
        except subprocess.TimeoutExpired:
            continue
        finally:
            path.write_text(original)
        listed, tried = set(truth) if listed is None else listed, tried + 1
        differing = {name for name in truth if truth[name] != base.get(name)}
        wrong, file = differing - listed, str(path.relative_to(project.root))
        line = {"kind": kind, "file": file, "what": what, "tests": len(truth), "differing": len(differing)}
        line.update(listed={"class": len(listed & set(truth))}, missed={"class": len(wrong)})
        with arguments.record.open("a") as out:
            out.write(json.dumps(line) + "\n")
        if wrong:
            print("misses %d of %d: %s %s, first %s" % (len(wrong), len(differing), file, what, sorted(wrong)[0]))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
