//! File isolation: sessions that are compared with each other find the same files.
//!
//! After each session the files that it changed are restored, in the project and elsewhere. Once a
//! session is seen to write files, or sessions write to a file of the same name, compared sessions
//! run one at a time, and those that overlapped with it are repeated; their events are held back
//! until it is known that they count.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tracing::{debug, info};
use unflake_model::{Event, Session, SessionId};

use crate::engine::Engine;
use crate::project_files::backup::Backups;
use crate::project_files::snapshot::ProjectSnapshot;
use crate::project_files::temp_names::TempNames;
use crate::project_files::written_elsewhere::WrittenElsewhere;
use crate::session::active::ActiveSession;

/// Name of the directory with copies of project files, in the run directory.
pub(crate) const COPIES_DIR: &str = "files";
/// How long killed processes may take to exit.
const EXIT_DELAY: Duration = Duration::from_millis(200);
/// So many file names are listed in a note; further ones are counted.
const MAX_NAMES: usize = 5;

#[derive(Default)]
pub(crate) struct FileIsolation {
    snapshot: SnapshotStatus,
    /// From the first compared session on, where several may run at once.
    temporary: Option<TempNames>,
    /// Files outside of the project; from the first compared session on.
    elsewhere: Option<WrittenElsewhere>,
    /// Compared sessions run one at a time.
    is_serial: bool,
    /// Events of sessions that may have to be repeated.
    held: BTreeMap<SessionId, Vec<Event>>,
}

#[derive(Default)]
enum SnapshotStatus {
    #[default]
    NotTaken,
    Taken(Box<ProjectSnapshot>),
    /// The project is too large, or a file operation failed.
    Impossible,
}

/// A compared session runs, and its effects on files are observed.
pub(crate) struct FileWindow {
    /// Another compared session ran at the same time.
    is_overlapped: bool,
}

impl FileIsolation {
    fn snapshot(&mut self) -> Option<&mut ProjectSnapshot> {
        match &mut self.snapshot {
            SnapshotStatus::Taken(snapshot) => Some(snapshot),
            SnapshotStatus::NotTaken | SnapshotStatus::Impossible => None,
        }
    }

    /// Whether sessions use files of the same names outside of the project.
    fn has_shared_names(&mut self) -> bool {
        let is_written = self.elsewhere.as_mut().is_some_and(WrittenElsewhere::is_repeated);
        is_written || self.temporary.as_mut().is_some_and(TempNames::is_repeated)
    }

    /// Whether tests have left a port bound, or several sessions bound the same one.
    fn has_shared_ports(&self) -> bool {
        self.elsewhere.as_ref().is_some_and(WrittenElsewhere::has_shared_ports)
    }

    /// Whether files differ from what they were before the sessions that run.
    fn have_changed(&mut self) -> bool {
        let elsewhere = self.elsewhere.as_mut().is_some_and(WrittenElsewhere::has_changes);
        self.snapshot().is_some_and(ProjectSnapshot::may_have_changed) || elsewhere
    }

    fn restore(&mut self) -> Result<(), String> {
        let SnapshotStatus::Taken(snapshot) = &mut self.snapshot else { return Ok(()) };
        if let Some(elsewhere) = &mut self.elsewhere {
            elsewhere.restore(snapshot.backups());
        }
        snapshot.restore()
    }

    /// Files are not restored any more.
    fn disable(&mut self, why: &str) -> Event {
        debug!(why, "project files are not restored");
        self.snapshot = SnapshotStatus::Impossible;
        Event::Note(format!("files that tests change are not restored between runs: {why}"))
    }

    /// Takes out the events that may not count.
    pub(crate) fn hold_back(&mut self, events: &mut Vec<Event>) {
        if self.held.is_empty() {
            return;
        }
        for event in std::mem::take(events) {
            match holdable_session(&event).and_then(|session| self.held.get_mut(&session)) {
                Some(held) => held.push(event),
                None => events.push(event),
            }
        }
    }

