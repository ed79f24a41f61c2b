//! Files that a process has written: those of one pattern that are new or changed.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

/// More files, or deeper directories, are not searched.
const MOST_FILES: usize = 20_000;
const DEEPEST: usize = 32;

/// What changes when a file is written: its size, its number, and its times to the nanosecond.
type FileStamp = (u64, u64, i64, i64, i64, i64);

/// The files of a pattern at one moment. `*` and `?` stand for parts of a name, `**` for any
/// directories.
pub(crate) struct FileStamps {
    pattern: PathBuf,
    stamps: HashMap<PathBuf, FileStamp>,
}

impl FileStamps {
    pub(crate) fn now(pattern: &Path) -> Self {
        let stamps = matching(pattern).into_iter().filter_map(|path| Some((stamp(&path)?, path)));
        Self { pattern: pattern.to_owned(), stamps: stamps.map(|(stamp, path)| (path, stamp)).collect() }
    }

    /// The files that have been written since, sorted by name.
    pub(crate) fn written_since(&self) -> Vec<PathBuf> {
        let is_new = |path: &PathBuf| stamp(path).is_some_and(|now| self.stamps.get(path) != Some(&now));
        matching(&self.pattern).into_iter().filter(is_new).collect()
    }

    pub(crate) fn had_any(&self) -> bool {
        !self.stamps.is_empty()
    }
}

fn stamp(path: &Path) -> Option<FileStamp> {
    let of =
        |file: Metadata| (file.size(), file.ino(), file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec());
    fs::metadata(path).ok().filter(Metadata::is_file).map(of)
}

pub(crate) fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?'])
}

fn matching(pattern: &Path) -> Vec<PathBuf> {
    let names: Vec<String> = pattern.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    let plain = names.iter().take_while(|name| !is_pattern(name)).count();
    let start: PathBuf = pattern.components().take(plain).collect();
    let mut found = Vec::new();
    if plain == names.len() {
        found.extend(Some(start).filter(|path| path.is_file()));
    } else {
        let parts: Vec<Option<GlobMatcher>> = names[plain..].iter().map(|name| part(name)).collect();
        walk(&start, &parts, 0, &mut found);
    }
    found.sort();
    found.dedup();
    found
}

/// One part of a pattern; None for `**`. Brackets and braces are parts of names here.
fn part(name: &str) -> Option<GlobMatcher> {
    let literal = |one: char| if "[]{}".contains(one) { format!("[{one}]") } else { one.to_string() };
    let glob = name.chars().map(literal).collect::<String>();
    let glob = GlobBuilder::new(&glob).backslash_escape(false).build().ok()?;
    (name != "**").then(|| glob.compile_matcher())
}

fn walk(directory: &Path, parts: &[Option<GlobMatcher>], depth: usize, found: &mut Vec<PathBuf>) {
    let Some((part, rest)) = parts.split_first() else { return };
    if depth > DEEPEST || found.len() >= MOST_FILES {
        return;
    }
    if part.is_none() {
        walk(directory, rest, depth, found);
    }
    let mut entries: Vec<fs::DirEntry> = fs::read_dir(directory).into_iter().flatten().flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        match (part, rest) {
            // Links are not followed: they may form a circle. Hidden directories have no reports.
            (None, _) => {
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_directory && !name.starts_with('.') && name != "node_modules" {
                    walk(&path, parts, depth + 1, found);
                }
            }
            (Some(glob), _) if !glob.is_match(&name) => {}
            (Some(_), []) if path.is_file() => found.push(path),
            (Some(_), rest) => walk(&path, rest, depth + 1, found),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_patterns() {
        let matches = |pattern: &str, name: &str| part(pattern).is_some_and(|glob| glob.is_match(name));
        for (pattern, name) in
            [("*.xml", "a.xml"), ("TEST-*.xml", "TEST-a.b.xml"), ("a?c", "abc"), ("*[1]{a}", "x[1]{a}")]
        {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("*.xml", "a.txt"), ("a?c", "ac"), ("*a*b", "ba"), ("*[1]", "x1")] {
            assert!(!matches(pattern, name), "{pattern} {name}");
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
