//! Runs tests at the merge base: the same command in a temporary working tree of another revision.

use std::path::{Path, PathBuf};

use unflake_engine::{Engine, Launch};
use unflake_model::{Dependencies, Event, Session, SessionId, TestId};

use crate::interrupt::stop_on_signals;
use crate::project::comparison::ComparisonBase;

/// Runs the sessions with the files of `revision`. A session that cannot be run there, or that uses
/// files of the user's own working tree, ends with its tests not run and the reason.
pub(crate) fn run(compare: &ComparisonBase, revision: &str, launch: &Launch, sessions: Vec<Session>) -> Vec<Event> {
    let asked: Vec<(SessionId, Vec<TestId>)> = sessions.iter().map(|one| (one.id, one.tests.clone())).collect();
    match observe(compare, revision, launch, sessions) {
        Ok(observed) => observed,
        Err(why) => {
            let left = |(session, left)| Event::SessionEnded { session, left, why: Some(why.clone()) };
            asked.into_iter().map(left).collect()
        }
    }
}

fn observe(
    compare: &ComparisonBase,
    revision: &str,
    launch: &Launch,
    sessions: Vec<Session>,
) -> Result<Vec<Event>, String> {
    let repository = compare.repository()?;
    let root = repository.root();
    let here = compare.here.canonicalize().map_err(|error| error.to_string())?;
    let below = here.strip_prefix(root).map_err(|_| "the path within the repository is unknown".to_owned())?;
    let temporary = std::env::temp_dir();
    let tree = repository.worktree(revision, &temporary).map_err(|error| error.to_string())?;
    let directory = tree.path().join(below);
    let launch = Launch {
        remote: None,
        command: command(&launch.command, &here),
        builds: None,
        directory: Some(directory),
        layers: Vec::new(),
        filter: false,
        ..launch.clone()
    };

    let mut observed = Vec::new();
    let mut engine = Engine::new(launch).map_err(|error| error.to_string())?;
    stop_on_signals(&engine).map_err(|error| error.to_string())?;
    if engine.list(&mut |batch| observed.extend_from_slice(batch)) {
        observed.clear();
        engine.run(sessions, &mut |batch| observed.extend_from_slice(batch));
        let mut rest = Vec::new();
        engine.close(0, &mut |batch| rest.extend_from_slice(batch));
        return Ok(only_of_base(observed, root, tree.path()));
    }
    let problem = observed.iter().find_map(|one| match one {
        Event::Problem(problem) => Some(problem.text.lines().next().unwrap_or_default().to_owned()),
        _ => None,
    });
    Err(problem.unwrap_or_else(|| "the runner did not list its tests there".to_owned()))
}

/// The command with the path of its program made absolute: a virtual environment is ignored by git,
/// and not in the other tree.
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

/// Drops attempts that used files of the user's working tree.
fn only_of_base(observed: Vec<Event>, root: &Path, tree: &Path) -> Vec<Event> {
    let mut kept = Vec::new();
    let mut refused: Vec<(SessionId, String)> = Vec::new();
    for one in observed {
        match one {
            Event::DependenciesRecorded { session, on, .. } => {
                if let Some(why) = uses_other_files(&on, root, tree) {
                    refused.push((session, why));
                }
            }
            Event::AttemptEnded(attempt) if refused.iter().any(|(session, _)| *session == attempt.session) => {}
            Event::SessionEnded { session, mut left, why } => {
                let reason = refused.iter().find(|(one, _)| *one == session).map(|(_, why)| why.clone());
                if reason.is_some() && left.is_empty() {
                    left.push(TestId::new("?"));
                }
                kept.push(Event::SessionEnded { session, left, why: reason.or(why) });
            }
            Event::AttemptStarted { .. } | Event::AttemptEnded(_) => kept.push(one),
            _ => {}
        }
    }
    kept
}

/// Why an attempt did not use only the files of the base.
fn uses_other_files(on: &Dependencies, root: &Path, tree: &Path) -> Option<String> {
    let mut used =
        on.outside.iter().map(PathBuf::from).filter(|path| path.starts_with(root) && !path.starts_with(tree));
    if let Some(path) = used.next() {
        let name = path.strip_prefix(root).unwrap_or(&path).display();
        let hint = unflake_runners::base_worktree_hint();
        return Some(format!("even there it uses {name} of your working tree ({hint})"));
    }
    // Every attempt there is examined, also the earlier ones.
    let unknown = on.unknown.iter().find(|why| *why != Dependencies::HIDDEN_BY_EARLIER);
    unknown.map(|why| format!("which files it used there is unknown: {why}"))
}
