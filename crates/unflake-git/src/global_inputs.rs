//! Files that count for every test, whether or not a test is seen to read them: what builds,
//! installs and configures. Which files those are depends on the tools of a project, so the caller
//! gives globs; version control's and unflake's own are added here.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use unflake_model::{ChangeKind, FileChange};

/// Files of version control and of unflake itself.
pub(crate) const OWN: [&str; 2] = ["**/.gitattributes", "**/unflake.toml"];

/// The changed files that a glob matches, by their old or new name.
pub fn matching<'a>(files: &[FileChange], globs: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let globs = compiled(globs);
    let counts = |change: &&FileChange| {
        let from = match &change.kind {
            ChangeKind::Renamed { from } => Some(from.as_str()),
            _ => None,
        };
        globs.is_match(&change.path) || from.is_some_and(|from| globs.is_match(from))
    };
    files.iter().filter(counts).map(|change| change.path.clone()).collect()
}

/// A glob that cannot be compiled matches nothing: all of them are constants.
fn compiled<'a>(globs: impl IntoIterator<Item = &'a str>) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        if let Ok(glob) = GlobBuilder::new(glob).literal_separator(true).build() {
            set.add(glob);
        }
    }
    set.build().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_in_every_directory() {
        let globs =
            compiled(OWN.into_iter().chain(["**/settings.tool", "**/*requirements*.txt", "**/*requirements/**"]));
        let check = |path: &str, expected: bool| assert_eq!(globs.is_match(path), expected, "{path}");
        check("settings.tool", true);
        check("a/b/settings.tool", true);
        check("requirements-dev.txt", true);
        check("requirements/test.in", true);
        check("notes/settings.tool.md", false);
        check("unflake.toml", true);
        check("lib/.gitattributes", true);
    }

    #[test]
    fn a_file_that_no_longer_configures_counts_too() {
        let kind = ChangeKind::Renamed { from: "tests/settings.tool".to_owned() };
        let change = FileChange { path: "tests/helpers.x".to_owned(), kind, functions: None };
        assert_eq!(matching(&[change], ["**/settings.tool"]), ["tests/helpers.x"]);
    }
}
