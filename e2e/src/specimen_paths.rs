//! Finds the specimens.

use std::fs;
use std::path::Path;

use crate::repository;

/// The path of every specimen below `specimens/`, in alphabetical order.
pub fn specimen_paths() -> Vec<String> {
    let root = repository().join("specimens");
    let directories = |parent: &Path| -> Vec<_> {
        let mut found: Vec<_> = fs::read_dir(parent).unwrap().map(|entry| entry.unwrap().path()).collect();
        found.retain(|path| path.is_dir());
        found.sort();
        found
    };
    let techniques = directories(&root).into_iter();
    let specimens = techniques.flat_map(|path| directories(&path)).flat_map(|path| directories(&path));
    specimens.map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned()).collect()
}
