//! Files that count for every test, whether or not a test is seen to read them: what builds, installs and configures.

use unflake_model::{ChangeKind, FileChange};

/// By name, wherever they are.
const NAMES: &[&str] = &[
    ".gitattributes",
    // Python
    "conftest.py",
    "sitecustomize.py",
    "usercustomize.py",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    "tox.ini",
    "tox.toml",
    "noxfile.py",
    "Pipfile",
    "Pipfile.lock",
    "poetry.lock",
    "pdm.lock",
    "uv.lock",
    "MANIFEST.in",
    ".python-version",
    // Rust and C++
    "Cargo.toml",
    "Cargo.lock",
    "build.rs",
    "rust-toolchain",
    "rust-toolchain.toml",
    "CMakeLists.txt",
    "CMakePresets.json",
    "meson.build",
    "Makefile",
    // JVM
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
    "gradle.properties",
    "gradle.lockfile",
    // Others
    "package.json",
    "package-lock.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "go.mod",
    "go.sum",
    "Gemfile",
    "Gemfile.lock",
    "unflake.toml",
];

/// The changed files that count for every test.
pub(crate) fn among(files: &[FileChange]) -> Vec<String> {
    let counts = |change: &&FileChange| {
        let from = match &change.kind {
            ChangeKind::Renamed { from } => Some(from.as_str()),
            _ => None,
        };
        counts(&change.path) || from.is_some_and(counts)
    };
    files.iter().filter(counts).map(|change| change.path.clone()).collect()
}

fn counts(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let requirements = name.contains("requirements") || name.contains("constraints");
    NAMES.contains(&name)
        || requirements && (name.ends_with(".txt") || name.ends_with(".in"))
        || name.starts_with("environment") && (name.ends_with(".yml") || name.ends_with(".yaml"))
        || [".pth", ".cmake", ".gradle"].iter().any(|end| name.ends_with(end))
        // Settings of cargo, and requirements in a directory of their own.
        || path.contains(".cargo/config")
        || path.contains("requirements/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_builds_and_configures_counts_wherever_it_is() {
        let check = |path: &str, expected: bool| assert_eq!(counts(path), expected, "{path}");
        check("pyproject.toml", true);
        check("tests/unit/conftest.py", true);
        check("requirements-dev.txt", true);
        check("requirements/test.txt", true);
        check("environment.yml", true);
        check(".cargo/config.toml", true);
        check("src/setup.pyx", false);
        check("shop/cart.py", false);
        check("notes/pyproject.toml.md", false);
    }

    #[test]
    fn a_file_that_no_longer_configures_counts_too() {
        let kind = ChangeKind::Renamed { from: "tests/conftest.py".to_owned() };
        let change = FileChange { path: "tests/helpers.py".to_owned(), kind, functions: None };
        assert_eq!(among(&[change]), ["tests/helpers.py"]);
    }
}
