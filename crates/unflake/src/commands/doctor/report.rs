//! `unflake doctor`: checks what is installed, what works and what does not.

use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

use unflake_engine::Engine;
use unflake_model::{Event, PrivatePart, Problem};
use unflake_report::{TerminalStyle, plain};
use unflake_store::{Store, StoreError, StoreLocation};
use unflake_worlds::PrivatePlan;

use super::machines;
use crate::config::settings::{EngineChoice, Settings};
use crate::context::{Context, need_command};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::interrupt;
use crate::launch::{launch, private};
use crate::output::console;

/// The result of a check.
enum Health {
    Good,
    /// unflake works without it, with limits.
    Lacking,
    /// Tests cannot run.
    Bad,
}

/// The text in lines of at most so many columns, where its words are no longer than that.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        lines.push(String::new());
        for word in line.split(' ') {
            let last = lines.last_mut().expect("a line was added");
            let used = last.chars().count();
            match used {
                0 => last.push_str(word),
                _ if used + 1 + word.chars().count() > columns => lines.push(word.to_owned()),
                _ => *last = format!("{last} {word}"),
            }
        }
    }
    lines
}

pub(crate) fn examine(settings: &Settings, context: &Context) -> Result<Exit, CommandError> {
    let here = &context.here;
    let TerminalStyle { unicode, width, .. } = console::style(context.color, &io::stdout());
    let mut out = io::stdout();
    let mut report = |health: Health, what: &str, found: &str| {
        let sign = match (&health, unicode) {
            (Health::Good, true) => "✓",
            (Health::Lacking, true) => "–",
            (Health::Bad, true) => "✗",
            (Health::Good, false) => "ok",
            (Health::Lacking, false) => "--",
            (Health::Bad, false) => "XX",
        };
        let head = format!("  {sign} {what:<10}");
        let indent = head.chars().count();
        let found = wrapped(&plain(found), width.saturating_sub(indent)).join(&format!("\n{:indent$}", ""));
        let _ = writeln!(out, "{head}{found}");
    };

    check_machine(&mut report);
    check_private(settings, here, &mut report);
    check_git(here, &mut report);
    check_history(&settings.store.value, &mut report);
    if settings.command.value.is_empty() {
        report(Health::Bad, "command", "none given, and none found for the files here");
        need_command(settings)?;
    }
    report(Health::Good, "command", &format!("{} ({})", settings.command.value.join(" "), settings.command.from));
    match check_runner(settings, &mut report)? {
        Exit::Success if settings.engine.value != EngineChoice::Local => check_machines(settings, context, &mut report),
        exit => Ok(exit),
    }
}

/// Whether sessions can run where the settings say.
fn check_machines(
    settings: &Settings,
    context: &Context,
    report: &mut impl FnMut(Health, &str, &str),
) -> Result<Exit, CommandError> {
    match machines::state(settings) {
        Ok(state) => report(Health::Good, "engine", &state),
        Err(why) => {
            report(Health::Bad, "engine", &why);
            return Ok(Exit::Runner);
        }
    }
    match machines::probe(settings, context)? {
        Ok(result) => report(Health::Good, "sessions", &result),
        Err(why) => {
            report(Health::Bad, "sessions", &why);
            return Ok(Exit::Runner);
        }
    }
    Ok(Exit::Success)
}

fn check_machine(report: &mut impl FnMut(Health, &str, &str)) {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    if cfg!(target_os = "linux") {
        report(Health::Good, "machine", &format!("Linux, {cores} cores; processes that tests leave running are ended"));
    } else {
        let os = std::env::consts::OS;
        report(
            Health::Lacking,
            "machine",
            &format!("{os}, {cores} cores; processes that tests leave running are not found"),
        );
    }
}

