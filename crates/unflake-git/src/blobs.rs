//! Reads and hashes file contents the way git stores them.

use std::collections::HashMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::GitError;
use crate::git::Git;
use crate::git_status::LINK;
use crate::repository::path;

/// The type of a path in the working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathType {
    Missing,
    /// A file or a symbolic link, with its git mode.
    File(&'static str),
    Other,
}

pub(crate) fn path_type(root: &Path, at: &[u8]) -> Result<PathType, GitError> {
    let full = root.join(path(at.to_vec()));
    let found = match fs::symlink_metadata(&full) {
        Ok(found) => found,
        Err(error) if is_absent(&error) => return Ok(PathType::Missing),
        Err(error) => return Err(GitError::File(format!("{}: {error}", full.display()))),
    };
    Ok(if found.is_symlink() {
        PathType::File(LINK)
    } else if found.is_file() {
        PathType::File(if found.permissions().mode() & 0o100 == 0 { "100644" } else { "100755" })
    } else {
        PathType::Other
    })
}

fn is_absent(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

/// The blob hashes of files in the working tree, after filters and line-ending conversion, in the
/// same order.
pub(crate) fn hashes(git: &Git, paths: &[Vec<u8>]) -> Result<Vec<String>, GitError> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let mut input = Vec::new();
    for path in paths {
        quote(path, &mut input);
    }
    let output = git.output_with_input(&["hash-object", "--stdin-paths"], input)?;
    let hashes: Vec<String> = String::from_utf8_lossy(&output).lines().map(str::to_owned).collect();
    if hashes.len() != paths.len() {
        return Err(GitError::Git { command: "hash-object".to_owned(), message: "it left out files".to_owned() });
    }
    Ok(hashes)
}

/// The blob hash of a symbolic link.
pub(crate) fn hash_of_link(git: &Git, at: &[u8]) -> Result<String, GitError> {
    let full = git.directory().join(path(at.to_vec()));
    let target = fs::read_link(&full).map_err(|error| GitError::File(format!("{}: {error}", full.display())))?;
    let output = git.output_with_input(&["hash-object", "--stdin"], target.as_os_str().as_bytes().to_vec())?;
    Ok(String::from_utf8_lossy(&output).trim_end().to_owned())
}

/// Quotes a path so that git can read it as one line.
fn quote(path: &[u8], line: &mut Vec<u8>) {
    line.push(b'"');
    for byte in path {
        match byte {
            b'"' | b'\\' => line.extend([b'\\', *byte]),
            0x20..=0x7e => line.push(*byte),
            _ => line.extend(format!("\\{byte:03o}").bytes()),
        }
    }
    line.extend(b"\"\n");
}

/// The contents of the blobs that exist locally and have at most `longest` bytes.
pub(crate) fn blobs(git: &Git, hashes: &[&str], longest: usize) -> Result<HashMap<String, Vec<u8>>, GitError> {
    let cat_file = |mode: &str, hashes: &[&str]| {
        git.output_with_input(&["cat-file", mode], (hashes.join("\n") + "\n").into_bytes())
    };
    let sizes = String::from_utf8_lossy(&cat_file("--batch-check", hashes)?).into_owned();
    let fitting: Vec<&str> = sizes
        .lines()
        .filter_map(|line| {
            let [hash, "blob", size] = line.split(' ').collect::<Vec<_>>()[..] else { return None };
            (size.parse::<usize>().ok()? <= longest).then_some(hash)
        })
        .collect();
    let mut found = HashMap::new();
    for some in fitting.chunks(200) {
        let output = cat_file("--batch", some)?;
        let mut rest = output.as_slice();
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let head = String::from_utf8_lossy(&rest[..end]).into_owned();
            let [hash, "blob", size] = head.split(' ').collect::<Vec<_>>()[..] else { break };
            let Some(contents) = size.parse().ok().and_then(|size: usize| rest.get(end + 1..end + 1 + size)) else {
                break;
            };
            found.insert(hash.to_owned(), contents.to_vec());
            rest = rest.get(end + 1 + contents.len() + 1..).unwrap_or_default();
        }
    }
    Ok(found)
}

/// The paths whose text in the working tree differs from the repository by more than line endings.
pub(crate) fn filtered(git: &Git, paths: &[&[u8]]) -> Result<Vec<Vec<u8>>, GitError> {
    let args = ["check-attr", "-z", "--stdin", "filter", "working-tree-encoding", "ident"];
    let output = git.output_with_input(&args, paths.join(&0))?;
    let fields: Vec<&[u8]> = output.strip_suffix(b"\0").unwrap_or(&output).split(|byte| *byte == 0).collect();
    // Path, attribute and value; the last value may be empty.
    if fields.len() != paths.len() * 3 * 3 {
        return Err(GitError::Git { command: "check-attr".to_owned(), message: "it left out files".to_owned() });
    }
    let is_plain = |value: &[u8]| value == b"unspecified" || value == b"unset";
    Ok(fields.chunks(3).filter(|chunk| !is_plain(chunk[2])).map(|chunk| chunk[0].to_vec()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_are_quoted() {
        let mut line = Vec::new();
        quote(b"a \"b\\\n\xc3", &mut line);
        assert_eq!(line, b"\"a \\\"b\\\\\\012\\303\"\n");
    }
}
