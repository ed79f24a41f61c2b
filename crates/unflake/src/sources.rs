//! The texts of the project's files, read once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

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
