//! The directories of the interpreter that a command starts: its virtual environment, and what that
//! was made from.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::process::files::find_program;

/// Interpreters below these directories are part of the system, which every machine has.
const OF_SYSTEM: [&str; 3] = ["/usr", "/bin", "/lib"];

/// For another machine, which has the system but not what users install.
pub(super) fn directories(command: &[String]) -> Vec<PathBuf> {
    let program = command.first().and_then(|word| find_program(word));
    let of_program = program.as_deref().and_then(environment_of);
    let active = env::var_os("VIRTUAL_ENV").map(PathBuf::from).filter(|path| path.join("pyvenv.cfg").is_file());
    let mut found: Vec<PathBuf> = of_program.into_iter().chain(active).collect();
    found.dedup();
    let bases: Vec<PathBuf> = found.iter().filter_map(|one| base_of(one)).collect();
    found.extend(bases);
    found.retain(|path| !OF_SYSTEM.iter().any(|system| path.starts_with(system)));
    found
}

/// The virtual environment that a program is in.
fn environment_of(program: &Path) -> Option<PathBuf> {
    let program = std::path::absolute(program).ok()?;
    let environment = program.parent()?.parent()?;
    environment.join("pyvenv.cfg").is_file().then(|| environment.to_owned())
}

/// The installation that a virtual environment was made from.
fn base_of(environment: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(environment.join("pyvenv.cfg")).ok()?;
    let home = text.lines().find_map(|line| line.split_once('=').filter(|(name, _)| name.trim() == "home"))?;
    Path::new(home.1.trim()).parent().map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_virtual_environment_comes_with_what_it_was_made_from() {
        let place = tempfile::tempdir().unwrap();
        let (environment, base) = (place.path().join("env"), place.path().join("base"));
        fs::create_dir_all(environment.join("bin")).unwrap();
        let program = environment.join("bin/python");
        fs::write(&program, "").unwrap();
        assert_eq!(environment_of(&program), None);
        let text = format!("home = {}/bin\nversion = 3.12\n", base.display());
        fs::write(environment.join("pyvenv.cfg"), text).unwrap();
        assert_eq!(environment_of(&program), Some(environment.clone()));
        assert_eq!(base_of(&environment), Some(base));
    }
}
