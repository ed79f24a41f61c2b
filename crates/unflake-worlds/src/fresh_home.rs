//! Directories that a command gets: an empty home, and programs under their usual names.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use unflake_model::{NamesOfProgram, ProgramNames};

type Variable = (String, Option<String>);

/// Parts of a home that are toolchains, not state. They stay where they are, or nothing could start.
const TOOLCHAINS: [(&str, &str); 5] = [
    ("CARGO_HOME", ".cargo"),
    ("RUSTUP_HOME", ".rustup"),
    ("PYENV_ROOT", ".pyenv"),
    ("NVM_DIR", ".nvm"),
    ("PYTHONUSERBASE", ".local"),
];

/// An empty home with its directories, removed with this value.
pub(crate) struct FreshHome(TempDir);

impl FreshHome {
    pub(crate) fn below(place: &Path) -> io::Result<Self> {
        let place = tempfile::Builder::new().prefix("unflake-state-").tempdir_in(place)?;
        for name in ["home", "tmp", "run"] {
            fs::create_dir(place.path().join(name))?;
        }
        fs::set_permissions(place.path().join("run"), Permissions::from_mode(0o700))?;
        Ok(Self(place))
    }

    pub(crate) fn variables(&self) -> Vec<Variable> {
        let below = |name: &str| Some(self.0.path().join(name).to_string_lossy().into_owned());
        let mut set: Vec<Variable> = [("HOME", "home"), ("TMPDIR", "tmp"), ("XDG_RUNTIME_DIR", "run")]
            .map(|(variable, name)| (variable.to_owned(), below(name)))
            .into();
        // Unset, they default to directories below the home.
        for variable in ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "TMP", "TEMP"] {
            set.push((variable.to_owned(), None));
        }
        let home = std::env::home_dir().unwrap_or_default();
        for (variable, name) in TOOLCHAINS {
            let there = home.join(name);
            if std::env::var_os(variable).is_none() && there.is_dir() {
                set.push((variable.to_owned(), Some(there.to_string_lossy().into_owned())));
            }
        }
        set
    }
}

/// A program under its usual names, in a directory that comes first in `PATH`.
pub(crate) struct NamedProgram {
    place: TempDir,
    variables: Vec<(String, String)>,
}

impl NamedProgram {
    pub(crate) fn exists(name: &str) -> bool {
        find(name).is_some()
    }

    pub(crate) fn below(place: &Path, name: &str, names_of: NamesOfProgram) -> io::Result<Self> {
        let program = find(name).ok_or(io::ErrorKind::NotFound)?;
        let place = tempfile::Builder::new().prefix("unflake-interpreter-").tempdir_in(place)?;
        let ProgramNames { names, variables } = names_of(&program);
        for name in names {
            // Not a link: an interpreter finds its library from its own location.
            let script = place.path().join(name);
            let quoted = program.to_string_lossy().replace('\'', r"'\''");
            fs::write(&script, format!("#!/bin/sh\nexec '{quoted}' \"$@\"\n"))?;
            fs::set_permissions(&script, Permissions::from_mode(0o755))?;
        }
        Ok(Self { place, variables })
    }

    pub(crate) fn variables(&self) -> Vec<Variable> {
        let old = std::env::var("PATH").unwrap_or_default();
        let path = ("PATH".to_owned(), format!("{}:{old}", self.place.path().display()));
        [path].into_iter().chain(self.variables.clone()).map(|(name, value)| (name, Some(value))).collect()
    }
}

fn find(name: &str) -> Option<PathBuf> {
    let is_program =
        |path: &PathBuf| path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0);
    if name.contains('/') {
        return std::path::absolute(name).ok().filter(is_program);
    }
    let places = std::env::var_os("PATH")?;
    std::env::split_paths(&places).map(|place| place.join(name)).find(is_program)
}
