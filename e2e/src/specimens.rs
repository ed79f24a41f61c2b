//! What the stories of specimens share: finding them, making them ready, and running each as often as is wanted.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use crate::{python, repository, unflake};

/// Name and `specimen.toml` of every specimen that is asked for, in alphabetical order.
pub fn specimens(wanted: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let part = std::env::var("UNFLAKE_SPECIMENS").unwrap_or_default();
    let directories = fs::read_dir(repository().join("specimens")).unwrap().flatten();
    let names = directories.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.contains(&part)).collect();
    assert!(!names.is_empty(), "no specimen has `{part}` in its name");
    names.retain(|name| wanted(name));
    names.sort();
    let read = |name: String| {
        let path = repository().join("specimens").join(&name).join("specimen.toml");
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (name, text)
    };
    names.into_iter().map(read).collect()
}

/// The specimen, ready to be run. What has to be built is built once, and kept as long as its sources stay the same.
pub fn built(name: &str, build: &[Vec<String>]) -> PathBuf {
    let source = repository().join("specimens").join(name);
    if build.is_empty() {
        return source;
    }
    let program = |word: &str| if word == "python" { python().to_owned() } else { word.into() };
    let mut hasher = DefaultHasher::new();
    if build.iter().any(|command| command[0] == "python") {
        // What is built for one Python is nothing to another.
        python().hash(&mut hasher);
    }
    hash_files(&source, &mut hasher);
    let kept = unflake().parent().and_then(Path::parent).expect("it is in a target directory").join("specimens");
    let place = kept.join(format!("{name}-{:016x}", hasher.finish()));
    if place.join("build/.complete").is_file() {
        return place;
    }
    let _ = fs::remove_dir_all(&place);
    copy(&source, &place);
    for command in build {
        let built = Command::new(program(&command[0])).args(&command[1..]).current_dir(&place).output();
        let built = built.unwrap_or_else(|error| panic!("{}: {error}; `python3 e2e/setup.py` installs it", command[0]));
        let said = [built.stdout, built.stderr].concat();
        assert!(built.status.success(), "{name} does not build:\n{}", String::from_utf8_lossy(&said));
    }
    fs::write(place.join("build/.complete"), "").unwrap();
    place
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(directory).unwrap().flatten().map(|entry| entry.path()).collect();
    entries.retain(|path| !path.ends_with("build") && !path.ends_with("target"));
    entries.sort();
    entries.into_iter().flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn hash_files(directory: &Path, hasher: &mut DefaultHasher) {
    for path in files(directory) {
        (path.strip_prefix(directory).unwrap(), fs::read(&path).unwrap()).hash(hasher);
    }
}

fn copy(from: &Path, to: &Path) {
    for path in files(from) {
        let there = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(there.parent().unwrap()).unwrap();
        fs::copy(&path, there).unwrap();
    }
}

/// In what way a run was not as it must be.
#[derive(Default)]
pub struct Examined {
    pub wrong: Vec<String>,
    /// Known, said where the expectation is, and not held against it.
    pub short: Vec<String>,
}

/// Examines each as often as `UNFLAKE_SPECIMEN_RUNS` says, and tells how many of how many were as they must be.
pub fn in_every_run<S: Sync>(all: &[S], name: impl Fn(&S) -> String, examine: impl Fn(&S) -> Examined + Sync) {
    let runs = std::env::var("UNFLAKE_SPECIMEN_RUNS").map_or(1, |runs| runs.parse().expect("a number of runs"));
    // Each in turn, and then all of them again, so that they meet different neighbours.
    let todo: Mutex<Vec<usize>> = Mutex::new((0..runs).flat_map(|_| 0..all.len()).rev().collect());
    let results: Mutex<Vec<Vec<Examined>>> = Mutex::new(all.iter().map(|_| Vec::new()).collect());
    let cores = thread::available_parallelism().map_or(2, |cores| cores.get().max(2));
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let Some(at) = todo.lock().unwrap().pop() else { return };
                    let examined = examine(&all[at]);
                    results.lock().unwrap()[at].push(examined);
                }
            });
        }
    });
    let results = results.into_inner().unwrap();
    let mut table = String::new();
    for (one, results) in all.iter().zip(&results) {
        let good = results.iter().filter(|run| run.wrong.is_empty() && run.short.is_empty()).count();
        table += &format!("{:<34}{good:>4} of {runs}\n", name(one));
        let different: BTreeSet<&String> = results.iter().flat_map(|run| run.wrong.iter().chain(&run.short)).collect();
        table.extend(different.iter().map(|difference| format!("    {difference}\n")));
    }
    println!("{table}");
    let all_good = results.iter().flatten().all(|run| run.wrong.is_empty());
    assert!(all_good, "not every specimen was found as expected:\n{table}");
}
