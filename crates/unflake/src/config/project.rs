//! The project that unflake runs in: its top directory, its settings file, and its test command
//! where none is given.

use std::fs;
use std::path::{Path, PathBuf};

use unflake_runners::{SettingsTable, project_files};

use crate::config::settings::{Setting, SettingError, SettingSource, SettingsFile};

/// The nearest directory from `start` upwards that looks like the top of a project; `start` itself
/// where none does. What is above the repository of `start` is another project.
pub(crate) fn find(start: &Path) -> PathBuf {
    let repository = start.ancestors().position(|directory| directory.join(".git").exists());
    let within = || start.ancestors().take(repository.map_or(usize::MAX, |at| at + 1));
    let ours = |directory: &&Path| directory.join(".unflake").is_dir() || directory.join("unflake.toml").is_file();
    let markers: Vec<&str> = project_files().flat_map(|files| files.root_markers).copied().chain([".git"]).collect();
    let marked = |directory: &&Path| markers.iter().any(|marker| directory.join(marker).exists());
    let top = within().find(ours).or_else(|| within().find(marked));
    top.unwrap_or(start).to_owned()
}

/// The settings of the project, if it has any: `unflake.toml`, `.config/unflake.toml`, or a table in
/// a settings file that a runner shares with other tools.
pub(crate) fn settings_file(project: &Path) -> Result<Option<SettingsFile>, SettingError> {
    let parse = |path: &Path| -> Result<Option<toml::Table>, SettingError> {
        let Ok(text) = fs::read_to_string(path) else { return Ok(None) };
        text.parse().map(Some).map_err(|error: toml::de::Error| {
            SettingError::new(format!("{} cannot be read: {}", path.display(), error.to_string().trim_end()))
        })
    };
    for name in ["unflake.toml", ".config/unflake.toml"] {
        let path = project.join(name);
        if let Some(table) = parse(&path)? {
            return Ok(Some(SettingsFile { path, table }));
        }
    }
    for SettingsTable { file, table } in project_files().filter_map(|files| files.settings) {
        let path = project.join(file);
        // Tools that need this file complain if it is broken.
        let Ok(Some(mut found)) = parse(&path) else { continue };
        let ours = table.iter().try_fold(&mut found, |outer, key| outer.get_mut(*key)?.as_table_mut());
        if let Some(table) = ours.map(std::mem::take) {
            return Ok(Some(SettingsFile { path, table }));
        }
    }
    Ok(None)
}

/// The command for a project that gives none.
pub(crate) fn guess_command(project: &Path) -> Option<Setting<Vec<String>>> {
    let guess = unflake_runners::default_command(project)?;
    Some(Setting { value: guess.words, from: SettingSource::Guess(guess.reason) })
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

    #[test]
    fn settings_may_be_a_table_in_a_shared_file() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("pyproject.toml"), "[tool.other]\na = 1\n").unwrap();
        assert!(settings_file(place.path()).ok().unwrap().is_none());
        fs::write(place.path().join("pyproject.toml"), "[tool.unflake]\nfresh = 2\n").unwrap();
        let file = settings_file(place.path()).ok().unwrap().unwrap();
        assert_eq!(file.table["fresh"].as_integer(), Some(2));
    }
}
