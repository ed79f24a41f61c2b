//! unflake in place of a program that cargo starts: a test program or rustdoc.

use std::env;
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The path of the handoff socket. It is set where cargo starts unflake.
pub(crate) const HAND_OVER: &str = "UNFLAKE_HAND_OVER";
/// The value of RUSTDOC before unflake changed it.
pub(crate) const RUSTDOC: &str = "UNFLAKE_RUSTDOC";
/// The word before those of a test program.
pub(crate) const WORD: &str = "hand-over";

pub(crate) fn myself() -> PathBuf {
    env::current_exe().unwrap_or("unflake".into())
}

/// The main function of a process that cargo started in place of another. None: this process is
/// none.
pub(super) fn hand_over() -> Option<ExitCode> {
    let socket = PathBuf::from(env::var_os(HAND_OVER)?);
    let words: Vec<_> = env::args_os().skip(1).collect();
    let is_there = |word: &str| words.iter().any(|one| one == word);
    if words.len() > 1 && words[0] == WORD {
        if send(&socket, words[1..].iter().map(|word| word.as_os_str())).is_err() {
            return Some(ExitCode::FAILURE);
        }
        if !is_there("--list") {
            return Some(ExitCode::SUCCESS);
        }
        // cargo wants the list of tests, so the program has to run after all.
        let error = Command::new(&words[1]).args(&words[2..]).env_remove(HAND_OVER).exec();
        eprintln!("{} cannot be started: {error}", words[1].display());
        return Some(ExitCode::FAILURE);
    }
    if is_there("--test") {
        return Some(if send(&socket, [].into_iter()).is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let rustdoc = env::var_os(RUSTDOC).filter(|path| !path.is_empty()).unwrap_or("rustdoc".into());
    let error = Command::new(rustdoc).args(words).exec();
    eprintln!("rustdoc cannot be started: {error}");
    Some(ExitCode::FAILURE)
}

/// Sends what `hand-over/main.rs` sends.
fn send<'a>(socket: &Path, words: impl ExactSizeIterator<Item = &'a OsStr>) -> std::io::Result<()> {
    let mut message = (words.len() as u64).to_ne_bytes().to_vec();
    let mut add = |texts: &[&OsStr]| {
        texts.iter().for_each(|text| message.extend(text.as_bytes()));
        message.push(0);
    };
    add(&[env::current_dir()?.as_os_str()]);
    words.for_each(|word| add(&[word]));
    env::vars_os().for_each(|(name, value)| add(&[&name, OsStr::new("="), &value]));
    UnixStream::connect(socket)?.write_all(&message)
}
