#!/usr/bin/env python3
"""How often a world with a seed repeats what it did: the printed command of a failing test, and draws in each language.

    seeds.py [--unflake PATH] [--runs 50] [--only TEXT] [--failing]

For each sample it looks for a seed with which `unflake under --seed N -- COMMAND` fails and one with which it passes, and
runs both commands again. Samples whose tools are not installed are left out.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile

PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
PYTHON = """
import os, random, uuid
def test_random(): assert random.random() < 0.5
def test_urandom(): assert os.urandom(1)[0] < 128
def test_uuid(): assert uuid.uuid4().hex[0] in "01234567"
def test_hash(): assert hash("x") % 2 == 0
def test_set_order(): assert list({"a", "b", "c", "d"})[0] in "ab"
def test_address(): assert hash(object()) % 7 < 4
def test_objects_in_a_set():
    class Item: pass
    items = [Item() for _ in range(40)]
    assert list(set(items)).index(items[0]) < list(set(items)).index(items[1])
"""
NUMPY = "import numpy.random\ndef test_numpy(): assert numpy.random.random() < 0.5\n"
CPP = r"""
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <unordered_set>
int main(int, char **words) {
    auto is = [&](const char *name) { return !strcmp(words[1], name); };
    std::random_device device;
    if (is("random_device")) return device() % 2;
    if (is("mt19937")) { std::mt19937 engine(device()); return engine() % 2; }
    if (is("rand")) { srand(time(nullptr)); return rand() / 7 % 2; }
    std::unordered_set<int *> set;
    int *first = new int, *second = new int;
    set.insert(first); set.insert(second);
    return (size_t(first) / 16 + size_t(second) / 16) % 7 < 3;
}
"""
RUST = """
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
fn main() {
    let fails = match std::env::args().nth(1).unwrap().as_str() {
        "hash_map" => *(0..8).map(|n| (n, ())).collect::<HashMap<_, _>>().keys().next().unwrap() < 4,
        "random_state" => RandomState::new().hash_one(1) % 2 == 0,
        _ => Box::into_raw(Box::new([0u8; 300])) as usize / 16 % 7 < 3,
    };
    std::process::exit(fails.into());
}
"""
JAVA = """
import java.util.*;
class Draws {
    public static void main(String[] words) {
        List<Integer> list = new ArrayList<>(List.of(1, 2, 3, 4));
        boolean fails;
        switch (words[0]) {
            case "random": fails = new Random().nextBoolean(); break;
            case "math": fails = Math.random() < 0.5; break;
            case "shuffle": Collections.shuffle(list); fails = list.get(0) < 3; break;
            case "uuid": fails = UUID.randomUUID().toString().charAt(0) < '8'; break;
            case "set_of": fails = Set.of("a", "b", "c", "d").iterator().next().compareTo("c") < 0; break;
            case "map_of": fails = Map.of("a", 1, "b", 2, "c", 3, "d", 4).values().iterator().next() < 3; break;
            case "splittable": fails = new SplittableRandom().nextBoolean(); break;
            case "thread_local": fails = java.util.concurrent.ThreadLocalRandom.current().nextBoolean(); break;
            case "generator": fails = java.util.random.RandomGenerator.getDefault().nextBoolean(); break;
            case "identity": fails = System.identityHashCode(new Object()) % 2 == 0; break;
            case "objects_in_a_set":
                Object first = new Object();
                fails = new HashSet<>(Arrays.asList(first, new Object(), new Object())).iterator().next() == first;
                break;
            default: fails = new java.security.SecureRandom().nextBoolean();
        }
        System.exit(fails ? 1 : 0);
    }
}
"""


def samples(place):
    """Name and command of each sample; the command fails or passes by chance."""
    def write(name, text):
        with open(os.path.join(place, name), "w") as file:
            file.write(text)

    def tests(name, text):
        return [("python " + line.split("(")[0][9:], PYTEST + ["%s::%s" % (name, line.split("(")[0][4:])])
                for line in text.splitlines() if line.startswith("def test_")]

    write("test_draws.py", PYTHON)
    found = tests("test_draws.py", PYTHON)
    if subprocess.run([sys.executable, "-c", "import numpy"], stderr=subprocess.DEVNULL).returncode == 0:
        write("test_numpy.py", NUMPY)
        found += tests("test_numpy.py", NUMPY)
    for tool, source, text, build, program, names in [
        ("g++", "draws.cpp", CPP, ["g++", "-o", "draws_cpp", "draws.cpp"], ["./draws_cpp"], "random_device mt19937 rand address"),
        ("rustc", "draws.rs", RUST, ["rustc", "-o", "draws_rs", "draws.rs"], ["./draws_rs"], "hash_map random_state address"),
        ("javac", "Draws.java", JAVA, ["javac", "Draws.java"], ["java", "-cp", ".", "Draws"], "random math shuffle uuid set_of map_of splittable thread_local generator identity objects_in_a_set secure"),
    ]:
        if shutil.which(tool):
            write(source, text)
            subprocess.run(build, cwd=place, check=True)
            found += [("%s %s" % (tool, name), program + [name]) for name in names.split()]
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unflake", default="target/release/unflake")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--only", default="")
    parser.add_argument("--failing", action="store_true", help="replay the failing seed only")
    arguments = parser.parse_args()
    unflake = os.path.abspath(arguments.unflake)
    with tempfile.TemporaryDirectory() as place:
        def fails(seed, command):
            call = [unflake, "under", "--quiet", "--seed", str(seed), "--"] + command
            return subprocess.run(call, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0

        for name, command in samples(place):
            if arguments.only not in name:
                continue
            seen = {}
            for seed in range(1, arguments.seeds + 1):
                seen.setdefault(fails(seed, command), seed)
                if len(seen) == 2 or arguments.failing and True in seen:
                    break
            if arguments.failing:
                seen.pop(False, None)
            if len(seen) < 2 - arguments.failing:
                print("%-32s every seed %s" % (name, "fails" if True in seen else "passes"), flush=True)
                continue
            again = {outcome: sum(fails(seed, command) == outcome for _ in range(arguments.runs)) for outcome, seed in seen.items()}
            words = {True: "fails", False: "passes"}
            parts = ["seed %d %s %d of %d" % (seed, words[outcome], again[outcome], arguments.runs) for outcome, seed in seen.items()]
            print("%-32s %s" % (name, ", ".join(parts)), flush=True)


if __name__ == "__main__":
    main()
