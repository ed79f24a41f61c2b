//! Sessions that are compared with each other find the same files. After each, what it changed in the project is put back; once one
//! is seen to write there, they run one at a time, and those that ran beside it are repeated.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use unflake_model::{Observation, Session, SessionId};

use crate::active_session::Work;
use crate::engine::Engine;
use crate::project_files::backup::Displaced;
use crate::project_files::snapshot::Files;

/// Where in the run's directory files are kept.
pub(crate) const FILES: &str = "files";
/// How long processes that are killed may take to end.
const THEY_END: Duration = Duration::from_millis(200);
/// So many names are told; more are only counted.
const NAMED: usize = 5;

#[derive(Default)]
pub(crate) struct Guard {
    files: Looked,
    one_at_a_time: bool,
    /// What is not told before it is known whether another session was in the way.
    held: BTreeMap<SessionId, Vec<Observation>>,
}

#[derive(Default)]
enum Looked {
    #[default]
    NotYet,
    Kept(Box<Files>),
    /// There is too much of it.
    Never,
}

/// A session that runs while files are looked after.
pub(crate) struct Window {
    /// Others ran at the same time.
    crowded: bool,
}

impl Guard {
    fn files(&mut self) -> Option<&mut Files> {
        match &mut self.files {
            Looked::Kept(files) => Some(files),
            Looked::NotYet | Looked::Never => None,
        }
    }

    /// Takes out what is not to be told yet.
    pub(crate) fn hold_back(&mut self, seen: &mut Vec<Observation>) {
        if self.held.is_empty() {
            return;
        }
        for observation in std::mem::take(seen) {
            match session_of(&observation).and_then(|session| self.held.get_mut(&session)) {
                Some(held) => held.push(observation),
                None => seen.push(observation),
            }
        }
    }
}

/// That a test has begun is told at once, for whoever looks on.
fn session_of(observation: &Observation) -> Option<SessionId> {
    match observation {
        Observation::Attempted(attempt) => Some(attempt.session),
        Observation::Depends { session, .. }
        | Observation::Left { session, .. }
        | Observation::NotRestored { session, .. }
        | Observation::SessionEnded { session, .. } => Some(*session),
        _ => None,
    }
}

impl Engine {
    /// Whether a session need not wait for another to end.
    pub(crate) fn may_begin(&self, work: &Work) -> bool {
        let alone = self.guard.one_at_a_time && work.is_compared();
        !alone || !self.works.iter().any(|placed| placed.work.is_compared())
    }

    /// A session is about to have its first order.
    pub(crate) fn open_window(&mut self, at: usize) {
        if self.works[at].window.is_some() || !self.works[at].work.is_compared() {
            return;
        }
        if matches!(self.guard.files, Looked::NotYet) {
            self.look_at_files();
        }
        let crowded = self.works.iter().any(|placed| placed.window.is_some());
        let Some(files) = self.guard.files() else { return };
        // What changed while nothing ran is as somebody wants it.
        if !crowded
            && files.may_have_changed()
            && let Err(why) = files.adopt()
        {
            return self.leave_files(&why);
        }
        if !crowded {
            files.open();
        }
        self.works.iter_mut().filter_map(|placed| placed.window.as_mut()).for_each(|window| window.crowded = true);
        self.works[at].window = Some(Window { crowded });
        let company = self.works.len() > 1 || self.waiting.iter().any(Work::is_compared);
        if self.launch.jobs > 1 && company && !self.guard.one_at_a_time {
            self.guard.held.insert(self.works[at].work.session.id, Vec::new());
        }
    }

    fn look_at_files(&mut self) {
        let root = PathBuf::from(&self.suite.root);
        let here = self.launch.directory.clone().or_else(|| std::env::current_dir().ok());
        // Files in the language of the tests are edited by people; a test that changes one that was there is rare.
        let hold_tests = self.suite.tests.iter().filter_map(|test| test.file.as_deref().map(Path::new));
        let source: BTreeSet<OsString> = hold_tests.filter_map(|file| file.extension()).map(Into::into).collect();
        let roots: Vec<PathBuf> = [root].into_iter().chain(here).filter(|path| path.is_absolute()).collect();
        let temporary = std::env::temp_dir();
        let displaced = Displaced::new(self.launch.cache.as_deref().unwrap_or(&temporary));
        match Files::look(&roots, source, &self.launch.caches, &self.directory.path().join(FILES), displaced) {
            Ok(files) => self.guard.files = Looked::Kept(Box::new(files)),
            Err(why) => self.leave_files(&why),
        }
    }

