//! A hash of the working tree: equal for equal files.

use std::fs;
use std::path::Path;

use crate::hash::hex;
use crate::history::recorder::OUR_FILES;
use crate::project::revision;

/// Larger files are compared by size and modification time.
const LARGE: u64 = 16 << 20;

/// The tree of the commit where nothing is uncommitted, else a hash that includes the uncommitted
/// files. None where there is no repository or no commit. Files that git ignores do not count.
pub(crate) fn state(here: &Path) -> Option<String> {
    let revision = revision::look_up(here).join().unwrap_or_default();
    let tree = revision.tree?;
    revision.dirty?;
    let top = revision::top(here)?;
    // What a runner derives from sources says nothing beyond them.
    let derived: Vec<&str> = unflake_runners::project_files().flat_map(|files| files.derived).copied().collect();
    let mut texts = vec![tree.clone()];
    for entry in &revision.changed {
        let path = entry.get(3..).unwrap_or_default();
        if !OUR_FILES.iter().any(|ours| path.ends_with(ours)) && !path.split('/').any(|part| derived.contains(&part)) {
            texts.push(format!("{entry} {}", contents(&top.join(path))));
        }
    }
    if texts.len() == 1 {
        return Some(tree);
    }
    Some(format!("{}+{}", tree.get(..12).unwrap_or(&tree), hex(texts.join("\n").as_bytes())))
}

fn contents(path: &Path) -> String {
    let Ok(about) = fs::symlink_metadata(path) else { return "gone".to_owned() };
    if about.is_symlink() {
        return format!("link {:?}", fs::read_link(path).ok());
    }
    if about.is_file() && about.len() <= LARGE {
        return hex(&fs::read(path).unwrap_or_default());
    }
    format!("{} {:?}", about.len(), about.modified().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn equal_files_have_equal_hashes() {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path();
        let git = |words: &[&str]| {
            let mut command = Command::new("git");
            command.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words).current_dir(here);
            assert!(command.output().unwrap().status.success());
        };
        let write = |name: &str, text: &str| fs::write(here.join(name), text).unwrap();
        assert_eq!(state(here), None);
        git(&["init", "-q"]);
        assert_eq!(state(here), None);
        write("a.py", "1");
        git(&["add", "."]);
        git(&["commit", "-qm", "one"]);
        let clean = state(here).unwrap();
        write("a.py", "2");
        let changed = state(here).unwrap();
        assert_ne!(changed, clean);
        assert_eq!(state(here).unwrap(), changed);
        write("a.py", "3");
        assert_ne!(state(here).unwrap(), changed);
        write("new.py", "1");
        let new = state(here).unwrap();
        write("new.py", "2");
        assert_ne!(state(here).unwrap(), new);
        fs::remove_file(here.join("new.py")).unwrap();
        fs::create_dir(here.join("__pycache__")).unwrap();
        write("__pycache__/a.pyc", "1");
        write("a.py", "1");
        assert_eq!(state(here).unwrap(), clean);
    }
}
