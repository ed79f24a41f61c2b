"""What a private world costs an attempt, by runner: `unflake stress` with `--private all` and `none`, in turns.

    python3 bench/private_worlds.py [--unflake target/release/unflake] [--rounds 5] [--runs 60]
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SPECIMENS = os.path.join(HERE, "specimens", "stress")
JARS = os.path.expanduser("~/.m2/repository")


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def pytest_project(place):
    write(os.path.join(place, "test_it.py"), "def test_it():\n    pass\n")
    return [sys.executable, "-m", "pytest"], []


def cargo_project(place):
    write(os.path.join(place, "Cargo.toml"), '[package]\nname = "it"\nversion = "0.1.0"\nedition = "2021"\n[workspace]\n')
    write(os.path.join(place, "src/lib.rs"), "#[test]\nfn it() {}\n")
    subprocess.run(["cargo", "test", "--no-run", "-q"], cwd=place, check=True)
    return ["cargo", "test"], []


def googletest_project(place):
    shutil.copytree(os.path.join(SPECIMENS, "cpp", "shared_places"), place, dirs_exist_ok=True)
    write(os.path.join(place, "tests/places_test.cpp"), "#include <gtest/gtest.h>\nTEST(It, Passes) {}\n")
    for words in (["-S", ".", "-B", "build"], ["--build", "build"]):
        subprocess.run(["cmake", *words], cwd=place, check=True, stdout=subprocess.DEVNULL)
    return ["build/places_test"], []


def junit_project(place):
    shutil.copytree(os.path.join(SPECIMENS, "java", "shared_places"), place, dirs_exist_ok=True)
    test = "package com.acme;\npublic class PlacesTest {\n    @org.junit.Test public void it() {}\n}\n"
    write(os.path.join(place, "test/com/acme/PlacesTest.java"), test)
    return ["./build.sh"], ["--classpath-file", "class-path.txt", "--test-classes", "out"]


RUNNERS = {
    "pytest (fork)": (pytest_project, 1),
    "cargo test": (cargo_project, 1),
    "GoogleTest": (googletest_project, 1),
    "JUnit (a JVM each)": (junit_project, 0.2),
}


def measured(unflake, place, command, options, private, runs):
    """CPU seconds and seconds of one attempt, start and listing included."""
    report = os.path.join(place, "report.json")
    words = [unflake, "stress", "-q", "--for", "1h", "--jobs", "1", "--max-runs", str(runs), "--private", private]
    environment = dict(os.environ, REPOSITORY=JARS)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(
        [*words, "--json", report, *options, "--", *command], cwd=place, env=environment, check=True, stdout=subprocess.DEVNULL
    )
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(report) as file:
        attempts = len(json.load(file)["attempts"])
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu / attempts, wall / attempts


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--unflake", default=os.path.join(HERE, "target/release/unflake"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=60)
    args = parser.parse_args()
    unflake = os.path.abspath(args.unflake)
    print("| runner | CPU ms, shared | CPU ms, private | a world, CPU ms | × CPU | × wall |")
    print("|---|---|---|---|---|---|")
    for name, (make, share) in RUNNERS.items():
        with tempfile.TemporaryDirectory() as place:
            command, options = make(place)
            found = {"none": [], "all": []}
            for _ in range(args.rounds):
                for private, results in found.items():
                    runs = max(5, int(args.runs * share))
                    results.append(measured(unflake, place, command, options, private, runs))
        # Other work on the machine only adds to it.
        (shared, shared_wall), (private, private_wall) = (
            tuple(min(one[at] for one in found[kind]) for at in (0, 1)) for kind in ("none", "all")
        )
        print(
            "| %s | %.1f | %.1f | %.1f | %.2f | %.2f |"
            % (name, shared * 1e3, private * 1e3, (private - shared) * 1e3, private / shared, private_wall / shared_wall),
            flush=True,
        )


if __name__ == "__main__":
    main()
