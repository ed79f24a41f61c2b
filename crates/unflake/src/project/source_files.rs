//! The project's source files: their lines, read once per file, and hashes of them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

use unflake_model::Test;

use crate::hash::hex;

pub(crate) struct SourceFiles<'a> {
    root: &'a Path,
    files: RefCell<HashMap<String, Option<Vec<String>>>>,
}

impl<'a> SourceFiles<'a> {
    pub(crate) fn new(root: &'a Path) -> Self {
        Self { root, files: RefCell::default() }
    }

    /// The lines of a file, by its path relative to the root. None where it cannot be read.
    pub(crate) fn lines(&self, file: &str) -> Option<Vec<String>> {
        self.with(file, |lines| lines.map(<[String]>::to_vec))
    }

    /// A line, counted from 1; empty where there is none.
    pub(crate) fn line(&self, file: &str, line: u32) -> String {
        let at = |lines: &[String]| lines.get((line as usize).checked_sub(1)?).cloned();
        self.with(file, |lines| lines.and_then(at)).unwrap_or_default()
    }

    fn with<T>(&self, file: &str, work: impl FnOnce(Option<&[String]>) -> T) -> T {
        let read = || {
            let text = fs::read(self.root.join(file)).ok()?;
            Some(String::from_utf8_lossy(&text).lines().map(str::to_owned).collect::<Vec<_>>())
        };
        work(self.files.borrow_mut().entry(file.to_owned()).or_insert_with(read).as_deref())
    }
}

/// Hashes of the files of parametrized tests, by the paths that the runner uses. The filter file
/// contains them.
pub(crate) fn hashes(tests: &[Test], root: &Path) -> HashMap<String, String> {
    let parametrized = tests.iter().filter(|test| test.id.as_str().ends_with(']'));
    let mut hashes = HashMap::new();
    for file in parametrized.filter_map(|test| test.file.as_deref()) {
        if !hashes.contains_key(file)
            && let Ok(text) = fs::read(root.join(file))
        {
            hashes.insert(file.to_owned(), hex(&text));
        }
    }
    hashes
}
