//! The project unflake was pointed at: where it is, its file of settings, and its test command where none was given.

use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::config::settings::{Setting, SettingError, SettingSource, SettingsFile};

/// Files that mark the top of a project, besides a history or settings of our own.
const MARKS: [&str; 8] =
    ["pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg", "setup.py", "Cargo.toml", "CMakeLists.txt", ".git"];

/// The nearest directory from `start` upwards that looks like the top of a project; `start` itself where none does. What is
/// above the repository that `start` is in is another project.
pub(crate) fn find(start: &Path) -> PathBuf {
    let repository = start.ancestors().position(|directory| directory.join(".git").exists());
    let within = || start.ancestors().take(repository.map_or(usize::MAX, |at| at + 1));
    let ours = |directory: &&Path| directory.join(".unflake").is_dir() || directory.join("unflake.toml").is_file();
    let marked = |directory: &&Path| MARKS.iter().any(|mark| directory.join(mark).exists());
    let top = within().find(ours).or_else(|| within().find(marked));
    top.unwrap_or(start).to_owned()
}

/// The settings of the project, if it has any: `unflake.toml`, `.config/unflake.toml`, or `[tool.unflake]` in
/// `pyproject.toml`.
pub(crate) fn settings_file(project: &Path) -> Result<Option<SettingsFile>, SettingError> {
    let parse = |path: &Path| -> Result<Option<toml::Table>, SettingError> {
        let Ok(text) = fs::read_to_string(path) else { return Ok(None) };
        text.parse().map(Some).map_err(|error| SettingError(format!("{} cannot be read: {error}", path.display())))
    };
    for name in ["unflake.toml", ".config/unflake.toml"] {
        let path = project.join(name);
        if let Some(table) = parse(&path)? {
            return Ok(Some(SettingsFile { path, table }));
        }
    }
    let path = project.join("pyproject.toml");
    // A broken pyproject.toml is for the tools that need it to complain about.
    let Ok(Some(mut table)) = parse(&path) else { return Ok(None) };
    let ours = table.get_mut("tool").and_then(|tools| tools.as_table_mut()?.remove("unflake"));
    Ok(ours.and_then(|ours| ours.as_table().cloned()).map(|table| SettingsFile { path, table }))
}

/// The command for a project that gave none.
pub(crate) fn guess_command(project: &Path) -> Option<Setting<Vec<String>>> {
    let is_python = ["pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg", "setup.py", "conftest.py"]
        .iter()
        .any(|name| project.join(name).is_file())
        || ["tests", "test"].iter().any(|name| has_test_files(&project.join(name)))
        || has_test_files(project);
    let guess = |command: &[&str], why: &str| {
        let value = command.iter().map(|word| (*word).to_owned()).collect();
        Some(Setting { value, from: SettingSource::Guess(why.to_owned()) })
    };
    if !is_python {
        let has = |name: &str| project.join(name).is_file();
        if has("Cargo.toml") {
            return guess(&["cargo", "test"], "there is a Cargo.toml");
        }
        let or =
            |wrapper: &str, tool: &'static str| if has(wrapper) { format!("./{wrapper}") } else { tool.to_owned() };
        if has("pom.xml") {
            return guess(&[&or("mvnw", "mvn"), "test"], "there is a pom.xml");
        }
        if let Some(name) = ["build.gradle", "build.gradle.kts"].into_iter().find(|name| has(name)) {
            return guess(&[&or("gradlew", "gradle"), "test"], &format!("there is a {name}"));
        }
        if has("build/CTestTestfile.cmake") {
            return guess(&["ctest", "--test-dir", "build"], "there are tests for CTest in build");
        }
        return None;
    }
    for name in [".venv", "venv"] {
        let python = project.join(name).join("bin/python");
        if python.is_file() && env::var_os("VIRTUAL_ENV").is_none() {
            return guess(&[&python.to_string_lossy(), "-m", "pytest"], &format!("there is a {name} in the project"));
        }
    }
    if is_on_path("pytest") {
        return guess(&["pytest"], "this looks like a pytest project");
    }
    guess(&["python3", "-m", "pytest"], "this looks like a pytest project")
}

fn has_test_files(directory: &Path) -> bool {
    let is_test = |name: &str| name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"));
    fs::read_dir(directory).into_iter().flatten().flatten().any(|entry| entry.file_name().to_str().is_some_and(is_test))
}

fn is_on_path(program: &str) -> bool {
    env::split_paths(&env::var_os("PATH").unwrap_or_default()).any(|directory| directory.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_inside_of_another_project_is_a_project_of_its_own() {
        let place = tempfile::tempdir().unwrap();
        let outer = place.path();
        for directory in [".unflake", "inner/.git", "inner/deep", "plain/deep"] {
            fs::create_dir_all(outer.join(directory)).unwrap();
        }
        assert_eq!(find(&outer.join("inner/deep")), outer.join("inner"));
        assert_eq!(find(&outer.join("plain/deep")), outer);
    }
}
