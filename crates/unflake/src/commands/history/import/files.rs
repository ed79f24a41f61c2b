//! The files that `unflake history import` reads, and the hash that identifies each.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use twox_hash::XxHash3_128;

/// The deepest level of nested directories.
const DEEPEST: usize = 32;

pub(crate) struct ReportFile {
    pub(crate) path: PathBuf,
    /// Whether it was typed, not found in a directory.
    pub(crate) named: bool,
}

/// The named files, and for a directory the files in it that look like reports, sorted by name.
pub(crate) fn find(named: &[PathBuf]) -> Vec<ReportFile> {
    let mut found = Vec::new();
    for path in named {
        if path.is_dir() {
            walk(path, DEEPEST, &mut found);
        } else {
            found.push(ReportFile { path: path.clone(), named: true });
        }
    }
    found
}

fn walk(directory: &Path, deeper: usize, found: &mut Vec<ReportFile>) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut entries: Vec<_> = entries.map(|entry| (entry.path(), entry.file_type())).collect();
    entries.sort_by(|one, other| one.0.cmp(&other.0));
    for (path, kind) in entries {
        let Ok(kind) = kind else { continue };
        // Symbolic links are not followed: they may form a loop.
        if kind.is_dir() && deeper > 0 {
            walk(&path, deeper - 1, found);
        } else if kind.is_file()
            && path.extension().is_some_and(|one| ["xml", "json", "jsonl"].iter().any(|it| one == *it))
        {
            found.push(ReportFile { path, named: false });
        }
    }
}

/// A reader that hashes what is read through it.
pub(crate) struct HashingReader<R> {
    source: R,
    hasher: Box<XxHash3_128>,
}

impl<R> HashingReader<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, hasher: Box::new(XxHash3_128::with_seed(0)) }
    }

    pub(crate) fn key(&self) -> String {
        format!("{:032x}", self.hasher.finish_128())
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(into)?;
        self.hasher.write(&into[..count]);
        Ok(count)
    }
}
