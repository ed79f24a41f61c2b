//! Lists the source files and lines that an attempt executed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::trace::attempt::{Process, TracedAttempt};
use crate::trace::lines::{Lines, Project};
use crate::trace::thread::TruncationReason;

/// The project's files that an attempt executed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecutedCode {
    /// Relative to the root of the project.
    pub files: BTreeSet<PathBuf>,
    /// Why the list may be incomplete; empty if it contains everything that instrumented code
    /// executed.
    pub gaps: Vec<String>,
}

impl ExecutedCode {
    pub fn is_complete(&self) -> bool {
        self.gaps.is_empty()
    }

    /// From a symbolised attempt. All frames of a place count, including inlined ones.
    /// Uninstrumented code (dependencies, other programs, data files) is not visible here.
    pub fn of(attempt: &TracedAttempt, project: &Project) -> ExecutedCode {
        let mut executed = ExecutedCode { gaps: attempt.problems.clone(), ..ExecutedCode::default() };
        if attempt.processes.is_empty() {
            executed.gaps.push("no instrumented process took part".to_owned());
        }
        let mut seen = BTreeSet::new();
        for process in &attempt.processes {
            executed.gaps.extend(gaps(process));
            match process.places() {
                Ok(places) => {
                    executed.gaps.extend(places.notes.iter().cloned());
                    for (_, place) in places.iter() {
                        for frame in place.iter().filter(|frame| !seen.contains(&frame.file)) {
                            executed.files.extend(project.own(&frame.file));
                        }
                        seen.extend(place.iter().map(|frame| frame.file.clone()));
                    }
                }
                Err(error) => executed.gaps.push(error.to_string()),
            }
        }
        executed.gaps.sort();
        executed.gaps.dedup();
        executed
    }
}

impl ExecutedCode {
    /// The project's lines at which executed blocks begin, by file, and what is missing from them. From a
    /// symbolised attempt.
    pub fn lines(attempt: &TracedAttempt, project: &Project) -> (BTreeMap<PathBuf, BTreeSet<u32>>, Vec<String>) {
        let (mut found, mut gaps) = (BTreeMap::<PathBuf, BTreeSet<u32>>::new(), BTreeSet::new());
        gaps.extend(attempt.problems.iter().cloned());
        for process in &attempt.processes {
            gaps.extend(self::gaps(process));
            match process.places() {
                Ok(places) => {
                    gaps.extend(places.notes.iter().cloned());
                    for line in Lines::new(&places, project).all() {
                        found.entry(line.file.to_path_buf()).or_default().insert(line.line);
                    }
                }
                Err(error) => {
                    gaps.insert(error.to_string());
                }
            }
        }
        (found, gaps.into_iter().collect())
    }
}

/// What is missing from the files of a process.
fn gaps(process: &Process) -> Vec<String> {
    let mut gaps = process.lost.clone();
    for thread in &process.threads {
        if let Some(truncated) = &thread.head.truncated {
            let why = match truncated.why {
                TruncationReason::ThreadLimit => "the limit of a thread was reached".to_owned(),
                TruncationReason::AttemptLimit => "the limit of the whole attempt was reached".to_owned(),
                TruncationReason::NoRoom(error) => std::io::Error::from_raw_os_error(error as i32).to_string(),
                TruncationReason::Taken => "another tracer took over".to_owned(),
            };
            gaps.push(format!("{}: truncated, {} events are missing: {why}", thread.key, truncated.dropped));
        }
    }
    gaps
}
