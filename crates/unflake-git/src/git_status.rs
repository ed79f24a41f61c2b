//! Parses the output of git's plumbing commands: paths, modes and hashes.

use crate::GitError;
use crate::git::Git;

pub(crate) const LINK: &str = "120000";
pub(crate) const SUBMODULE: &str = "160000";

/// A line of a raw diff between a commit and the working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DiffEntry {
    pub(crate) old_mode: String,
    pub(crate) new_mode: String,
    pub(crate) old_hash: String,
    /// All zeros if the file differs from the index.
    pub(crate) new_hash: String,
    /// The status letter, without the similarity score.
    pub(crate) status: u8,
    pub(crate) path: Vec<u8>,
    pub(crate) from: Option<Vec<u8>>,
}

/// A path in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    /// Marked as assume-unchanged or skip-worktree, so git does not check the file.
    pub(crate) hidden: bool,
    /// Marked as skip-worktree: a sparse checkout may omit the file.
    pub(crate) skipped: bool,
    pub(crate) mode: String,
    pub(crate) hash: String,
    pub(crate) path: Vec<u8>,
}

/// Compares the working tree with a commit. The plumbing command does not refresh the index, so the
/// result may include files that were rewritten with the same contents; it never omits a change.
pub(crate) fn diff(git: &Git, base: &str) -> Result<Vec<DiffEntry>, GitError> {
    let args = |renames| {
        [
            "diff-index",
            "--raw",
            "-z",
            "--no-abbrev",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--ignore-submodules=none",
            renames,
            base,
            "--",
        ]
    };
    // Rename detection reads contents, which a partial clone may lack.
    let output = git.output(&args("--find-renames")).or_else(|_| git.output(&args("--no-renames")))?;
    parse_diff(&output).ok_or_else(|| unparsable("diff-index"))
}

fn parse_diff(output: &[u8]) -> Option<Vec<DiffEntry>> {
    let mut fields = fields(output);
    let mut entries = Vec::new();
    while let Some(head) = fields.next() {
        let head = str::from_utf8(head).ok()?.strip_prefix(':')?;
        let [old_mode, new_mode, old_hash, new_hash, status] = head.split(' ').collect::<Vec<_>>()[..] else {
            return None;
        };
        let status = *status.as_bytes().first()?;
        let first = fields.next()?.to_vec();
        let (from, path) =
            if matches!(status, b'R' | b'C') { (Some(first), fields.next()?.to_vec()) } else { (None, first) };
        let [old_mode, new_mode, old_hash, new_hash] = [old_mode, new_mode, old_hash, new_hash].map(str::to_owned);
        entries.push(DiffEntry { old_mode, new_mode, old_hash, new_hash, status, path, from });
    }
    Some(entries)
}

/// Every path in the index.
pub(crate) fn tracked(git: &Git) -> Result<Vec<IndexEntry>, GitError> {
    let output = git.output(&["ls-files", "-z", "-v", "--stage"])?;
    fields(&output).map(parse_tracked).collect::<Option<_>>().ok_or_else(|| unparsable("ls-files"))
}

fn parse_tracked(field: &[u8]) -> Option<IndexEntry> {
    let (head, path) = split(field, b'\t')?;
    let [tag, mode, hash, _stage] = str::from_utf8(head).ok()?.split(' ').collect::<Vec<_>>()[..] else { return None };
    let skipped = tag.eq_ignore_ascii_case("S");
    let hidden = skipped || tag.bytes().all(|byte| byte.is_ascii_lowercase());
    Some(IndexEntry { hidden, skipped, mode: mode.to_owned(), hash: hash.to_owned(), path: path.to_vec() })
}

/// Every path in a commit, with its mode and hash.
pub(crate) fn committed(git: &Git, revision: &str) -> Result<Vec<(Vec<u8>, String, String)>, GitError> {
    let output = git.output(&["ls-tree", "-r", "-z", "--full-tree", revision])?;
    let parse = |field: &[u8]| {
        let (head, path) = split(field, b'\t')?;
        let [mode, _kind, hash] = str::from_utf8(head).ok()?.split(' ').collect::<Vec<_>>()[..] else { return None };
        Some((path.to_vec(), mode.to_owned(), hash.to_owned()))
    };
    fields(&output).map(parse).collect::<Option<_>>().ok_or_else(|| unparsable("ls-tree"))
}

/// Untracked files that are not ignored. A nested repository is one path.
pub(crate) fn untracked(git: &Git) -> Result<Vec<Vec<u8>>, GitError> {
    others(git, &["ls-files", "-z", "--others", "--exclude-standard"])
}

/// Ignored files; a directory is one path if all of its contents are ignored.
pub(crate) fn ignored(git: &Git) -> Result<Vec<Vec<u8>>, GitError> {
    others(git, &["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"])
}

fn others(git: &Git, args: &[&str]) -> Result<Vec<Vec<u8>>, GitError> {
    let output = git.output(args)?;
    Ok(fields(&output).map(|path| path.strip_suffix(b"/").unwrap_or(path).to_vec()).collect())
}

fn fields(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    output.split(|byte| *byte == 0).filter(|field| !field.is_empty())
}

pub(crate) fn is_zero(hash: &str) -> bool {
    hash.bytes().all(|byte| byte == b'0')
}

fn split(field: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let at = field.iter().position(|byte| *byte == at)?;
    Some((&field[..at], &field[at + 1..]))
}

fn unparsable(command: &str) -> GitError {
    GitError::Git { command: command.to_owned(), message: "its output cannot be parsed".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_diffs_are_parsed_completely_or_rejected() {
        let output = b":100644 100755 aa bb M\0a \"b\"\n\xff\0:100644 100644 aa 00 R087\0from\0to\0";
        let entries = parse_diff(output).unwrap();
        assert_eq!((entries[0].path.as_slice(), entries[0].status), (b"a \"b\"\n\xff".as_slice(), b'M'));
        assert_eq!(
            (entries[1].from.as_deref(), entries[1].path.as_slice()),
            (Some(b"from".as_slice()), b"to".as_slice())
        );
        assert!(is_zero(&entries[1].new_hash));
        assert_eq!(parse_diff(b""), Some(Vec::new()));
        for odd in [b"M\0a\0".as_slice(), b":100644 100644 aa M\0a\0", b":100644 100644 aa bb M\0", b":1 2 3 4 R1\0a\0"]
        {
            assert_eq!(parse_diff(odd), None);
        }
    }

    #[test]
    fn tags_mark_hidden_files() {
        let check = |tag: &str, expected: bool| {
            let line = format!("{tag} 100644 aa 0\ta\tb");
            let found = parse_tracked(line.as_bytes()).unwrap();
            assert_eq!((found.hidden, found.path.as_slice()), (expected, b"a\tb".as_slice()), "{tag}");
        };
        check("H", false);
        check("M", false);
        check("h", true);
        check("S", true);
        check("s", true);
    }
}
