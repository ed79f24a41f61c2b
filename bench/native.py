"""unflake against plain `cargo test`, `cargo nextest run` and GoogleTest programs, side by side: `python3 bench/native.py`.

Released crates from crates.io with their own tests, and GoogleTest's own tests from the package `googletest`. Builds are warm;
doctests are left out on all sides. nextest is an ordinary optimised build in .venvs/bench-cargo, made once, which takes a while.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import Contender, alternate, compared, least
from outcomes import differences
from run import Table
from suites import PLACE, ROOT, TARGET, as_repository

HERE = PLACE / "native"
UNFLAKE = str(HERE / "unflake")
NEXTEST = ROOT / ".venvs" / "bench-cargo"
# Many tiny tests in one program; some long ones among short ones; few tests in each of many programs.
CRATES = {"regex-syntax": "0.8.5", "indexmap": "2.11.0", "petgraph": "0.8.2"}
GOOGLETEST = Path("/usr/src/googletest/googletest")
PROGRAMS = ["gtest_unittest", "googletest-param-test-test", "googletest-printers-test", "gtest-typed-test_test"]


def variables():
    ours = ("RUST_", "CARGO_", "UNFLAKE_", "GTEST_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours) or name == "CARGO_HOME"}
    kept["PATH"] = os.pathsep.join([str(NEXTEST / "bin"), kept["PATH"]])
    return kept


def run(*command, cwd=None, exits=(0,)):
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=variables(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    text = done.stdout.decode(errors="replace")
    if done.returncode not in exits:
        raise SystemExit("%s left with %d:\n%s" % (" ".join(map(str, command)), done.returncode, text[-3000:]))
    return text


def prepare():
    HERE.mkdir(parents=True, exist_ok=True)
    if not (NEXTEST / "bin" / "cargo-nextest").exists():
        print("making cargo-nextest, once", file=sys.stderr, flush=True)
        run("cargo", "install", "cargo-nextest", "--locked", "--quiet", "--root", NEXTEST)
    subprocess.run(["cargo", "build", "--quiet", "--release", "-p", "unflake"], cwd=ROOT, check=True)
    shutil.copy(TARGET / "release" / "unflake", UNFLAKE)


def crate(name):
    """The released sources of a crate, built."""
    directory = HERE / ("%s-%s" % (name, CRATES[name]))
    if not (directory / ".git").exists():
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(sources_of(name), directory, ignore=shutil.ignore_patterns(".cargo*", "target"))
        with open(directory / "Cargo.toml", "a") as manifest:
            manifest.write("\n[workspace]\n")
        as_repository(directory)
    run("cargo", "test", "--tests", "--no-run", cwd=directory)
    run("cargo", "nextest", "run", "--tests", "--no-run", cwd=directory)
    own_history(directory)
    return directory


def own_history(directory):
    """A new one. Without a place of its own, a history that is kept further up would be read and written, however long it is."""
    shutil.rmtree(directory / ".unflake", ignore_errors=True)
    (directory / ".unflake").mkdir()


def sources_of(name):
    with tempfile.TemporaryDirectory() as place:
        manifest = Path(place) / "Cargo.toml"
        text = '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n[dependencies]\n'
        manifest.write_text(text + '%s = "=%s"\n' % (name, CRATES[name]))
        (Path(place) / "src").mkdir()
        (Path(place) / "src" / "lib.rs").write_text("")
        run("cargo", "fetch", "--manifest-path", manifest)
        packages = json.loads(subprocess.check_output(["cargo", "metadata", "--format-version", "1"], cwd=place, env=variables()))
        return next(Path(one["manifest_path"]).parent for one in packages["packages"] if one["name"] == name)


def plain_outcomes(directory):
    """What `cargo test` says of every test, by target and name."""
    found, target = {}, None
    for line in run("cargo", "test", "--tests", "--no-fail-fast", cwd=directory, exits=(0, 101)).splitlines():
        running = re.match(r" +Running .* \(.*/(.*)-[0-9a-f]+\)$", line)
        result_line = re.match(r"test (.*?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)", line)
        if running:
            target = running.group(1)
        elif result_line:
            found["%s %s" % (target, result_line.group(1))] = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}[result_line.group(2)]
    return found


def attempts(directory, command):
    with tempfile.TemporaryDirectory() as place:
        file = os.path.join(place, "run.json")
        run(UNFLAKE, "run", "--quiet", "--json", file, "--", *command, cwd=directory, exits=(0, 1))
        with open(file) as text:
            return json.load(text)["attempts"]


def first_outcomes(directory, command, key):
    first = {}
    for attempt in attempts(directory, command):
        outcome = attempt["outcome"]
        first.setdefault(key(attempt["test"]), outcome if isinstance(outcome, str) else "crashed")
    return first


def by_target(test):
    target, name = test.split(" ", 1)
    return "%s %s" % (target.split("::")[-1].replace("-", "_"), name)


def rust(quick):
    table = Table(
        "Rust (bar: `unflake run -- cargo test` at most 1.10 times the faster of the plain two)",
        "crate", "tests", "contender", "wall s, median / min", "× faster plain", "CPU s, median / min", "× its CPU", "times",
    )
    same = Table("Outcomes against plain `cargo test` (bar: no difference)", "crate", "tests", "of which", "differ: cargo test", "nextest")
    for name in list(CRATES)[:1] if quick else CRATES:
        directory = crate(name)
        expected = plain_outcomes(directory)
        test, nextest = ["cargo", "test", "--tests"], ["cargo", "nextest", "run", "--tests"]
        commands = test, nextest
        differ = [differences(expected, first_outcomes(directory, command, by_target)) for command in commands]
        kinds = ", ".join("%d %s" % (list(expected.values()).count(kind), kind) for kind in sorted(set(expected.values())))
        same.row(name, len(expected), kinds, *map(len, differ))
        same.notes += ["%s: %s" % (name, one) for one in sum(differ, [])[:10]]
        contenders = [
            Contender("cargo test", test, directory, variables()),
            Contender("cargo nextest run", nextest, directory, variables()),
            Contender("unflake run -- cargo test", [UNFLAKE, "run", "--", *test], directory, variables()),
            Contender("unflake run -- cargo nextest run", [UNFLAKE, "run", "--", *nextest], directory, variables()),
        ]
        times = 3 if quick else 9
        costs = alternate(contenders, times)
        base = min((costs["cargo test"], costs["cargo nextest run"]), key=lambda its: least(its, "wall"))
        for contender, its in costs.items():
            table.row(name, len(expected), contender, *compared(its, base, ("wall", "cpu"), 3), times)
    return [table, same]


def googletest(quick):
    table = Table(
        "GoogleTest's own tests", "program", "tests", "contender", "wall s, median / min", "× plain", "CPU s, median / min",
        "× plain", "times", "differ",
    )
    if not GOOGLETEST.exists():
        table.notes.append("Not measured: the package `googletest` is not there (apt-get install googletest cmake g++ ninja-build).")
        return [table]
    build = HERE / "googletest"
    run("cmake", "-S", GOOGLETEST, "-B", build, "-G", "Ninja", "-Dgtest_build_tests=ON", "-DCMAKE_BUILD_TYPE=Debug")
    for name in PROGRAMS[:1] if quick else PROGRAMS:
        run("cmake", "--build", build, "--target", name)
        program = str(build / name)
        own_history(build)
        expected = outcomes_of_googletest(program, build)
        differ = differences(expected, first_outcomes(build, [program], lambda test: test.split(" ", 1)[1]))
        contenders = [
            Contender("plain", [program], build, variables(), (0, 1)),
            Contender("unflake run", [UNFLAKE, "run", "--", program], build, variables(), (0, 1)),
        ]
        times = 5 if quick else 15
        costs = alternate(contenders, times)
        for contender, its in costs.items():
            table.row(name, len(expected), contender, *compared(its, costs["plain"], ("wall", "cpu"), 3), times, len(differ) if contender != "plain" else "")
        table.notes += ["%s: %s" % (name, one) for one in differ[:10]]
    return [table]


def outcomes_of_googletest(program, cwd):
    with tempfile.TemporaryDirectory() as place:
        file = os.path.join(place, "own.json")
        run(program, "--gtest_output=json:" + file, cwd=cwd, exits=(0, 1))
        with open(file) as text:
            report = json.load(text)
    found = {}
    for suite in report["testsuites"]:
        for test in suite["testsuite"]:
            skipped = test["result"] != "COMPLETED"
            outcome = "failed" if test.get("failures") else "skipped" if skipped else "passed"
            found["%s.%s" % (suite["name"], test["name"])] = outcome
    return found


def native(quick):
    prepare()
    return rust(quick) + googletest(quick)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a fast look: one crate, one program, fewer repetitions")
    parser.add_argument("--markdown", action="store_true", help="tables for a document")
    arguments = parser.parse_args()
    for table in native(arguments.quick):
        print(table.markdown() if arguments.markdown else table.text(), flush=True)


if __name__ == "__main__":
    sys.exit(main())
