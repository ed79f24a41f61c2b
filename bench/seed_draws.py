#!/usr/bin/env python3
"""Whether a seed draws the same everywhere: in `stress`, `run` and `factors`, and in the command with `under`, by library.

    seed_draws.py [--unflake PATH] [--python PATH] [--only python,rust,cpp,java]

Each sample is a test that fails with what it has drawn. For every attempt with a seed, the plain command that unflake prints
runs under the same seed: that of the test, and of `factors --together` that of the whole suite. They are compared with each
other, too (`under`, all tests). Libraries and tools that are not installed are left out. The last column is the number of different draws: 1 would mean that the seed does not decide.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

PYTHON = {
    "random": "random.random()",
    "urandom": "os.urandom(8)",
    "uuid": "uuid.uuid4()",
    "secrets": "secrets.token_hex()",
    "numpy": "numpy.random.random()",
    "default_rng": "numpy.random.default_rng().random()",
    "random_of_module": "generators.own.random()",
    "default_rng_of_module": "generators.numpy_own.random()",
    "random_state_of_module": "generators.numpy_old.random_sample()",
    "faker": "faker.Faker().name()",
    "hypothesis": "given_values()",
}
IMPORTS = """
import os, random, secrets, uuid
import generators
try:
    import numpy
except ImportError:
    pass
try:
    import faker
except ImportError:
    pass

def given_values():
    from hypothesis import HealthCheck, given, settings, strategies
    drawn = []
    @settings(max_examples=3, database=None, suppress_health_check=list(HealthCheck))
    @given(strategies.integers())
    def draw(value):
        drawn.append(value)
    draw()
    return drawn
"""
GENERATORS = """
import random
own = random.Random()
try:
    import numpy.random
    numpy_own, numpy_old = numpy.random.default_rng(), numpy.random.RandomState()
except ImportError:
    pass
"""
# Is collected first, and only where the whole suite runs.
OTHER = """
import other_generators
def test_other():
    assert other_generators.own.random() >= 0
"""
RUST = {
    "hash_map": "(0..8).map(|n| (n, ())).collect::<std::collections::HashMap<_, _>>().into_keys().collect::<Vec<_>>()",
    "random_state": "std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 1)",
    "fastrand": "fastrand::u64(..)",
    "rand": "rand::random::<u64>()",
}
CPP = {
    "Device": "std::random_device()()",
    "Twister": "std::mt19937(std::random_device()())()",
    "Rand": "(srand(time(nullptr)), rand())",
}
JAVA = {
    "random": "new java.util.Random().nextLong()",
    "math": "Math.random()",
    "splittable": "new java.util.SplittableRandom().nextLong()",
    "threadLocal": "java.util.concurrent.ThreadLocalRandom.current().nextLong()",
    "uuid": "java.util.UUID.randomUUID()",
    "secure": "new java.security.SecureRandom().nextLong()",
    "shuffle": "shuffled()",
}
SHUFFLED = """
    static Object shuffled() {
        java.util.List<Integer> list = new java.util.ArrayList<>(java.util.Arrays.asList(1, 2, 3, 4, 5, 6, 7, 8));
        java.util.Collections.shuffle(list);
        return list;
    }
