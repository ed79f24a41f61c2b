//! The texts of the project's files, read once, and hashes of them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

use unflake_model::Test;

pub(crate) struct Sources<'a> {
    root: &'a Path,
    files: RefCell<HashMap<String, Option<Vec<String>>>>,
}

impl<'a> Sources<'a> {
    pub(crate) fn new(root: &'a Path) -> Self {
        Self { root, files: RefCell::default() }
    }

    /// The lines of a file, by its path relative to the root. None: it cannot be read.
    pub(crate) fn lines(&self, file: &str) -> Option<Vec<String>> {
        self.look(file, |lines| lines.map(<[String]>::to_vec))
    }

    /// A line, counted from 1; empty where there is none.
    pub(crate) fn line(&self, file: &str, line: u32) -> String {
        let at = |lines: &[String]| lines.get((line as usize).checked_sub(1)?).cloned();
        self.look(file, |lines| lines.and_then(at)).unwrap_or_default()
    }

    fn look<T>(&self, file: &str, at: impl FnOnce(Option<&[String]>) -> T) -> T {
        let read = || {
            let text = fs::read(self.root.join(file)).ok()?;
            Some(String::from_utf8_lossy(&text).lines().map(str::to_owned).collect::<Vec<_>>())
        };
        at(self.files.borrow_mut().entry(file.to_owned()).or_insert_with(read).as_deref())
    }
}

/// Hashes of the files of tests that have parameters, by their paths as the runner names them. They are written into files that
/// other versions of unflake read: FNV-1a.
pub(crate) fn hashes(tests: &[Test], root: &Path) -> HashMap<String, String> {
    let with_parameters = tests.iter().filter(|test| test.id.as_str().ends_with(']'));
    let mut hashes = HashMap::new();
    for file in with_parameters.filter_map(|test| test.file.as_deref()) {
        if !hashes.contains_key(file)
            && let Ok(text) = fs::read(root.join(file))
        {
            hashes.insert(file.to_owned(), format!("{:016x}", hash(&text)));
        }
    }
    hashes
}

pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
