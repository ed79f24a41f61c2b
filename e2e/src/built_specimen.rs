//! Specimens that have to be built before they run, built once and cached below the target
//! directory.

use std::collections::HashMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use crate::{python, repository, unflake};

/// The directory of a specimen, by its path below `specimens/`, after these build commands. What
/// has been built is reused until the sources change.
pub fn built(path: &str, build: &[Vec<String>]) -> PathBuf {
    let source = repository().join("specimens").join(path);
    if build.is_empty() {
        return source;
    }
    let program = |word: &str| if word == "python" { python().to_owned() } else { word.into() };
    let mut hasher = DefaultHasher::new();
    if build.iter().any(|command| command[0] == "python") {
        // Extension modules work with one Python only.
        python().hash(&mut hasher);
    }
    hash_files(&source, &mut hasher);
    let cache = unflake().parent().and_then(Path::parent).expect("it is in a target directory").join("specimens");
    let directory = cache.join(format!("{}-{:016x}", path.replace('/', "-"), hasher.finish()));
    // Two tests of one specimen may want it at the same time.
    let lock = lock_of(&directory);
    let _one_at_a_time = lock.lock().unwrap_or_else(PoisonError::into_inner);
    if directory.join("build/.complete").is_file() {
        return directory;
    }
    let _ = fs::remove_dir_all(&directory);
    copy(&source, &directory);
    for command in build {
        let built = Command::new(program(&command[0])).args(&command[1..]).current_dir(&directory).output();
        let built = built.unwrap_or_else(|error| panic!("{}: {error}; `python3 e2e/setup.py` installs it", command[0]));
        let output = [built.stdout, built.stderr].concat();
        assert!(built.status.success(), "{path} does not build:\n{}", String::from_utf8_lossy(&output));
    }
    fs::write(directory.join("build/.complete"), "").unwrap();
    directory
}

fn lock_of(directory: &Path) -> Arc<Mutex<()>> {
    static LOCKS: LazyLock<Mutex<HashMap<PathBuf, Arc<Mutex<()>>>>> = LazyLock::new(Mutex::default);
    Arc::clone(LOCKS.lock().unwrap().entry(directory.to_owned()).or_default())
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
        let copied = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(copied.parent().unwrap()).unwrap();
        fs::copy(&path, copied).unwrap();
    }
}
