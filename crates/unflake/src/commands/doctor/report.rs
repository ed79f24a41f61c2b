//! `unflake doctor`: what is here, what will work, and what will not.

use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

use unflake_engine::Engine;
use unflake_model::{Event, Problem};
use unflake_report::plain;
use unflake_store::{Store, StoreError, StoreLocation};

use crate::args::ColorChoice;
use crate::config::settings::Settings;
use crate::context::need_command;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::interrupt;
use crate::launch::launch;
use crate::output::console;

/// How well one thing is.
enum Health {
    Good,
    /// unflake works without it, and less well.
    Lacking,
    /// Nothing can be run.
    Bad,
}

pub(crate) fn examine(settings: &Settings, here: &Path, colour: ColorChoice) -> Result<Exit, CommandError> {
    let unicode = console::style(colour, &io::stdout()).unicode;
    let mut out = io::stdout();
    let mut say = |health: Health, what: &str, found: &str| {
        let sign = match (&health, unicode) {
            (Health::Good, true) => "✓",
            (Health::Lacking, true) => "–",
            (Health::Bad, true) => "✗",
            (Health::Good, false) => "ok",
            (Health::Lacking, false) => "--",
            (Health::Bad, false) => "XX",
        };
        let found = plain(found).replace('\n', "\n              ");
        let _ = writeln!(out, "  {sign} {what:<10}{found}");
    };

    say_machine(&mut say);
    say_git(here, &mut say);
    say_history(&settings.store.value, &mut say);
    if settings.command.value.is_empty() {
        say(Health::Bad, "command", "none given and none can be guessed");
        need_command(settings)?;
    }
    say(Health::Good, "command", &format!("{} ({})", settings.command.value.join(" "), settings.command.from));
    say_runner(settings, &mut say)
}

fn say_machine(say: &mut impl FnMut(Health, &str, &str)) {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    if cfg!(target_os = "linux") {
        say(
            Health::Good,
            "machine",
            &format!("Linux, {cores} cores; whatever tests leave running is ended afterwards"),
        );
    } else {
        let os = std::env::consts::OS;
        say(
            Health::Lacking,
            "machine",
            &format!("{os}, {cores} cores; processes that tests leave running are not found here"),
        );
    }
}

fn say_git(here: &Path, say: &mut impl FnMut(Health, &str, &str)) {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(here).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    match (git(&["--version"]), git(&["rev-parse", "--short", "HEAD"])) {
        (Some(version), Some(commit)) => say(Health::Good, "git", &format!("{version}, at {commit}")),
        (Some(version), None) => {
            say(
                Health::Lacking,
                "git",
                &format!("{version}, but this is no repository: attempts are kept without revision"),
            );
        }
        (None, _) => say(Health::Lacking, "git", "not found: attempts are kept without revision"),
    }
}

fn say_history(place: &StoreLocation, say: &mut impl FnMut(Health, &str, &str)) {
    if !place.is_server() && !place.dir.exists() {
        return say(Health::Good, "history", &format!("none yet; it will be kept in {place}"));
    }
    match Store::open(place).and_then(|store| Ok((store.runs(usize::MAX)?.len(), store.location_text()))) {
        Ok((runs, place)) => say(Health::Good, "history", &format!("{runs} runs in {place}")),
        Err(error @ (StoreError::Newer { .. } | StoreError::Corrupt { .. } | StoreError::Foreign { .. })) => {
            say(Health::Bad, "history", &error.to_string());
        }
        Err(error) => say(Health::Lacking, "history", &error.to_string()),
    }
}

fn say_runner(settings: &Settings, say: &mut impl FnMut(Health, &str, &str)) -> Result<Exit, CommandError> {
    let launch = launch(settings);
    let driven = launch.driver.is_some();
    let mut exec = Engine::new(launch)?;
    interrupt::stop_on_signals(&exec)?;
    let mut problems: Vec<Problem> = Vec::new();
    let mut tests = 0;
    let listed = exec.list(&mut |batch| {
        for event in batch {
            match event {
                Event::EnvironmentStarted(up) => {
                    let how = if driven { "driven" } else { "agent inside" };
                    say(Health::Good, "runner", &format!("{} on {}, {how}", up.runner, up.language));
                    if let Some(support) = unflake_runners::trace_support(&up.language) {
                        let health = if support.good { Health::Good } else { Health::Lacking };
                        say(health, "traces", support.description);
                    }
                }
                Event::TestsListed { tests: all, .. } => tests = all.len(),
                Event::Note(note) => say(Health::Lacking, "note", note),
                Event::Problem(problem) => problems.push(problem.clone()),
                _ => {}
            }
        }
    });
    for problem in &problems {
        let place = problem.place.as_ref().map(|place| format!("{place}\n")).unwrap_or_default();
        say(Health::Bad, "problem", &format!("{place}{}", problem.text.trim_end()));
    }
    let forkable = exec.unforkable().map(str::to_owned);
    let isolated = exec.is_isolated();
    exec.close(0, &mut |_| {});
    if !listed {
        return Ok(Exit::Runner);
    }
    match tests {
        0 => say(Health::Bad, "tests", "none were found"),
        _ => say(Health::Good, "tests", &format!("{tests} collected")),
    }
    match forkable {
        None if isolated => say(Health::Good, "fresh", "by a process for each test, or for the tests that share one"),
        None => say(Health::Good, "fresh", "by fork of a collected process: milliseconds each"),
        Some(why) => say(Health::Lacking, "fresh", &format!("by a new process each, because {why}")),
    }
    Ok(if tests == 0 { Exit::NoTests } else { Exit::Success })
}
