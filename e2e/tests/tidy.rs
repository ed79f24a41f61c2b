//! What ARCHITECTURE.md and the README promise of the sources, checked.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use e2e::repository;
use regex_lite::Regex;

const ROOMS: [(&str, &[&str]); 15] = [
    ("unflake-cluster", &["unflake-engine", "unflake-model"]),
    ("unflake-protocol", &["unflake-model"]),
    ("unflake-model", &[]),
    ("unflake-git", &["unflake-model", "unflake-source"]),
    ("unflake-worlds", &["unflake-model"]),
    ("unflake-formats", &["unflake-model"]),
    ("unflake-techniques", &["unflake-model"]),
    ("unflake-observe", &["unflake-model"]),
    ("unflake-engine", &["unflake-model", "unflake-protocol", "unflake-worlds"]),
    (
        "unflake-runners",
        &[
            "unflake-formats",
            "unflake-model",
            "unflake-observe",
            "unflake-protocol",
            "unflake-source",
            "unflake-worlds",
        ],
    ),
    ("unflake-source", &["unflake-model"]),
    ("unflake-store", &["unflake-model"]),
    ("unflake-report", &["unflake-model"]),
    ("unflake-web", &[]),
    (
        "unflake",
        &[
            "unflake-cluster",
            "unflake-engine",
            "unflake-formats",
            "unflake-git",
            "unflake-model",
            "unflake-observe",
            "unflake-report",
            "unflake-runners",
            "unflake-source",
            "unflake-store",
            "unflake-techniques",
            "unflake-web",
            "unflake-worlds",
        ],
    ),
];

/// The tests of the engine run a real agent; the engine itself knows none.
const FOR_TESTS: (&str, &str) = ("unflake-engine", "unflake-runners");

/// Longer files are asking to be two. Each exception says why it is one.
const LONGEST: usize = 600;
const MAY_BE_LONGER: [&str; 0] = [];

/// Words that name a runner, its build tool or its language, by the folder of `unflake-runners` that
/// may use them. No other file does. `junit` is none of them: outside of those folders it always
/// means the file format.
const RUNNERS: [(&str, &[&str]); 4] = [
    ("pytest", &["pytest", "conftest", "unittest", "python", "xdist", "pyproject"]),
    ("cargo", &["cargo", "nextest", "libtest", "rustc"]),
    ("cpp", &["gtest", "googletest", "ctest", "cmake", "clang"]),
    ("jvm", &["surefire", "java", "jvm", "maven", "gradle"]),
];

/// Names of file formats, of variables that cargo sets for its own crates, and an option of git.
const NO_RUNNERS: [&str; 7] =
    ["doctest", "pytest-reportlog", "pytest_reportlog", "libtest-json", "libtest_json", "libtestjson", "trustctime"];

/// A file or folder, the words that it may use, and why.
const MAY_NAME: [(&str, &[&str], &str); 12] = [
    (
        "crates/unflake-runners/src/lib.rs",
        &["cargo", "jvm", "java", "pytest", "clang", "rustc"],
        "declares the folders",
    ),
    (
        "crates/unflake-runners/src/registry.rs",
        &["cargo", "jvm", "gtest", "googletest", "libtest", "nextest", "ctest", "maven", "gradle", "pytest"],
        "lists the runners",
    ),
    ("crates/unflake-formats/", &[], "dialects of result files, named after the programs that write them"),
    ("crates/unflake-report/src/machine/junit.rs", &["surefire"], "the dialect of JUnit XML that has reruns"),
    ("crates/unflake-source/", &[], "reads the languages themselves"),
    ("crates/unflake/src/args/", &[], "example commands in help texts, and an option of the demo"),
    ("crates/unflake-runners/src/pytest/factors.rs", &["java"], "any interpreter can be a factor, with its variable"),
    ("crates/unflake-worlds/src/fresh_home.rs", &["python", "cargo"], "toolchains that stay in an empty home"),
    ("crates/unflake/src/commands/doctor/factor_probes/", &[], "asks programs of several languages what reaches them"),
    ("crates/unflake-git/src/changes.rs", &["python"], "asks unflake-source for the functions of a file"),
    ("crates/unflake-git/src/name_users.rs", &["python"], "asks unflake-source who uses a name"),
    ("crates/unflake/src/history/renames.rs", &["python"], "asks unflake-source for the functions of a test file"),
];