    /// What was done to files, for the user.
    pub(crate) fn notes(&mut self) -> Vec<Event> {
        let SnapshotStatus::Taken(snapshot) = &self.snapshot else { return Vec::new() };
        let (mut restored, mut unrestored) = (snapshot.restored.clone(), snapshot.unrestored.clone());
        if let Some(elsewhere) = &self.elsewhere {
            restored.extend(elsewhere.restored.iter().cloned());
            unrestored.extend(elsewhere.unrestored.iter().cloned());
        }
        let mut notes = Vec::new();
        if !restored.is_empty() {
            let place = snapshot.backup_dir().map(|place| format!("; their contents are in {}", place.display()));
            let names = list_names(&restored);
            notes.push(format!(
                "files that changed while tests ran were restored: {names}{}",
                place.unwrap_or_default()
            ));
        }
        if !unrestored.is_empty() {
            let names = list_names(&unrestored);
            notes.push(format!("files that changed while tests ran were not restored: {names}"));
        }
        notes.into_iter().map(Event::Note).collect()
    }
}

/// The session whose repetition would make this event obsolete. `Started` is never held back: it
/// only shows progress.
fn holdable_session(event: &Event) -> Option<SessionId> {
    match event {
        Event::AttemptEnded(attempt) => Some(attempt.session),
        Event::DependenciesRecorded { session, .. }
        | Event::StateLeaked { session, .. }
        | Event::ThreadsDelayed { session, .. }
        | Event::RestoreFailed { session, .. }
        | Event::SessionEnded { session, .. } => Some(*session),
        _ => None,
    }
}

impl Engine {
    /// Whether a session need not wait for the end of another.
    pub(crate) fn may_start(&self, work: &ActiveSession) -> bool {
        let is_alone = self.files.is_serial && work.is_compared();
        !is_alone || !self.sessions.running().any(|placed| placed.work.is_compared())
    }

    /// A session is about to receive its first order.
    pub(crate) fn open_window(&mut self, at: usize) {
        if self.sessions[at].window.is_some() || !self.sessions[at].work.is_compared() {
            return;
        }
        if matches!(self.files.snapshot, SnapshotStatus::NotTaken) {
            self.take_file_snapshot();
            if self.starter.launch().jobs > 1 {
                let directories = BTreeSet::from([std::env::temp_dir(), PathBuf::from("/tmp")]);
                self.files.temporary = Some(TempNames::watch(&Vec::from_iter(directories)));
            }
            self.files.elsewhere = Some(WrittenElsewhere::new(self.starter.run_dir()));
        }
        let is_overlapped = self.sessions.has_window();
        let Some(snapshot) = self.files.snapshot() else { return };
        // A change while nothing ran was made on purpose.
        if !is_overlapped
            && snapshot.may_have_changed()
            && let Err(why) = snapshot.adopt()
        {
            return self.events.push(self.files.disable(&why));
        }
        if !is_overlapped {
            snapshot.mark_open();
        }
        self.sessions
            .running_mut()
            .filter_map(|placed| placed.window.as_mut())
            .for_each(|one| one.is_overlapped = true);
        self.sessions[at].window = Some(FileWindow { is_overlapped });
        let has_company = self.sessions.len() > 1 || self.sessions.waiting().any(ActiveSession::is_compared);
        if self.starter.launch().jobs > 1 && has_company && !self.files.is_serial {
            self.files.held.insert(self.sessions[at].work.session.id, Vec::new());
        }
    }

