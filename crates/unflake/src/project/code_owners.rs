//! Code owners of files, by CODEOWNERS as GitHub and GitLab read it: the last pattern that matches
//! decides.

use std::fs;
use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

const LOCATIONS: [&str; 4] = [".github/CODEOWNERS", ".gitlab/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"];

#[derive(Default)]
pub(crate) struct CodeOwners {
    patterns: GlobSet,
    /// The owners of each pattern, in the order of the file.
    owners: Vec<String>,
}

impl CodeOwners {
    /// The owners of a project. Empty where there is no file.
    pub(crate) fn find(project: &Path) -> Self {
        let text = LOCATIONS.iter().find_map(|location| fs::read_to_string(project.join(location)).ok());
        Self::read(&text.unwrap_or_default())
    }

    fn read(text: &str) -> Self {
        // Sections of GitLab have default owners for the lines in them.
        let mut of_section = String::new();
        let (mut patterns, mut all_owners) = (GlobSetBuilder::new(), Vec::new());
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if line.starts_with('[') || line.starts_with("^[") {
                of_section = line.rsplit(']').next().unwrap_or_default().trim().to_owned();
                continue;
            }
            // A blank in a pattern is escaped.
            let line = line.replace("\\ ", "\0");
            let (pattern, owners) = line.split_once(char::is_whitespace).unwrap_or((&line, ""));
            let owners = owners.split('#').next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
            let owners = if owners.is_empty() { of_section.clone() } else { owners };
            let glob = GlobBuilder::new(&glob(&pattern.replace('\0', " "))).literal_separator(true).build();
            if let Ok(glob) = glob {
                patterns.add(glob);
                all_owners.push(owners);
            }
        }
        Self { patterns: patterns.build().unwrap_or_default(), owners: all_owners }
    }

    /// Empty where the file has no owner.
    pub(crate) fn of(&self, file: &str) -> &str {
        let matching = self.patterns.matches(file.trim_start_matches("./"));
        matching.last().map_or("", |last| &self.owners[*last])
    }
}

/// The pattern as a glob: a pattern without a slash matches at any depth, and one that matches a
/// directory owns all below it. `dir/*` matches the files in a directory and none below.
fn glob(pattern: &str) -> String {
    let body = pattern.trim_matches('/');
    let anywhere = if pattern.trim_end_matches('/').contains('/') { "" } else { "**/" };
    // CODEOWNERS has neither character classes nor alternatives.
    let body: String =
        body.chars().map(|c| if "[]{},!".contains(c) { format!("\\{c}") } else { c.to_string() }).collect();
    match (pattern.ends_with('/'), body.rsplit('/').next()) {
        (true, _) => format!("{anywhere}{body}/**"),
        (false, Some("*")) => format!("{anywhere}{body}"),
        (false, _) => format!("{anywhere}{{{body},{body}/**}}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_matching_pattern_decides() {
        let owners = CodeOwners::read(
            "# comment\n*  @all\n*.js @js # why\n/docs/ @docs\napps/ @apps\n/build/logs/*.txt @logs\n/one/* @one\n\
             **/deep @deep\n/free\nwith\\ blank.py @blank\n/a[1]/{b,c} @literal\n[Section] @section\nsection/\n",
        );
        let of = |file| owners.of(file);
        assert_eq!(of("src/a.py"), "@all");
        assert_eq!(of("src/a.js"), "@js");
        assert_eq!(of("docs/deeper/a.md"), "@docs");
        assert_eq!(of("src/docs/a.md"), "@all");
        assert_eq!(of("x/apps/y/z"), "@apps");
        assert_eq!(of("build/logs/a.txt"), "@logs");
        assert_eq!(of("build/logs/b/a.txt"), "@all");
        assert_eq!((of("one/a"), of("one/a/b")), ("@one", "@all"));
        assert_eq!(of("a/b/deep/c.py"), "@deep");
        assert_eq!(of("free"), "", "it has no owner");
        assert_eq!(of("with blank.py"), "@blank");
        assert_eq!(of("section/a.py"), "@section");
        assert_eq!((of("a[1]/{b,c}"), of("a1/b")), ("@literal", "@all"));
    }
}