/// What a room does without, by the names under which it would come in.
const ABSENT: [(&str, &[&str]); 3] = [
    ("unflake-model", &["std::fs", "std::process", "std::env", "std::net", "Instant::now", "SystemTime", "println!"]),
    ("unflake-techniques", &["std::fs", "std::process", "std::env", "std::net", "Instant", "SystemTime", "println!"]),
    ("unflake-report", &["std::fs", "std::process", "std::env", "std::net", "Instant", "SystemTime", "println!"]),
];

/// Types with an implementation for Linux and one for other systems.
const PLATFORM_TWINS: [&str; 5] = ["FsWatcher", "OpenWorld", "PrivatePlan", "PrivateRequest", "SpawnSpec"];

/// Variables that only a test hands to its own child.
const OF_ONE_TEST: &str = "UNFLAKE_STORE_TEST_";
/// A misspelt variable that tests set on purpose.
const MISSPELT: &str = "UNFLAKE_FRSH";

#[test]
fn crates_see_only_what_they_may() {
    let mut found = BTreeMap::new();
    for (name, path) in crates() {
        let manifest: toml::Table = read(&path.join("Cargo.toml")).parse().unwrap();
        let mut seen = BTreeSet::new();
        for table in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let keys = manifest.get(table).and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::keys);
            let for_tests =
                |other: &String| table == "dev-dependencies" && FOR_TESTS == (name.as_str(), other.as_str());
            seen.extend(keys.filter(|other| other.starts_with("unflake") && !for_tests(other)).cloned());
        }
        found.insert(name, seen);
    }
    let allowed = ROOMS.map(|(name, sees)| (name.to_owned(), sees.iter().map(|one| (*one).to_owned()).collect()));
    assert_eq!(found, BTreeMap::from(allowed));
}

#[test]
fn the_architecture_names_every_crate_and_no_other() {
    let named = matches(&read(&repository().join("ARCHITECTURE.md")), r"\bunflake-[a-z]+\b");
    let there = crates().into_keys().filter(|name| name != "unflake").collect();
    assert_eq!(named, there);
}

#[test]
fn every_exit_code_is_in_the_readme_and_no_other_way_out_is_taken() {
    let readme = read(&repository().join("README.md"));
    let codes = matches(&read(&repository().join("crates/unflake/src/exit.rs")), r"(?m)^    [A-Z]\w+ = \d+,$");
    assert!(codes.len() >= 8, "{codes:?}");
    for code in codes {
        let number = code.trim_end_matches(',').rsplit(' ').next().unwrap();
        assert!(readme.contains(&format!("| {number} |")), "the README does not tell exit code {number}");
    }
    for (name, text) in sources(&["crates/unflake/src"], &["rs"]).filter(|(name, _)| !name.ends_with("exit.rs")) {
        assert!(!text.contains("process::exit") && !text.contains("ExitCode::from("), "{name} leaves by itself");
    }
}

