//! Files that a process has written anew: those of one pattern that were not there before, or are not as they were.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// No project has so many reports, or so many directories between them.
const MOST_FILES: usize = 20_000;
const DEEPEST: usize = 32;

/// What changes when a file is written: its size, its number, and its times to the nanosecond.
type Stamp = (u64, u64, i64, i64, i64, i64);

/// The files of a pattern at one moment. `*` and `?` stand for parts of a name, `**` for any directories.
pub(crate) struct FileStamps {
    pattern: PathBuf,
    stamps: HashMap<PathBuf, Stamp>,
}

impl FileStamps {
    pub(crate) fn now(pattern: &Path) -> Self {
        let stamps = matching(pattern).into_iter().filter_map(|path| Some((stamp(&path)?, path)));
        Self { pattern: pattern.to_owned(), stamps: stamps.map(|(stamp, path)| (path, stamp)).collect() }
    }

    /// What has been written since, in the order of their names.
    pub(crate) fn written_since(&self) -> Vec<PathBuf> {
        let is_new = |path: &PathBuf| stamp(path).is_some_and(|now| self.stamps.get(path) != Some(&now));
        matching(&self.pattern).into_iter().filter(is_new).collect()
    }

    /// Whether there was something before.
    pub(crate) fn had_any(&self) -> bool {
        !self.stamps.is_empty()
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let of =
        |file: Metadata| (file.size(), file.ino(), file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec());
    fs::metadata(path).ok().filter(Metadata::is_file).map(of)
}

pub(crate) fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?'])
}

fn matching(pattern: &Path) -> Vec<PathBuf> {
    let parts: Vec<String> = pattern.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    let plain = parts.iter().take_while(|part| !is_pattern(part)).count();
    let start: PathBuf = pattern.components().take(plain).collect();
    let mut found = Vec::new();
    if plain == parts.len() {
        found.extend(Some(start).filter(|path| path.is_file()));
    } else {
        let parts: Vec<&str> = parts[plain..].iter().map(String::as_str).collect();
        walk(&start, &parts, 0, &mut found);
    }
    found.sort();
    found.dedup();
    found
}

fn walk(directory: &Path, parts: &[&str], depth: usize, found: &mut Vec<PathBuf>) {
    let Some((part, rest)) = parts.split_first() else { return };
    if depth > DEEPEST || found.len() >= MOST_FILES {
        return;
    }
    if *part == "**" {
        walk(directory, rest, depth, found);
    }
    let mut entries: Vec<fs::DirEntry> = fs::read_dir(directory).into_iter().flatten().flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        if *part == "**" {
            // Links are not followed: they may lead in a circle. `.git`, `.gradle` and the like have no reports.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && !name.starts_with('.') && name != "node_modules" {
                walk(&path, parts, depth + 1, found);
            }
        } else if fits(part.as_bytes(), name.as_bytes()) {
            match rest {
                [] if path.is_file() => found.push(path),
                [] => {}
                rest => walk(&path, rest, depth + 1, found),
            }
        }
    }
}

/// `*` is any number of bytes, `?` is one.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut of) = (0, 0);
    // Where the last star was, and how far into the name it reaches.
    let mut star = None;
    while of < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, of));
                at += 1;
            }
            Some(byte) if *byte == b'?' || *byte == name[of] => {
                at += 1;
                of += 1;
            }
            _ => match &mut star {
                Some((place, reach)) => {
                    *reach += 1;
                    at = *place + 1;
                    of = *reach;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_patterns() {
        for (pattern, name) in [("*.xml", "a.xml"), ("TEST-*.xml", "TEST-a.b.xml"), ("a?c", "abc"), ("*a*b*", "xaxxb")]
        {
            assert!(fits(pattern.as_bytes(), name.as_bytes()), "{pattern} {name}");
        }
        for (pattern, name) in [("*.xml", "a.txt"), ("a?c", "ac"), ("", "a"), ("*a*b", "ba")] {
            assert!(!fits(pattern.as_bytes(), name.as_bytes()), "{pattern} {name}");
        }
    }

    #[test]
    fn only_what_is_written_anew_counts() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        for directory in ["a/b", "c", ".git"] {
            fs::create_dir_all(path(directory)).unwrap();
        }
        for name in ["a/old.xml", "a/b/again.xml", "a/b/not.txt", ".git/x.xml"] {
            fs::write(path(name), "1").unwrap();
        }
        let before = FileStamps::now(&path("**/*.xml"));
        assert!(before.had_any() && before.written_since().is_empty());
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::write(path("a/b/again.xml"), "1").unwrap();
        fs::write(path("c/new.xml"), "1").unwrap();
        fs::write(path("c/new.txt"), "1").unwrap();
        assert_eq!(before.written_since(), [path("a/b/again.xml"), path("c/new.xml")]);
        let one = FileStamps::now(&path("none.xml"));
        assert!(!one.had_any());
        fs::write(path("none.xml"), "1").unwrap();
        assert_eq!(one.written_since(), [path("none.xml")]);
    }
}
