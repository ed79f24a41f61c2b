//! Files that may be reports: which there are, and what they are known by.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use twox_hash::XxHash3_128;

/// Directories within directories.
const DEEPEST: usize = 32;

pub(crate) struct Found {
    pub(crate) path: PathBuf,
    /// It was typed, not met in a directory.
    pub(crate) named: bool,
}

/// The files that were named, and for a directory what looks like a report in it, by name.
pub(crate) fn find(named: &[PathBuf]) -> Vec<Found> {
    let mut found = Vec::new();
    for path in named {
        if path.is_dir() {
            walk(path, DEEPEST, &mut found);
        } else {
            found.push(Found { path: path.clone(), named: true });
        }
    }
    found
}

fn walk(directory: &Path, deeper: usize, found: &mut Vec<Found>) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut entries: Vec<_> = entries.map(|entry| (entry.path(), entry.file_type())).collect();
    entries.sort_by(|one, other| one.0.cmp(&other.0));
    for (path, kind) in entries {
        let Ok(kind) = kind else { continue };
        // A link may lead back.
        if kind.is_dir() && deeper > 0 {
            walk(&path, deeper - 1, found);
        } else if kind.is_file()
            && path.extension().is_some_and(|one| ["xml", "json", "jsonl"].iter().any(|it| one == *it))
        {
            found.push(Found { path, named: false });
        }
    }
}

/// Reads, and knows afterwards what it has read.
pub(crate) struct Hashed<R> {
    source: R,
    hasher: Box<XxHash3_128>,
}

impl<R> Hashed<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, hasher: Box::new(XxHash3_128::with_seed(0)) }
    }

    pub(crate) fn key(&self) -> String {
        format!("{:032x}", self.hasher.finish_128())
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(into)?;
        self.hasher.write(&into[..count]);
        Ok(count)
    }
}
