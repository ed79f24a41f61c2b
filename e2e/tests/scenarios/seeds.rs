//! A seed draws the same in `stress`, `run`, `factors` and the command with `under`, by language.

use std::collections::{BTreeMap, BTreeSet};

use e2e::{Sandbox, python};

/// What tests drew, by their names: they fail with `NAME drew VALUE;`.
fn drawn(text: &str) -> BTreeMap<String, String> {
    let parts = text.split(" drew ").collect::<Vec<_>>();
    let pairs = parts.windows(2).filter_map(|pair| {
        let name = pair[0].rsplit(|letter: char| !letter.is_alphanumeric() && letter != '_').next()?;
        let draw = pair[1].split_once(';')?.0;
        (!draw.contains(['%', '\n', '{', '<'])).then(|| (name.to_owned(), draw.to_owned()))
    });
    pairs.collect()
}

const STRESS: &[&str] = &["stress", "--for", "1h", "--max-runs", "1"];
const RUN: &[&str] = &["run", "--new-processes", "1"];

/// The option with the seed of an attempt, if it has one.
fn seed_of<'a>(worlds: &'a [serde_json::Value], attempt: &serde_json::Value) -> Option<&'a str> {
    let world = worlds.iter().find(|world| world["id"] == attempt["world"])?;
    let mut options = world["options"].as_array()?.iter().filter_map(|option| option.as_str());
    options.find(|option| option.starts_with("--seed=") || option.starts_with("--random-seed="))
}

/// Runs tests that fail with what they draw, and compares attempts that have a seed with commands
/// under the same seed: those that `commands` gives for the test.
#[track_caller]
fn assert_same_draws(
    sandbox: &Sandbox,
    asked: &[&[&str]],
    count: usize,
    command: &[&str],
    commands: impl Fn(&str) -> Vec<Vec<String>>,
) {
    let mut by_sample: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for asked in asked {
        let result = sandbox.unflake(*asked).json().arg("--").args(command).finish();
        let worlds = result.list("worlds");
        let mut samples = BTreeMap::new();
        for attempt in result.list("attempts") {
            let Some(seed) = seed_of(worlds, attempt) else { continue };
            for (sample, draw) in drawn(attempt["failure"]["message"].as_str().unwrap_or("")) {
                samples.insert(sample, (seed, attempt["test"].as_str().unwrap(), draw));
            }
        }
        assert_eq!(samples.len(), count, "{asked:?}: {samples:?}");
        for (sample, (seed, test, draw)) in samples {
            for words in commands(test) {
                let under = sandbox.unflake(["under", "--quiet", seed, "--"]).args(&words).finish();
                let again = drawn(&(under.stdout + &under.stderr)).remove(&sample);
                assert_eq!(again.as_ref(), Some(&draw), "{asked:?}: {sample} under {seed}: {words:?}");
            }
            by_sample.entry(sample).or_default().insert(seed.to_owned(), draw);
        }
    }
    for (sample, draws) in by_sample {
        let different: BTreeSet<&String> = draws.values().collect();
        assert!(draws.len() > 1 && different.len() == draws.len(), "the seed decides {sample}: {draws:?}");
    }
}

fn owned(words: &[&str], last: &str) -> Vec<String> {
    words.iter().copied().chain([last]).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

const PYTHON: [(&str, &str); 9] = [
    ("random", "random.random()"),
    ("urandom", "os.urandom(8).hex()"),
    ("uuid", "uuid.uuid4()"),
    ("secrets", "secrets.token_hex()"),
    ("numpy", "numpy.random.random()"),
    ("default_rng", "numpy.random.default_rng().random()"),
    ("random_of_module", "generators.own.random()"),
    ("default_rng_of_module", "generators.numpy_own.random()"),
    ("random_state_of_module", "generators.numpy_old.random_sample()"),
];
const GENERATORS: &str = "import random, numpy.random\nown = random.Random()\n\
                          numpy_own, numpy_old = numpy.random.default_rng(), numpy.random.RandomState()\n";

#[test]
fn python_draws_what_the_seed_decides() {
    let tests: String =
        PYTHON.map(|(name, draw)| format!("def test_{name}(): assert 0, '{name} drew %s;' % {draw}\n")).concat();
    let imports = "import os, random, secrets, uuid, numpy.random, generators\n";
    let sandbox = Sandbox::new()
        .file("test_draws.py", format!("{imports}{tests}"))
        .file("generators.py", GENERATORS)
        // Collected first where all tests run: its generators come before those of the tests.
        .file("test_before.py", "import other_generators\ndef test_it(): other_generators.own.random()\n")
        .file("other_generators.py", GENERATORS);
    let pytest = [python().to_str().unwrap(), "-m", "pytest", "-p", "no:cacheprovider"];
    // The test alone, and after others in one process.
    let commands = |test: &str| vec![owned(&pytest, test), owned(&pytest, "")];
    assert_same_draws(&sandbox, &[STRESS, RUN], PYTHON.len(), &pytest, commands);
}

const RUST: [(&str, &str); 2] = [
    (
        "hash_map",
        "(0..8).map(|n| (n, ())).collect::<std::collections::HashMap<_, _>>().into_keys().collect::<Vec<_>>()",
    ),
    ("random_state", "std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 1)"),
];

#[test]
fn rust_draws_what_the_seed_decides() {
    let tests =
        RUST.map(|(name, draw)| format!("#[test]\nfn {name}() {{\n    panic!(\"{name} drew {{:?}};\", {draw});\n}}\n"));
    let sandbox = Sandbox::new()
        .file("Cargo.toml", "[package]\nname = \"draws\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n")
        .file("src/lib.rs", tests.concat());
    let alone = |test: &str| vec![owned(&["cargo", "test", "--", "--exact"], test.rsplit([' ', ':']).next().unwrap())];
    assert_same_draws(&sandbox, &[STRESS, STRESS], RUST.len(), &["cargo", "test"], alone);
}

const CPP: [(&str, &str); 3] = [
    ("device", "std::random_device()()"),
    ("twister", "std::mt19937(std::random_device()())()"),
    ("of_time", "(srand(time(nullptr)), rand())"),
];

#[test]
fn cpp_draws_what_the_seed_decides() {
    let tests =
        CPP.map(|(name, draw)| format!("TEST(Draws, {name}) {{ FAIL() << \"{name} drew \" << {draw} << \";\"; }}\n"));
    let includes = "#include <gtest/gtest.h>\n#include <cstdlib>\n#include <ctime>\n#include <random>\n";
    let sandbox = Sandbox::new().file("draws.cc", format!("{includes}{}", tests.concat()));
    let words = ["-std=c++17", "-o", "draws", "draws.cc", "-lgtest", "-lgtest_main", "-lpthread"];
    assert!(sandbox.command("g++").args(words).status().unwrap().success());
    let alone = |test: &str| vec![owned(&["./draws"], &format!("--gtest_filter={}", test.rsplit(' ').next().unwrap()))];
    assert_same_draws(&sandbox, &[STRESS, STRESS], CPP.len(), &["./draws"], alone);
}
