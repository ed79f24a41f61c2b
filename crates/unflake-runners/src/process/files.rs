//! Questions about paths and files: where a program is, and whether a file contains some bytes.

use std::env;
use std::fs::File;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

/// How many bytes of a file are searched at a time.
const CHUNK: usize = 64 << 10;

/// The path of a program, as a shell finds it.
pub(crate) fn find_program(program: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| path.is_file();
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(is_program);
    }
    env::split_paths(&env::var_os("PATH")?).map(|directory| directory.join(program)).find(is_program)
}

/// The file name of a command's program, without its directory.
pub(crate) fn program_name(command: &[String]) -> Option<&str> {
    Path::new(command.first()?).file_name()?.to_str()
}

/// `path` relative to `root`, where it is below it.
pub(crate) fn relative(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
}

/// Whether a file contains one of these byte strings. The file is read in chunks: programs can be
/// large, and most matches are near the beginning.
pub(crate) fn file_contains(path: &Path, any: &[&[u8]]) -> bool {
    let Ok(mut file) = File::open(path) else { return false };
    let overlap = any.iter().map(|one| one.len()).max().unwrap_or(0).saturating_sub(1);
    let mut window = vec![0; overlap + CHUNK];
    let mut kept = 0;
    loop {
        let filled = match file.read(&mut window[kept..]) {
            Ok(0) | Err(_) => return false,
            Ok(count) => kept + count,
        };
        if any.iter().any(|one| contains(&window[..filled], one)) {
            return true;
        }
        kept = filled.min(overlap);
        window.copy_within(filled - kept..filled, 0);
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    let Some((first, others)) = part.split_first() else { return true };
    let mut rest = text;
    // `skip_until` is the fastest search for a byte in the standard library.
    while rest.skip_until(*first).is_ok_and(|passed| passed > 0) {
        if rest.starts_with(others) {
            return text[..text.len() - rest.len()].last() == Some(first);
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_found_across_chunks() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        for before in [0, CHUNK - 3, CHUNK, 2 * CHUNK - 1, 2 * CHUNK + 5] {
            let mut bytes = vec![b'x'; before];
            bytes.extend(b"needle");
            std::fs::write(&path, bytes).unwrap();
            assert!(file_contains(&path, &[b"absent", b"needle"]), "{before}");
        }
        assert!(contains(b"an needle", b"needle") && contains(b"x", b"x") && contains(b"", b""));
        assert!(!contains(b"needl", b"needle") && !contains(b"", b"x") && !contains(b"y", b"x"));
        assert!(!file_contains(&path, &[b"noodle"]));
    }
}
