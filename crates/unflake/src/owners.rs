//! Whose a file is, by CODEOWNERS as GitHub and GitLab read it: the last line that matches decides.

use std::fs;
use std::path::Path;

const PLACES: [&str; 4] = [".github/CODEOWNERS", ".gitlab/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"];

#[derive(Default)]
pub(crate) struct Owners {
    /// Patterns and owners, in the order of the file.
    rules: Vec<(String, String)>,
}

impl Owners {
    /// Those of the project in this directory. None where no file says.
    pub(crate) fn find(project: &Path) -> Self {
        let text = PLACES.iter().find_map(|place| fs::read_to_string(project.join(place)).ok());
        Self::read(&text.unwrap_or_default())
    }

    fn read(text: &str) -> Self {
        // GitLab's sections have owners of their own for lines without any.
        let mut of_section = String::new();
        let mut rules = Vec::new();
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
            rules.push((pattern.replace('\0', " "), owners));
        }
        Self { rules }
    }

    /// Empty where nobody owns it.
    pub(crate) fn of(&self, file: &str) -> &str {
        let file = file.trim_start_matches("./");
        self.rules.iter().rev().find(|(pattern, _)| matches(pattern, file)).map_or("", |(_, owners)| owners)
    }
}

fn matches(pattern: &str, file: &str) -> bool {
    let anchored = pattern.trim_end_matches('/').contains('/');
    let body = pattern.trim_start_matches('/');
    let directory = body.ends_with('/');
    let body = body.trim_end_matches('/');
    let parts: Vec<&str> = file.split('/').collect();
    let wanted: Vec<&str> = body.split('/').collect();
    let starts = if anchored { 0..1 } else { 0..parts.len() };
    starts.into_iter().any(|start| fits(&wanted, &parts[start..], directory))
}

/// Whether the parts of a pattern are those of a path, or of a directory above it. `dir/*` means files in it and not below.
fn fits(wanted: &[&str], parts: &[&str], directory: bool) -> bool {
    match (wanted, parts) {
        ([], []) => !directory,
        ([], _) => true,
        (["**", rest @ ..], _) => (0..=parts.len()).any(|skip| fits(rest, &parts[skip..], directory)),
        (_, []) => false,
        ([last], [name, rest @ ..]) if last.contains('*') => glob(last, name) && (rest.is_empty() || *last != "*"),
        ([first, more @ ..], [name, rest @ ..]) => glob(first, name) && fits(more, rest, directory),
    }
}

/// `*` stands for any letters and `?` for one.
fn glob(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => (p, n) = (p + 1, n + 1),
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    (p, n) = (at + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_that_matches_decides() {
        let owners = Owners::read(
            "# comment\n*  @all\n*.js @js # why\n/docs/ @docs\napps/ @apps\n/build/logs/*.txt @logs\n/one/* @one\n\
             **/deep @deep\n/free\nwith\\ blank.py @blank\n[Section] @section\nsection/\n",
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
        assert_eq!(of("free"), "", "nobody owns it");
        assert_eq!(of("with blank.py"), "@blank");
        assert_eq!(of("section/a.py"), "@section");
    }
}