#[test]
fn every_variable_is_documented() {
    let read_all = |paths: &[&str], endings: &[&str]| sources(paths, endings).map(|(_, text)| text).collect::<String>();
    let documents = read_all(&["README.md", "CONTRIBUTING.md", "docs", "agents/README.md", "e2e/README.md"], &["md"]);
    let sources = read_all(&["crates", "agents", "e2e", "test"], &["rs", "py", "test"]);
    let names = matches(&sources, r"\bUNFLAKE_[A-Z][A-Z_]*[A-Z]\b");
    assert!(names.contains("UNFLAKE_SOCKET") && names.contains("UNFLAKE_TEST_PYTHON"), "{names:?}");
    let known = matches(&documents, r"\bUNFLAKE_[A-Z][A-Z_]*[A-Z]\b");
    let missing: Vec<_> =
        names.difference(&known).filter(|name| !name.starts_with(OF_ONE_TEST) && *name != MISSPELT).collect();
    assert!(missing.is_empty(), "neither the README nor docs/ nor CONTRIBUTING.md knows {missing:?}");

    let settings = matches(&read(&repository().join("crates/unflake/src/config/keys.rs")), r#"name: "[a-z-]+""#);
    assert!(settings.len() > 10, "{settings:?}");
    for name in settings {
        let name = name.trim_start_matches("name: ").trim_matches('"');
        let variable = format!("UNFLAKE_{}", name.replace('-', "_").to_uppercase());
        assert!(documents.contains(&format!("`{name}`")) && documents.contains(&variable), "{name} is not documented");
    }
}

#[test]
fn every_link_between_documents_leads_somewhere() {
    let code = Regex::new(r"(?s)```.*?```|`[^`\n]*`").expect("a regular expression");
    let documents: BTreeMap<String, String> =
        sources(&["."], &["md"]).map(|(name, text)| (name, code.replace_all(&text, "").into_owned())).collect();
    assert!(documents.len() > 50, "{}", documents.len());
    for (name, text) in &documents {
        for link in matches(text, r"\]\([^)\s]+\)").iter().map(|link| &link[2..link.len() - 1]) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let place = repository().join(name);
            let target = if path.is_empty() { place } else { place.with_file_name("").join(path) };
            let is_outside = path.starts_with("https://") || path.starts_with("http://");
            assert!(is_outside || target.exists(), "{name} links to {link}");
            if !is_outside && !anchor.is_empty() {
                let headings = matches(&read(&target), r"(?m)^#+ .*$");
                let found = headings.iter().any(|heading| anchor_of(heading) == anchor);
                assert!(found, "{name} links to {link}, and there is no such heading");
            }
        }
    }
}

/// The anchor of a heading, as GitHub makes it.
fn anchor_of(heading: &str) -> String {
    let kept = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
    heading.trim_start_matches('#').trim().to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
}

#[test]
fn nothing_is_left_half_done() {
    let marks =
        ["to".to_owned() + "do!(", "db".to_owned() + "g!(", "unimple".to_owned() + "mented!(", "TO".to_owned() + "DO"];
    for (name, text) in sources(&["crates", "agents", "e2e", "specimens", "bench", "fuzz"], &["rs", "py"]) {
        for mark in &marks {
            assert!(!text.contains(mark), "{name} has a {mark}");
        }
    }
}

#[test]
fn only_its_own_folder_names_a_runner() {
    const FOLDERS: &str = "crates/unflake-runners/src/";
    let mut offenders = Vec::new();
    for (name, text) in sources(&["crates"], &["rs"]).filter(|(name, _)| !is_test(name)) {
        let production = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let comments_and_code = production.replace("env!(\"CARGO_", "").to_lowercase();
        let text = NO_RUNNERS.iter().fold(comments_and_code, |text, format| text.replace(format, ""));
        for (folder, words) in RUNNERS {
            let own = name.strip_prefix(FOLDERS).is_some_and(|path| path.starts_with(&format!("{folder}/")));
            for word in words.iter().filter(|word| !own && text.contains(**word)) {
                let excused = MAY_NAME
                    .iter()
                    .any(|(path, may, _)| name.starts_with(path) && (may.is_empty() || may.contains(word)));
                offenders.extend((!excused).then(|| format!("{name} names {word}")));
            }
        }
    }
    assert!(offenders.is_empty(), "{}", offenders.join("\n"));
}

/// Tests, benchmarks, examples and build scripts may name what they use.
fn is_test(name: &str) -> bool {
    ["/tests/", "/benches/", "/examples/"].iter().any(|folder| name.contains(folder))
        || name.ends_with("tests.rs")
        || name.ends_with("/build.rs")
}

#[test]
fn every_module_begins_with_what_it_is() {
    for (name, text) in sources(&["crates", "agents", "e2e", "fuzz", "bench"], &["rs", "py"]) {
        let is_sample = ["/samples/", "/sample/"].iter().any(|folder| name.contains(folder));
        let first = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with("#!")).unwrap_or_default();
        let is_described = if name.ends_with(".rs") { first.starts_with("//!") } else { first.starts_with("\"\"\"") };
        assert!(is_sample || is_described, "{name} begins with {first:?}");
    }
}

