//! Tests at the base: the same command in a temporary working tree of another revision.

use std::path::{Path, PathBuf};

use unflake_engine::{Engine, Launch};
use unflake_model::{Dependencies, Observation, Session, SessionId, TestId};

use crate::commands::run::change_set::Compare;
use crate::commands::run::command::stop_on_signals;

/// Runs the sessions with the files of `revision`. What cannot be run there, or runs files of the user's own tree even
/// there, is left with a reason.
pub(crate) fn run(compare: &Compare, revision: &str, launch: &Launch, sessions: Vec<Session>) -> Vec<Observation> {
    let asked: Vec<(SessionId, Vec<TestId>)> = sessions.iter().map(|one| (one.id, one.tests.clone())).collect();
    match heard(compare, revision, launch, sessions) {
        Ok(seen) => seen,
        Err(why) => {
            let left = |(session, left)| Observation::SessionEnded { session, left, why: Some(why.clone()) };
            asked.into_iter().map(left).collect()
        }
    }
}

fn heard(
    compare: &Compare,
    revision: &str,
    launch: &Launch,
    sessions: Vec<Session>,
) -> Result<Vec<Observation>, String> {
    let repository = compare.repository()?;
    let root = repository.root();
    let here = compare.here.canonicalize().map_err(|error| error.to_string())?;
    let below = here.strip_prefix(root).map_err(|_| "it is not clear where in the repository this is".to_owned())?;
    let place = std::env::temp_dir();
    let tree = repository.worktree(revision, &place).map_err(|error| error.to_string())?;
    let directory = tree.path().join(below);
    let launch = Launch {
        command: command(&launch.command, &here),
        directory: Some(directory),
        layers: Vec::new(),
        filter: false,
        ..launch.clone()
    };

    let mut seen = Vec::new();
    let mut exec = Engine::new(launch).map_err(|error| error.to_string())?;
    stop_on_signals(&exec).map_err(|trouble| trouble.to_string())?;
    if exec.list(&mut |batch| seen.extend_from_slice(batch)) {
        seen.clear();
        exec.run(sessions, &mut |batch| seen.extend_from_slice(batch));
        let mut rest = Vec::new();
        exec.close(0, &mut |batch| rest.extend_from_slice(batch));
        return Ok(judged(seen, root, tree.path()));
    }
    let problem = seen.iter().find_map(|one| match one {
        Observation::Problem(problem) => Some(problem.text.lines().next().unwrap_or_default().to_owned()),
        _ => None,
    });
    Err(problem.unwrap_or_else(|| "the runner did not list its tests there".to_owned()))
}

/// A program that is named by its way from here is not in the other tree if it is ignored, as virtual environments are.
fn command(words: &[String], here: &Path) -> Vec<String> {
    let mut words = words.to_vec();
    if let Some(program) = words.first_mut()
        && program.contains('/')
        && here.join(&*program).is_file()
    {
        *program = here.join(&*program).to_string_lossy().into_owned();
    }
    words
}

/// Only attempts that used the base's own files count.
fn judged(seen: Vec<Observation>, root: &Path, tree: &Path) -> Vec<Observation> {
    let mut kept = Vec::new();
    let mut refused: Vec<(SessionId, String)> = Vec::new();
    for one in seen {
        match one {
            Observation::Depends { session, on, .. } => {
                if let Some(why) = elsewhere(&on, root, tree) {
                    refused.push((session, why));
                }
            }
            Observation::Attempted(attempt) if refused.iter().any(|(session, _)| *session == attempt.session) => {}
            Observation::SessionEnded { session, mut left, why } => {
                let reason = refused.iter().find(|(one, _)| *one == session).map(|(_, why)| why.clone());
                if reason.is_some() && left.is_empty() {
                    left.push(TestId::new("?"));
                }
                kept.push(Observation::SessionEnded { session, left, why: reason.or(why) });
            }
            Observation::Started { .. } | Observation::Attempted(_) => kept.push(one),
            _ => {}
        }
    }
    kept
}

/// Why an attempt was not one with the files of the base.
fn elsewhere(on: &Dependencies, root: &Path, tree: &Path) -> Option<String> {
    let mut used =
        on.outside.iter().map(PathBuf::from).filter(|path| path.starts_with(root) && !path.starts_with(tree));
    if let Some(path) = used.next() {
        let name = path.strip_prefix(root).unwrap_or(&path).display();
        let hint = unflake_runners::base_worktree_hint();
        return Some(format!("even there it uses {name} of your working tree ({hint})"));
    }
    on.unknown.first().map(|why| format!("which files it used there is unknown: {why}"))
}
