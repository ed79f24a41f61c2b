//! `unflake doctor --factors`: whether a program that is run under a factor is under it. Each answer comes from a small program
//! that was started under the factor and told what it sees.

mod judge;
mod runtime;
mod tell;

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::unistd::getppid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use unflake_report::plain;

use crate::error::CommandError;
use crate::exit::Exit;

pub(crate) use tell::tell;

/// Whether a factor holds in a runtime.
pub(crate) enum Answer {
    Yes,
    No(String),
    /// It cannot be tried here, or means nothing there.
    NotHere(String),
}

impl Answer {
    fn word(&self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No(_) => "no",
            Self::NotHere(_) => "not here",
        }
    }
}

pub(crate) fn examine(command: &[String]) -> Result<Exit, CommandError> {
    let place = tempfile::Builder::new().prefix("unflake-probe-").tempdir();
    let place = place.map_err(CommandError::internal("make a directory for the probes"))?;
    let runtimes = runtime::find(command, place.path()).map_err(CommandError::internal("lay the probes out"))?;
    let mut out = io::stdout();
    let columns: Vec<String> = runtimes.iter().map(|runtime| plain(&runtime.name).into_owned()).collect();
    let width = |column: &String| column.chars().count().max("not here".len()) + 2;
    let mut line = |first: &str, cells: &[&str]| {
        let cells = cells.iter().zip(&columns).map(|(cell, column)| format!("{cell:<0$}", width(column)));
        let text = format!("  {first:<26}{}", cells.collect::<String>());
        let _ = writeln!(out, "{}", text.trim_end());
        let _ = out.flush();
    };
    line("factor", &columns.iter().map(String::as_str).collect::<Vec<_>>());
    let stopped = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register(signal, Arc::clone(&stopped)).map_err(CommandError::internal("hear signals"))?;
    }
    let mut notes = Vec::new();
    // Whoever is gone without a word has left it to this process to tidy up, and that soon.
    let parent = getppid();
    for trial in judge::TRIALS {
        if stopped.load(Ordering::Relaxed) || getppid() != parent {
            return Ok(Exit::Interrupted);
        }
        let answers: Vec<Answer> = runtimes.iter().map(|runtime| trial.answer(runtime)).collect();
        line(&trial.name(), &answers.iter().map(Answer::word).collect::<Vec<_>>());
        for (answer, runtime) in answers.into_iter().zip(&columns) {
            if let Answer::No(why) | Answer::NotHere(why) = answer {
                notes.push((trial.name(), runtime.clone(), why));
            }
        }
    }
    let _ = writeln!(out);
    // One line for what is the same in several runtimes.
    while let Some((factor, first, why)) = (!notes.is_empty()).then(|| notes.remove(0)) {
        let mut where_ = vec![first];
        notes.retain(|(other, runtime, reason)| {
            let same = *other == factor && *reason == why;
            if same {
                where_.push(runtime.clone());
            }
            !same
        });
        let _ = writeln!(out, "  {factor}, {}: {}", where_.join(", "), plain(&why));
    }
    Ok(Exit::Success)
}