"""
SPECIMENS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "specimens")
GOOGLETEST = "cmake_minimum_required(VERSION 3.14)\nproject(draws CXX)\nset(CMAKE_CXX_STANDARD 17)\nfind_package(GTest REQUIRED)\n" \
    "add_executable(draws draws.cpp)\ntarget_link_libraries(draws GTest::gtest_main)\n"


def write(place, name, text):
    path = os.path.join(place, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def python_project(place, python):
    modules = {"numpy": "numpy", "default_rng": "numpy", "default_rng_of_module": "numpy",
               "random_state_of_module": "numpy", "faker": "faker", "hypothesis": "hypothesis"}
    found = lambda name: name not in modules or subprocess.run([python, "-c", "import " + modules[name]], stderr=subprocess.DEVNULL).returncode == 0
    draws = {name: text for name, text in PYTHON.items() if found(name)}
    tests = "".join("\ndef test_%s():\n    raise AssertionError('%s drew %%s;' %% (%s,))\n" % (name, name, text) for name, text in draws.items())
    write(place, "test_draws.py", IMPORTS + tests)
    write(place, "generators.py", GENERATORS)
    write(place, "other_generators.py", GENERATORS)
    write(place, "test_before.py", OTHER)
    pytest = [python, "-m", "pytest", "-p", "no:cacheprovider"]
    return pytest, lambda test: pytest + [test]


def rust_project(place, _):
    crates = 'fastrand = "2"\nrand = "0.9"\n'
    write(place, "Cargo.toml", '[package]\nname = "draws"\nversion = "0.1.0"\nedition = "2021"\n[workspace]\n[dependencies]\n' + crates)
    tests = "".join('\n#[test]\nfn %s() {\n    panic!("%s drew {:?};", %s);\n}\n' % (name, name, text) for name, text in RUST.items())
    write(place, "src/lib.rs", tests)
    subprocess.run(["cargo", "test", "-q", "--no-run"], cwd=place, check=True)
    return ["cargo", "test"], lambda test: ["cargo", "test", "--", "--exact", test.split()[-1]]


def cpp_project(place, _):
    tests = "".join('\nTEST(Draws, %s) {\n    FAIL() << "%s drew " << %s << ";";\n}\n' % (name, name, text) for name, text in CPP.items())
    write(place, "draws.cpp", "#include <gtest/gtest.h>\n#include <cstdlib>\n#include <ctime>\n#include <random>\n" + tests)
    write(place, "CMakeLists.txt", GOOGLETEST)
    for words in (["-S", ".", "-B", "build"], ["--build", "build"]):
        subprocess.run(["cmake", *words], cwd=place, check=True, stdout=subprocess.DEVNULL)
    return ["build/draws"], lambda test: ["build/draws", "--gtest_filter=" + test.split()[-1]]


def java_project(place, _):
    shutil.copy(os.path.join(SPECIMENS, "environment/java/random_seed/pom.xml"), place)
    tests = "".join('\n    @org.junit.jupiter.api.Test\n    void %s() {\n        throw new AssertionError("%s drew " + %s + ";");\n    }\n' % (name, name, text)
                    for name, text in JAVA.items())
    write(place, "src/test/java/com/acme/DrawsTest.java", "package com.acme;\n\nclass DrawsTest {%s%s}\n" % (SHUFFLED, tests))
    maven = ["mvn", "-o", "-q", "-B", "test"]
    name = lambda test: re.search(r"(\w+)(\(\))?$", test).group(1)
    return maven, lambda test: maven + ["-Dtest=DrawsTest#" + name(test)]


PROJECTS = {"python": (python_project, "python3"), "rust": (rust_project, "cargo"), "cpp": (cpp_project, "cmake"), "java": (java_project, "mvn")}


def drawn(text):
    """What each sample drew, by its name."""
    return dict(re.findall(r"(\w+) drew ([^;\n]*);", text or ""))


def seeds_of(options):
    return [option for option in options if re.match("--(random-)?seed=", option)]


def attempts(unflake, place, words, command):
    """Test, sample, seed option and draw of each attempt with a seed."""
    report = os.path.join(place, "report.json")
    subprocess.run([unflake, *words, "--json", report, "--", *command], cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(report) as file:
        content = json.load(file)
    worlds = {world["id"]: world["options"] for world in content["worlds"]}
    for attempt in content["attempts"]:
        seeds = seeds_of(worlds.get(attempt["world"], []))
        for sample, draw in drawn((attempt.get("failure") or {}).get("message")).items():
            if seeds:
                yield attempt["test"], sample, seeds[0], draw


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unflake", default="target/release/unflake")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--only", default=",".join(PROJECTS))
    arguments = parser.parse_args()
    unflake = os.path.abspath(arguments.unflake)
    print("| language | library | " + " | ".join(COMMANDS) + " | `under`, all tests | draws |")
    print("|---" * (4 + len(COMMANDS)) + "|")
    for language in arguments.only.split(","):
        make, tool = PROJECTS[language]
        if not shutil.which(tool):
            continue
        with tempfile.TemporaryDirectory() as place:
            command, alone = make(place, arguments.python)

            def under(seed, words):
                call = [unflake, "under", "-q", seed, "--", *words]
                ran = subprocess.run(call, cwd=place, capture_output=True, text=True, errors="replace")
                return drawn(ran.stdout + ran.stderr)

            by_seed, whole, counts, tests = {}, {}, {}, {}

            def count(sample, name, is_same):
                same, all = counts.get((sample, name), (0, 0))
                counts[sample, name] = (same + is_same, all + 1)

            for name, words in COMMANDS.items():
                for test, sample, seed, draw in attempts(unflake, place, words, command):
                    tests[sample] = test
                    if "--together" in words:
                        if seed not in whole:
                            whole[seed] = under(seed, command)
                        count(sample, name, whole[seed].get(sample) == draw)
                    else:
                        if (sample, seed) not in by_seed:
                            by_seed[sample, seed] = under(seed, alone(test)).get(sample)
                        count(sample, name, by_seed[sample, seed] == draw)
            seed = sorted(whole)[0] if whole else None
            for sample, test in tests.items():
                if seed:
                    by_seed[sample, seed] = under(seed, alone(test)).get(sample)
                    count(sample, "whole", whole[seed].get(sample) == by_seed[sample, seed])
            for sample in sorted({sample for sample, _ in counts}):
                cells = ["%d of %d" % counts[sample, name] if (sample, name) in counts else "none seeded" for name in [*COMMANDS, "whole"]]
                draws = [draw for (one, _), draw in by_seed.items() if one == sample]
                cells.append("%d of %d seeds" % (len(set(draws)), len(draws)))
                print("| %s | %s | %s |" % (language, sample, " | ".join(cells)), flush=True)


COMMANDS = {
    "stress": ["stress", "--for", "300", "--max-runs", "3", "--store", ":memory:"],
    "run": ["run", "--new-processes", "2", "--store", ":memory:"],
    "factors": ["factors", "--together", "--factor", "random-seed", "--for", "60", "--store", ":memory:"],
}

if __name__ == "__main__":
    main()