    fn leave_files(&mut self, why: &str) {
        self.guard.files = Looked::Never;
        self.seen.push(Observation::Note(format!("files that tests change are not put back between runs: {why}")));
    }

    /// Whether files have changed since this session began.
    pub(crate) fn has_written(&mut self, at: usize) -> bool {
        let in_window = self.works[at].window.is_some();
        self.guard.files().is_some_and(|files| in_window && files.may_have_changed())
    }

    /// Whether others ran beside it.
    pub(crate) fn is_crowded(&self, at: usize) -> bool {
        self.works[at].window.as_ref().is_some_and(|window| window.crowded)
    }

    /// A session is over. What was held back of it is told, or it is repeated.
    pub(crate) fn close_window(&mut self, session: Session, window: Window) {
        let written = self.guard.files().is_some_and(Files::may_have_changed);
        if written && !std::mem::replace(&mut self.guard.one_at_a_time, true) {
            self.go_one_by_one();
        }
        self.guard.hold_back(&mut self.seen);
        let held = self.guard.held.remove(&session.id);
        match held {
            Some(_) if written && window.crowded && self.stopped().is_none() => {
                self.tree.open_dead_ends();
                self.waiting.push_front(Work::new(session, !self.suite.isolated));
            }
            held => self.seen.extend(held.into_iter().flatten()),
        }
        let all_closed = !self.works.iter().any(|placed| placed.window.is_some());
        if let Some(files) = self.guard.files().filter(|_| all_closed) {
            let restored = if written { files.restore() } else { Ok(()) };
            files.close();
            if let Err(why) = restored {
                self.leave_files(&why);
            }
        }
    }

    /// Sessions that have not begun wait for their turn, and states that were reached in company are not used.
    fn go_one_by_one(&mut self) {
        if self.launch.jobs < 2 {
            return;
        }
        let note = "tests write files into the project: sessions that are compared run one at a time from here on, and \
                    those that were in each other's way are repeated";
        self.seen.push(Observation::Note(note.to_owned()));
        self.tree.leave_all();
        while let Some(at) = self.works.iter().position(|placed| placed.window.is_none() && placed.work.is_compared()) {
            let placed = self.works.remove(at);
            if let Some(environment) = placed.environment.and_then(|id| self.environments.get_mut(&id)) {
                environment.end();
            }
            self.waiting.push_front(Work::new(placed.work.session, !self.suite.isolated));
        }
    }

    /// Says what has been done to files. All have ended.
    pub(crate) fn tell_of_files(&mut self) {
        let Some(files) = self.guard.files() else { return };
        let mut notes = Vec::new();
        if !files.put_back.is_empty() {
            let place = files.displaced().map(|place| format!("; what was in them is in {}", place.display()));
            let names = named(&files.put_back);
            notes.push(format!(
                "files that changed while tests ran were put back: {names}{}",
                place.unwrap_or_default()
            ));
        }
        if !files.left.is_empty() {
            let names = named(&files.left);
            notes.push(format!("files that changed while tests ran were left as they are now: {names}"));
        }
        self.seen.extend(notes.into_iter().map(Observation::Note));
    }
}

impl Drop for Engine {
    /// Where something went wrong inside unflake, sessions may be under way: they end, and files are put back.
    fn drop(&mut self) {
        if self.works.iter().any(|placed| placed.window.is_some()) {
            self.environments.values_mut().for_each(|environment| environment.kill());
            std::thread::sleep(THEY_END);
            let _ = self.guard.files().map(Files::restore);
        }
    }
}

fn named(paths: &BTreeSet<PathBuf>) -> String {
    let names: Vec<String> = paths.iter().take(NAMED).map(|path| path.display().to_string()).collect();
    let more = paths.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    names.join(", ") + &more
}