/// What runs side by side have of their own here, and what they share.
fn check_private(settings: &Settings, here: &Path, report: &mut impl FnMut(Health, &str, &str)) {
    let Some(request) = private(settings, here) else {
        return report(Health::Lacking, "private", "nothing, by the setting `private`: runs side by side share all");
    };
    let Ok(place) = tempfile::tempdir() else { return };
    let (plan, shared) = PrivatePlan::make(&request, place.path());
    let parts = plan.map(|plan| plan.parts).unwrap_or_default();
    let wanted = PrivatePart::ALL.into_iter().filter(|part| !parts.has(*part));
    let texts: Vec<&str> = wanted.map(PrivatePart::shared_text).collect();
    match (&shared[..], &texts[..]) {
        ([], []) => report(Health::Good, "private", "files, ports and shared memory of runs side by side"),
        ([], texts) => {
            report(Health::Good, "private", &format!("{parts}; runs side by side share {}", texts.join(", ")))
        }
        ([(_, why), ..], texts) => {
            report(Health::Lacking, "private", &format!("runs side by side share {}: {why}", texts.join(", ")));
        }
    }
}

fn check_git(here: &Path, report: &mut impl FnMut(Health, &str, &str)) {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(here).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    match (git(&["--version"]), git(&["rev-parse", "--short", "HEAD"])) {
        (Some(version), Some(commit)) => report(Health::Good, "git", &format!("{version}, HEAD at {commit}")),
        (Some(version), None) => {
            report(
                Health::Lacking,
                "git",
                &format!("{version}, not a repository: attempts are recorded without a revision"),
            );
        }
        (None, _) => report(Health::Lacking, "git", "not found: attempts are recorded without a revision"),
    }
}

fn check_history(place: &StoreLocation, report: &mut impl FnMut(Health, &str, &str)) {
    if !place.is_server() && !place.dir.exists() {
        return report(Health::Good, "history", &format!("none yet; the first run creates it in {place}"));
    }
    match Store::open(place).and_then(|store| Ok((store.runs(usize::MAX)?.len(), store.location_text()))) {
        Ok((runs, place)) => report(Health::Good, "history", &format!("{runs} runs in {place}")),
        Err(error @ (StoreError::Newer { .. } | StoreError::Corrupt { .. } | StoreError::Foreign { .. })) => {
            report(Health::Bad, "history", &error.to_string());
        }
        Err(error) => report(Health::Lacking, "history", &error.to_string()),
    }
}

fn check_runner(settings: &Settings, report: &mut impl FnMut(Health, &str, &str)) -> Result<Exit, CommandError> {
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
                    let how = if driven { "started by a driver" } else { "agent injected" };
                    report(Health::Good, "runner", &format!("{} on {}, {how}", up.runner, up.language));
                    if let Some(support) = unflake_runners::trace_support(&up.language) {
                        let health = if support.good { Health::Good } else { Health::Lacking };
                        report(health, "traces", support.description);
                    }
                }
                Event::TestsListed { tests: all, .. } => tests = all.len(),
                Event::Note(note) => report(Health::Lacking, "note", note),
                Event::Problem(problem) => problems.push(problem.clone()),
                _ => {}
            }
        }
    });
    for problem in &problems {
        let place = problem.place.as_ref().map(|place| format!("{place}\n")).unwrap_or_default();
        report(Health::Bad, "problem", &format!("{place}{}", problem.text.trim_end()));
    }
    let forkable = exec.unforkable().map(str::to_owned);
    let isolated = exec.is_isolated();
    exec.close(0, &mut |_| {});
    if !listed {
        return Ok(Exit::Runner);
    }
    match tests {
        0 => report(Health::Bad, "tests", "none found"),
        _ => report(Health::Good, "tests", &format!("{tests} collected")),
    }
    match forkable {
        None if isolated => {
            report(Health::Good, "isolation", "one process per test, or per group of tests that share one")
        }
        None => report(Health::Good, "isolation", "forks of a collected process, milliseconds each"),
        Some(why) => report(Health::Lacking, "isolation", &format!("a new process each, because {why}")),
    }
    Ok(if tests == 0 { Exit::NoTests } else { Exit::Success })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_wrapped_between_words() {
        assert_eq!(wrapped("one two three\nfour", 8), ["one two", "three", "four"]);
        assert_eq!(wrapped("incomprehensible", 8), ["incomprehensible"]);
        assert_eq!(wrapped("one two", usize::MAX), ["one two"]);
    }
}