#[test]
fn a_type_name_means_one_thing() {
    let definition = Regex::new(
        r"(?m)^(?: *(?:pub(?:\([^)]*\))? )?(?:unsafe )?(?:struct|enum|union|trait)|(?:pub(?:\([^)]*\))? )?type) ([A-Z]\w*)(.*)$",
    )
    .unwrap();
    let mut defined: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for (file, text) in sources(&["crates", "agents", "e2e", "fuzz"], &["rs"]) {
        for found in definition.captures_iter(&text) {
            defined.entry(found[1].to_owned()).or_default().push((found[2].to_owned(), file.clone()));
        }
    }
    assert!(defined.len() > 1000 && PLATFORM_TWINS.iter().all(|name| defined[*name].len() == 2), "{}", defined.len());
    defined.retain(|name, places| {
        let is_same_alias = places.iter().all(|(text, _)| text.starts_with(" = ") && *text == places[0].0);
        places.len() > 1 && !is_same_alias && !PLATFORM_TWINS.contains(&name.as_str())
    });
    assert!(defined.is_empty(), "names with several meanings: {defined:#?}");
}

#[test]
fn what_is_deliberately_absent_is_absent() {
    for (room, absent) in ABSENT {
        for (name, text) in sources(&[&format!("crates/{room}/src")], &["rs"]) {
            for one in absent {
                assert!(!text.contains(one), "{name} has {one}");
            }
        }
    }
}

#[test]
fn files_fit_in_the_head() {
    for (name, text) in sources(&["crates", "agents", "e2e", "specimens", "bench", "fuzz", "docs"], &["rs", "py"]) {
        let lines = text.lines().count();
        assert!(lines <= LONGEST || MAY_BE_LONGER.contains(&name.as_str()), "{name} has {lines} lines");
    }
}

#[test]
fn no_file_knows_the_machine_it_was_written_on() {
    // `/home/ann` is everybody's neighbour.
    let paths = Regex::new(r#"(?m)(^|[\s"'`=(:])/(root|work|home)/([\w.-]+)"#).unwrap();
    for (name, text) in sources(&["."], &["rs", "py", "toml", "md", "json", "snap", "sh", "svg", "test", "lock"]) {
        let found = paths.captures_iter(&text).find(|found| &found[3] != "ann");
        assert!(found.is_none(), "{name} has {:?}", found.map(|found| found[0].to_owned()));
    }
}

// -- Reading ------------------------------------------------------------------------------------------------------------

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn crates() -> BTreeMap<String, PathBuf> {
    let entries = fs::read_dir(repository().join("crates")).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| (entry.file_name().into_string().unwrap(), entry.path())).collect()
}

fn matches(text: &str, pattern: &str) -> BTreeSet<String> {
    Regex::new(pattern).unwrap().find_iter(text).map(|found| found.as_str().to_owned()).collect()
}

/// Names, relative to the repository, and texts of all files below `places` with one of these endings.
fn sources(places: &[&str], endings: &[&str]) -> impl Iterator<Item = (String, String)> {
    fn walk(path: &Path, found: &mut Vec<PathBuf>) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let not_ours = name.starts_with('.') && name.len() > 1 || ["target", "__pycache__"].contains(&name);
        if path.is_dir() && !not_ours {
            let mut entries: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
            entries.sort();
            entries.iter().for_each(|entry| walk(entry, found));
        } else if path.is_file() {
            found.push(path.to_owned());
        }
    }
    let mut found = Vec::new();
    places.iter().for_each(|place| walk(&repository().join(place), &mut found));
    let has_ending = |path: &PathBuf| {
        let ending = path.extension().or(path.file_name()).and_then(|ending| ending.to_str()).unwrap_or_default();
        endings.contains(&ending)
    };
    found.retain(has_ending);
    found.into_iter().filter_map(|path| {
        let name = path.strip_prefix(repository()).ok()?.to_str()?.trim_start_matches("./").to_owned();
        Some((name, fs::read_to_string(&path).ok()?))
    })
}
