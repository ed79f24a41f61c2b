//! Copies of multi-release jars without the entries of their version directories, for the front of
//! a class path.
//!
//! A JVM answers `getResource("")` with such a directory if the jar comes first, where it would name
//! the directory of the compiled tests.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

const VERSIONS: &[u8] = b"META-INF/versions/";
const END: &[u8] = b"PK\x05\x06";
const END_LENGTH: usize = 22;
const ENTRY: &[u8] = b"PK\x01\x02";
const ENTRY_LENGTH: usize = 46;

/// The path of a copy in the cache, under the same name. The path itself, if the jar has no such
/// entries or cannot be copied.
pub(crate) fn without_version_directories(path: String, cache: &Path) -> String {
    copy(Path::new(&path), cache).unwrap_or(path)
}

fn copy(jar: &Path, cache: &Path) -> Option<String> {
    let changed = without_entries(&fs::read(jar).ok()?)?;
    let mut hasher = DefaultHasher::new();
    changed.hash(&mut hasher);
    let directory = cache.join("jvm").join("jars").join(format!("{:016x}", hasher.finish()));
    let copy = directory.join(jar.file_name()?);
    // What is there may be incomplete, or not ours.
    if fs::read(&copy).ok().as_ref() != Some(&changed) {
        fs::create_dir_all(&directory).ok()?;
        let new = directory.join(std::process::id().to_string());
        fs::write(&new, &changed).ok()?;
        fs::rename(&new, &copy).ok()?;
    }
    Some(copy.to_str()?.to_owned())
}

/// The archive without these entries in its directory. None: there are none, or it has another
/// format.
fn without_entries(jar: &[u8]) -> Option<Vec<u8>> {
    let end = jar.windows(END.len()).rposition(|bytes| bytes == END)?;
    let (size, start) = (number(jar, end + 12, 4)?, number(jar, end + 16, 4)?);
    let mut left = jar.get(start..start.checked_add(size)?)?;
    let (mut kept, mut count) = (Vec::new(), 0_u16);
    while !left.is_empty() {
        let lengths = [28, 30, 32].map(|at| number(left, at, 2));
        let length = ENTRY_LENGTH + lengths[0]? + lengths[1]? + lengths[2]?;
        let (entry, others) = left.split_at_checked(length)?;
        let name = &entry[ENTRY_LENGTH..ENTRY_LENGTH + lengths[0]?];
        if !entry.starts_with(ENTRY) {
            return None;
        }
        if !(name.starts_with(VERSIONS) && name.ends_with(b"/")) {
            kept.extend_from_slice(entry);
            count = count.checked_add(1)?;
        }
        left = others;
    }
    if kept.len() == size {
        return None;
    }
    let mut changed = [&jar[..start], &kept].concat();
    let at = changed.len();
    changed.extend_from_slice(jar.get(end..)?);
    changed.get_mut(at + 8..at + 10)?.copy_from_slice(&count.to_le_bytes());
    changed.get_mut(at + 10..at + 12)?.copy_from_slice(&count.to_le_bytes());
    changed.get_mut(at + 12..at + 16)?.copy_from_slice(&u32::try_from(kept.len()).ok()?.to_le_bytes());
    (changed.len() >= at + END_LENGTH).then_some(changed)
}

fn number(bytes: &[u8], at: usize, length: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| (number << 8) | usize::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An archive with empty files of these names.
    fn archive(names: &[&str]) -> Vec<u8> {
        let (mut files, mut entries) = (Vec::new(), Vec::new());
        for name in names {
            let start = files.len() as u32;
            let length = (name.len() as u16).to_le_bytes();
            files.extend_from_slice(b"PK\x03\x04");
            files.extend_from_slice(&[0; 22]);
            files.extend_from_slice(&[length[0], length[1], 0, 0]);
            files.extend_from_slice(name.as_bytes());
            entries.extend_from_slice(ENTRY);
            entries.extend_from_slice(&[0; 24]);
            entries.extend_from_slice(&length);
            entries.extend_from_slice(&[0; 12]);
            entries.extend_from_slice(&start.to_le_bytes());
            entries.extend_from_slice(name.as_bytes());
        }
        let (start, size, count) = (files.len() as u32, entries.len() as u32, (names.len() as u16).to_le_bytes());
        files.extend_from_slice(&entries);
        files.extend_from_slice(END);
        files.extend_from_slice(&[0, 0, 0, 0, count[0], count[1], count[0], count[1]]);
        files.extend_from_slice(&[size.to_le_bytes(), start.to_le_bytes()].concat());
        files.extend_from_slice(&[0, 0]);
        files
    }

    #[test]
    fn directories_of_versions_are_left_out() {
        let names = ["META-INF/", "META-INF/versions/9/", "META-INF/versions/9/A.class", "A.class"];
        let changed = without_entries(&archive(&names)).expect("it has such a directory");
        assert_eq!(without_entries(&changed), None);
        let end = changed.len() - END_LENGTH;
        let (size, start) = (number(&changed, end + 12, 4).unwrap(), number(&changed, end + 16, 4).unwrap());
        assert_eq!((number(&changed, end + 10, 2), start + size), (Some(3), end));
        let text = String::from_utf8_lossy(&changed[start..end]).into_owned();
        assert!(text.contains("META-INF/versions/9/A.class") && text.matches("META-INF").count() == 2, "{text}");
    }

    #[test]
    fn other_jars_and_other_files_are_used_as_they_are() {
        assert_eq!(without_entries(&archive(&["META-INF/", "A.class"])), None);
        for other in [&b""[..], b"PK", END, &[END, &[0xff; 18]].concat(), &archive(&["META-INF/versions/9/"])[..60]] {
            assert_eq!(without_entries(other), None, "{other:?}");
        }
        let cache = Path::new("/nonexistent");
        assert_eq!(without_version_directories("/no/such.jar".to_owned(), cache), "/no/such.jar");
    }
}
