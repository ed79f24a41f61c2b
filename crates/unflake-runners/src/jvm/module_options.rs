//! Options of a JVM that name modules of the project. Its tests run on the class path, where these
//! modules do not exist, and a JVM does not start if it is told to add one that it cannot find.

use std::fs;
use std::path::Path;

const ADD: &str = "--add-modules";

/// The options without project modules to add. `home`: the directory of the JDK.
pub(crate) fn without_project_modules(options: Vec<String>, home: Option<&Path>) -> Vec<String> {
    if !options.iter().any(|option| option.starts_with(ADD)) {
        return options;
    }
    let release = home.and_then(|home| fs::read_to_string(home.join("release")).ok());
    let known = release.as_deref().and_then(modules);
    let is_of_jdk = |name: &str| match known {
        _ if name.starts_with("ALL-") => true,
        Some(known) => known.split(' ').any(|module| module == name),
        None => ["java.", "jdk."].iter().any(|start| name.starts_with(start)),
    };
    let kept = |names: &str| names.split(',').filter(|name| is_of_jdk(name)).collect::<Vec<_>>().join(",");
    let mut words = options.into_iter();
    let mut result = Vec::new();
    while let Some(word) = words.next() {
        let names = match word.strip_prefix(ADD) {
            Some("") => words.next(),
            Some(rest) => rest.strip_prefix('=').map(str::to_owned),
            None => None,
        };
        match names.map(|names| kept(&names)) {
            Some(names) if names.is_empty() => {}
            Some(names) => result.push(format!("{ADD}={names}")),
            None => result.push(word),
        }
    }
    result
}

/// The modules in the `release` file of a JDK.
fn modules(release: &str) -> Option<&str> {
    let line = release.lines().find_map(|line| line.strip_prefix("MODULES="));
    line.map(|value| value.trim_matches('"')).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str, home: Option<&Path>) -> String {
        without_project_modules(text.split(' ').map(str::to_owned).collect(), home).join(" ")
    }

    #[test]
    fn only_modules_of_the_jdk_are_added() {
        assert_eq!(options("-ea --add-modules jakarta.servlet -Xmx1g", None), "-ea -Xmx1g");
        assert_eq!(options("--add-modules=java.sql,org.acme,ALL-SYSTEM", None), "--add-modules=java.sql,ALL-SYSTEM");
        assert_eq!(options("--add-opens org.acme/a=ALL-UNNAMED", None), "--add-opens org.acme/a=ALL-UNNAMED");
    }

    #[test]
    fn a_jdk_names_its_modules() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("release"), "IMAGE_TYPE=\"JDK\"\nMODULES=\"java.base javafx.controls\"\n").unwrap();
        let found = options("--add-modules javafx.controls,java.sql", Some(home.path()));
        assert_eq!(found, "--add-modules=javafx.controls");
    }
}
