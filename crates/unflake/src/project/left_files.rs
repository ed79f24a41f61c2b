//! Files that failing tests wrote and left behind: which of them outlive a process, and may they be
//! part of the project?

use std::path::{Path, PathBuf};

use unflake_git::{FileStatus, Repository};
use unflake_model::LeftFile;

/// With more files, which of them matters is not worth finding out.
const MOST: usize = 20;

/// What is left of the paths that a test wrote, without files that the project tracks.
pub(crate) fn left_files(written: Vec<PathBuf>, here: &Path) -> Vec<LeftFile> {
    let repository = Repository::find(here).ok().flatten();
    let project = repository.as_ref().map_or(here, Repository::root);
    let everybodys = [std::env::temp_dir(), std::env::home_dir().unwrap_or_default()];
    // Where a test works is not what it left.
    let is_place = |path: &Path| here.starts_with(path) || everybodys.iter().any(|place| place.starts_with(path));
    let mut left = Vec::new();
    for path in written {
        let is_shown = path.to_str().is_some_and(|text| !text.chars().any(char::is_control));
        if !is_shown || is_place(&path) || path.symlink_metadata().is_err() {
            continue;
        }
        let status = match &repository {
            _ if !path.starts_with(project) => Some(FileStatus::Ignored),
            Some(repository) => repository.file_status(&path).ok(),
            None => None,
        };
        if status != Some(FileStatus::Tracked) {
            let is_leftover = status == Some(FileStatus::Ignored);
            left.push(LeftFile { path: path.to_string_lossy().into_owned(), is_leftover });
        }
        if left.len() > MOST {
            return Vec::new();
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_what_is_there_is_left() {
        let place = tempfile::tempdir().unwrap();
        let here = place.path().join("project");
        fs::create_dir(&here).unwrap();
        for name in ["project/out.txt", "beside.txt"] {
            fs::write(place.path().join(name), "x").unwrap();
        }
        let paths = ["project/out.txt", "project/gone.txt", "beside.txt", "project", ""];
        let left = left_files(paths.map(|name| place.path().join(name)).into(), &here);
        let shown: Vec<(&str, bool)> =
            left.iter().map(|file| (file.path.rsplit('/').next().unwrap(), file.is_leftover)).collect();
        assert_eq!(shown, [("out.txt", false), ("beside.txt", true)]);
    }
}
