//! A project in a temporary directory, an executor for it, and all that was told.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use unflake_engine::{Engine, Launch};
use unflake_model::{Isolation, Observation, Outcome, Probe, Purpose, Session, SessionId, TestId};

pub(crate) struct World {
    pub(crate) exec: Option<Engine>,
    project: TempDir,
    cache: TempDir,
    pub(crate) told: Vec<Observation>,
    sessions: u32,
}

impl World {
    /// With the agent whose tests say what they do.
    pub(crate) fn of_cells(tests: Value, jobs: usize) -> Self {
        let project = tempfile::tempdir().unwrap();
        fs::write(project.path().join("tests.json"), tests.to_string()).unwrap();
        let agent = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/states/agent.py");
        let words = ["python3".into(), agent.to_string_lossy().into_owned(), "tests.json".into()];
        Self::begin(project, words.to_vec(), jobs)
    }

    /// With pytest, which the user has told to stop at the first failure.
    pub(crate) fn of_pytest(tests: &str, jobs: usize) -> Self {
        let project = tempfile::tempdir().unwrap();
        fs::write(project.path().join("test_it.py"), tests).unwrap();
        let named = std::env::var_os("UNFLAKE_TEST_PYTHON").map(PathBuf::from);
        let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venvs/e2e/bin/python");
        let python = named.unwrap_or(usual);
        assert!(python.is_file(), "no Python with pytest: run `python3 e2e/setup.py` once, or set UNFLAKE_TEST_PYTHON");
        let words =
            [&python.to_string_lossy(), "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"].map(str::to_owned);
        Self::begin(project, words.to_vec(), jobs)
    }

    fn begin(project: TempDir, command: Vec<String>, jobs: usize) -> Self {
        std::env::set_current_dir(project.path()).unwrap();
        let cache = tempfile::tempdir().unwrap();
        let myself = std::env::current_exe().unwrap().to_string_lossy().into_owned();
        let mut exec = Engine::new(Launch {
            command,
            driver: None,
            agents: unflake_runners::select(&[], &unflake_runners::RunnerOptions::default()).agents(),
            caches: unflake_runners::caches(),
            no_runner_hint: String::new(),
            keeper: vec![myself, "keep".to_owned()],
            cache: Some(cache.path().to_owned()),
            suite: false,
            time: None,
            traced: None,
            layers: Vec::new(),
            filter: false,
            depends: None,
            directory: None,
            jobs,
            timeout: Some(Duration::from_secs(3)),
            output_limit: 10_000,
        })
        .unwrap();
        let mut told = Vec::new();
        assert!(exec.list(&mut |batch| told.extend_from_slice(batch)), "{told:?}");
        Self { exec: Some(exec), project, cache, told, sessions: 0 }
    }