    fn take_file_snapshot(&mut self) {
        let (launch, listing) = (self.starter.launch(), self.suite.listing());
        let root = PathBuf::from(&listing.root);
        let here = launch.directory.clone().or_else(|| std::env::current_dir().ok());
        // People edit files in the language of the tests; a test that changes an existing one is
        // rare.
        let test_files = listing.tests.iter().filter_map(|test| test.file.as_deref().map(Path::new));
        let source: BTreeSet<OsString> = test_files.filter_map(|file| file.extension()).map(Into::into).collect();
        let roots: Vec<PathBuf> = [root].into_iter().chain(here).filter(|path| path.is_absolute()).collect();
        let temporary = std::env::temp_dir();
        let backups = Backups::new(launch.cache.as_deref().unwrap_or(&temporary));
        match ProjectSnapshot::take(&roots, source, &launch.caches, &self.starter.run_dir().join(COPIES_DIR), backups) {
            Ok(snapshot) => {
                debug!(?roots, "snapshot of the project files taken");
                self.files.snapshot = SnapshotStatus::Taken(Box::new(snapshot));
            }
            Err(why) => self.events.push(self.files.disable(&why)),
        }
    }

    /// Whether files have changed since this session started.
    pub(crate) fn has_written(&mut self, at: usize) -> bool {
        self.sessions[at].window.is_some() && self.files.have_changed()
    }

    /// Whether another compared session ran at the same time.
    pub(crate) fn is_overlapped(&self, at: usize) -> bool {
        self.sessions[at].window.as_ref().is_some_and(|window| window.is_overlapped)
    }

    /// A session has ended. Its held events are emitted, or it is repeated.
    pub(crate) fn close_window(&mut self, session: Session, window: FileWindow) {
        let has_written = self.files.have_changed();
        let may_meet = has_written || self.files.has_shared_names();
        if may_meet && !std::mem::replace(&mut self.files.is_serial, true) {
            self.run_serially(match has_written {
                _ if self.files.has_shared_ports() => "tests bind ports that other sessions need",
                true => "tests write files that outlive them",
                false => "tests use files of the same names outside of the project",
            });
        }
        self.files.hold_back(&mut self.events);
        match self.files.held.remove(&session.id) {
            Some(_) if may_meet && window.is_overlapped && self.stop.reason().is_none() => {
                debug!(session = session.id.0, "files changed while other sessions ran: session requeued");
                self.fork_tree.clear_unreachable();
                self.sessions.requeue(session);
            }
            held => self.events.extend(held.into_iter().flatten()),
        }
        if !self.sessions.has_window() {
            let restored = if has_written { self.files.restore() } else { Ok(()) };
            self.files.snapshot().into_iter().for_each(|snapshot| snapshot.mark_closed());
            if let Err(why) = restored {
                self.events.push(self.files.disable(&why));
            }
        }
    }

    /// Sessions that have not started wait for their turn, and states that were reached while other
    /// sessions ran are not used.
    fn run_serially(&mut self, why: &str) {
        if self.starter.launch().jobs < 2 {
            return;
        }
        info!(why, "compared sessions run one at a time from here on");
        let note = format!(
            "{why}: sessions that are compared run one at a time from here on, and those that were in each other's way \
             are repeated"
        );
        self.events.push(Event::Note(note));
        self.fork_tree.retire_all();
        while let Some(at) = self.sessions.position(|placed| placed.window.is_none() && placed.work.is_compared()) {
            let placed = self.sessions.remove(at);
            if let Some(environment) = placed.environment.and_then(|id| self.environments.get_mut(id)) {
                environment.end();
            }
            debug!(parent: &placed.work.span, "session requeued");
            self.sessions.requeue(placed.work.session);
        }
    }
}

impl Drop for Engine {
    /// After a panic sessions may still run: kills them and restores files.
    fn drop(&mut self) {
        if self.sessions.has_window() {
            self.environments.kill_all();
            std::thread::sleep(EXIT_DELAY);
            let _ = self.files.restore();
        }
    }
}

fn list_names(paths: &BTreeSet<PathBuf>) -> String {
    let names: Vec<String> = paths.iter().take(MAX_NAMES).map(|path| path.display().to_string()).collect();
    let more = paths.len().saturating_sub(MAX_NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    names.join(", ") + &more
}
