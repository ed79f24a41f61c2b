//! A project in a temporary directory, an engine for it, and all emitted events.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use unflake_engine::{Engine, Launch};
use unflake_model::{Event, Isolation, Outcome, Probe, Purpose, Session, SessionId, TestId};

pub(crate) struct EngineProject {
    pub(crate) engine: Option<Engine>,
    root: TempDir,
    cache: TempDir,
    pub(crate) events: Vec<Event>,
    session_count: u32,
}

impl EngineProject {
    /// With the agent whose tests are scripted.
    pub(crate) fn scripted(tests: Value, jobs: usize) -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("tests.json"), tests.to_string()).unwrap();
        let agent = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions/agent.py");
        let words = ["python3".into(), agent.to_string_lossy().into_owned(), "tests.json".into()];
        Self::new(root, words.to_vec(), jobs)
    }

    /// With pytest, configured to stop at the first failure.
    pub(crate) fn of_pytest(tests: &str, jobs: usize) -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("test_it.py"), tests).unwrap();
        let named = std::env::var_os("UNFLAKE_TEST_PYTHON").map(PathBuf::from);
        let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venvs/e2e/bin/python");
        let python = named.unwrap_or(usual);
        assert!(python.is_file(), "no Python with pytest: run `python3 e2e/setup.py` once, or set UNFLAKE_TEST_PYTHON");
        let words =
            [&python.to_string_lossy(), "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"].map(str::to_owned);
        Self::new(root, words.to_vec(), jobs)
    }

    fn new(root: TempDir, command: Vec<String>, jobs: usize) -> Self {
        std::env::set_current_dir(root.path()).unwrap();
        let cache = tempfile::tempdir().unwrap();
        let myself = std::env::current_exe().unwrap().to_string_lossy().into_owned();
        let selection = unflake_runners::select(&[], &unflake_runners::RunnerOptions::default());
        let mut engine = Engine::new(Launch {
            private: None,
            remote: None,
            machine: None,
            session_seeds: None,
            command,
            driver: None,
            agents: selection.agents(),
            caches: selection.caches(),
            explain_missed_agent: unflake_runners::explain_missed_agent,
            supervisor: vec![myself, "supervise".to_owned()],
            cache: Some(cache.path().to_owned()),
            spread: false,
            suite: false,
            began: Instant::now(),
            time: None,
            traced: None,
            layers: Vec::new(),
            filter: false,
            depends: None,
            installed: false,
            builds: None,
            directory: None,
            jobs,
            timeout: Some(Duration::from_secs(3)),
            output_limit: 10_000,
        })
        .unwrap();
        let mut events = Vec::new();
        assert!(engine.list(&mut |batch| events.extend_from_slice(batch)), "{events:?}");
        Self { engine: Some(engine), root, cache, events, session_count: 0 }
    }

    /// The path of a project file.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Names and contents of the backups of restored files.
    pub(crate) fn backups(&self) -> Vec<String> {
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

    pub(crate) fn engine(&mut self) -> &mut Engine {
        self.engine.as_mut().unwrap()
    }

    /// Runs a batch of sessions, each written as `a b | v`: prefix a b, then v.
    pub(crate) fn run(&mut self, sessions: &[&str]) -> &mut Self {
        let sessions = sessions.iter().map(|text| (*text, None)).collect();
        self.run_with(sessions)
    }

    pub(crate) fn run_with(&mut self, sessions: Vec<(&str, Option<Probe>)>) -> &mut Self {
        let sessions = self.sessions(sessions);
        let events = &mut self.events;
        self.engine.as_mut().unwrap().run(sessions, &mut |batch| events.extend_from_slice(batch));
        self
    }

    pub(crate) fn sessions(&mut self, sessions: Vec<(&str, Option<Probe>)>) -> Vec<Session> {
        let session = |(text, probe): (&str, Option<Probe>)| {
            self.session_count += 1;
            let words: Vec<&str> = text.split_whitespace().collect();
            let prefix = words.iter().position(|word| *word == "|").unwrap_or(0) as u32;
            let tests = words.into_iter().filter(|word| *word != "|").map(TestId::from).collect();
            let id = SessionId(self.session_count - 1);
            Session { prefix, probe, ..Session::fresh(id, Purpose::Search, Isolation::Fork, tests) }
        };
        sessions.into_iter().map(session).collect()
    }

    /// Each attempt as `session test outcome position`, sorted by session.
    pub(crate) fn attempts(&self) -> Vec<String> {
        let mut attempts: Vec<(u32, String)> = Vec::new();
        for event in &self.events {
            if let Event::AttemptEnded(one) = event {
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

    /// How each session ended: the tests that did not run, and why.
    pub(crate) fn ends(&self) -> Vec<String> {
        let end = |event: &Event| match event {
            Event::SessionEnded { session, left, why } => {
                let left: Vec<&str> = left.iter().map(TestId::as_str).collect();
                Some(format!("{} [{}] {}", session.0, left.join(" "), why.clone().unwrap_or_default()))
            }
            _ => None,
        };
        let mut ends: Vec<String> = self.events.iter().filter_map(end).collect();
        ends.sort();
        ends
    }

    /// Leaked state by session: `session cell before after`, and where it was written.
    pub(crate) fn leaked(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for event in &self.events {
            match event {
                Event::StateLeaked { session, cells, unknown } => {
                    lines.push(format!("{}: {} unknown", session.0, unknown.len()));
                    for cell in cells {
                        let value = |value: &Option<String>| value.clone().unwrap_or("-".to_owned());
                        let written = cell.written.as_ref().map(|at| format!(" at {}:{}", at.file, at.line));
                        let (before, after) = (value(&cell.before), value(&cell.after));
                        let (session, written) = (session.0, written.unwrap_or_default());
                        lines.push(format!("{session} {} {before} {after}{written}", cell.path));
                    }
                }
                Event::RestoreFailed { session, cells } => {
                    lines.extend(cells.iter().map(|(cell, why)| format!("{} {cell}: {why}", session.0)));
                }
                _ => {}
            }
        }
        lines.sort();
        lines
    }

    pub(crate) fn notes(&self) -> Vec<&str> {
        let notes = self.events.iter().map(|event| match event {
            Event::Note(text) => Some(text.as_str()),
            _ => None,
        });
        notes.flatten().collect()
    }

    /// Number of processes below this one.
    pub(crate) fn processes(&self) -> usize {
        below(std::process::id()).len()
    }

    /// Closes the engine. No process may be left.
    pub(crate) fn close(&mut self) {
        let events = &mut self.events;
        self.engine.take().unwrap().close(0, &mut |batch| events.extend_from_slice(batch));
        let all_exited = comes_true(|| below(std::process::id()).is_empty());
        assert!(all_exited, "processes are left: {:?}", below(std::process::id()));
    }
}

/// Whether a condition becomes true within ten seconds.
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