    /// A path in the project.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.project.path().join(name)
    }

    /// The names and texts of files that were put back.
    pub(crate) fn displaced(&self) -> Vec<String> {
        let mut found = Vec::new();
        for run in fs::read_dir(self.cache.path().join("displaced")).into_iter().flatten().flatten() {
            for file in fs::read_dir(run.path()).unwrap().flatten() {
                let name = file.file_name().into_string().unwrap();
                found.push(format!("{name}: {}", fs::read_to_string(file.path()).unwrap()));
            }
        }
        found.sort();
        found
    }

    pub(crate) fn exec(&mut self) -> &mut Engine {
        self.exec.as_mut().unwrap()
    }

    /// Runs a batch of sessions, each written as `a b | v`: after a and b, v.
    pub(crate) fn run(&mut self, sessions: &[&str]) -> &mut Self {
        let sessions = sessions.iter().map(|text| (*text, None)).collect();
        self.run_with(sessions)
    }

    pub(crate) fn run_with(&mut self, sessions: Vec<(&str, Option<Probe>)>) -> &mut Self {
        let sessions = self.ask(sessions);
        let told = &mut self.told;
        self.exec.as_mut().unwrap().run(sessions, &mut |batch| told.extend_from_slice(batch));
        self
    }

    pub(crate) fn ask(&mut self, sessions: Vec<(&str, Option<Probe>)>) -> Vec<Session> {
        let session = |(text, probe): (&str, Option<Probe>)| {
            self.sessions += 1;
            let words: Vec<&str> = text.split_whitespace().collect();
            let prefix = words.iter().position(|word| *word == "|").unwrap_or(0) as u32;
            let tests = words.into_iter().filter(|word| *word != "|").map(TestId::from).collect();
            let id = SessionId(self.sessions - 1);
            Session { prefix, probe, ..Session::fresh(id, Purpose::Search, Isolation::Fork, tests) }
        };
        sessions.into_iter().map(session).collect()
    }

    /// Each attempt as `session test outcome position`, those of each session together.
    pub(crate) fn attempts(&self) -> Vec<String> {
        let mut attempts: Vec<(u32, String)> = Vec::new();
        for observation in &self.told {
            if let Observation::Attempted(one) = observation {
                let outcome = match one.outcome {
                    Outcome::Crashed(death) => format!("crashed ({death})"),
                    other => other.word().to_owned(),
                };
                let test = one.test.as_str().rsplit(':').next().unwrap().to_owned();
                attempts.push((one.session.0, format!("{} {test} {outcome} {}", one.session.0, one.position)));
            }
        }
        attempts.sort_by_key(|(session, _)| *session);
        attempts.into_iter().map(|(_, text)| text).collect()
    }

    /// How each session ended: what was left of it, and why.
    pub(crate) fn ends(&self) -> Vec<String> {
        let end = |observation: &Observation| match observation {
            Observation::SessionEnded { session, left, why } => {
                let left: Vec<&str> = left.iter().map(TestId::as_str).collect();
                Some(format!("{} [{}] {}", session.0, left.join(" "), why.clone().unwrap_or_default()))
            }
            _ => None,
        };
        let mut ends: Vec<String> = self.told.iter().filter_map(end).collect();
        ends.sort();
        ends
    }

    /// What was left behind in the states of sessions: `session cell before after`, and where it was written.
    pub(crate) fn left(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for observation in &self.told {
            match observation {
                Observation::Left { session, cells, unknown } => {
                    lines.push(format!("{}: {} unknown", session.0, unknown.len()));
                    for cell in cells {
                        let value = |value: &Option<String>| value.clone().unwrap_or("-".to_owned());
                        let written = cell.written.as_ref().map(|at| format!(" at {}:{}", at.file, at.line));
                        let (before, after) = (value(&cell.before), value(&cell.after));
                        let (session, written) = (session.0, written.unwrap_or_default());
                        lines.push(format!("{session} {} {before} {after}{written}", cell.path));
                    }
                }
                Observation::NotRestored { session, cells } => {
                    lines.extend(cells.iter().map(|(cell, why)| format!("{} {cell}: {why}", session.0)));
                }
                _ => {}
            }
        }
        lines.sort();
        lines
    }

    pub(crate) fn notes(&self) -> Vec<&str> {
        let notes = self.told.iter().map(|observation| match observation {
            Observation::Note(text) => Some(text.as_str()),
            _ => None,
        });
        notes.flatten().collect()
    }

    /// How many processes are below this one.
    pub(crate) fn processes(&self) -> usize {
        below(std::process::id()).len()
    }

    /// Ends everything, and gives what was said to the last. Nothing may be left.
    pub(crate) fn close(&mut self) {
        let told = &mut self.told;
        self.exec.take().unwrap().close(0, &mut |batch| told.extend_from_slice(batch));
        let nobody_is_left = comes_true(|| below(std::process::id()).is_empty());
        assert!(nobody_is_left, "processes are left: {:?}", below(std::process::id()));
    }
}

/// Whether it does within ten seconds.
pub(crate) fn comes_true(what: impl Fn() -> bool) -> bool {
    (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        what()
    })
}

/// The living processes below one.
fn below(ancestor: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
        let fields: Vec<&str> = stat[stat.rfind(')').unwrap() + 2..].split_whitespace().collect();
        if fields[0] != "Z" && fields[1] == ancestor.to_string() {
            found.push(pid);
            found.extend(below(pid));
        }
    }
    found
}
