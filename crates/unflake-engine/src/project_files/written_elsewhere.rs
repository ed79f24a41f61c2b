//! What tests wrote outside of the project, such as files in the home directory: restored after each
//! session that is compared with others, from what agents recorded before each write. Ports that tests
//! listen on belong to it, too: all processes share them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, FileTimes, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use tracing::debug;

use crate::project_files::backup::Backups;

/// The journal of the agents, in the run directory.
const JOURNAL: &str = "written-files";

/// More names than this that differ in numbers only are drawn at random, or counted.
const MOST_ALIKE: usize = 8;

/// One line of the journal.
#[derive(Deserialize)]
#[serde(untagged)]
enum Entry {
    Port { port: u16 },
    File(Earlier),
}

/// What was at a path before a test wrote to it.
#[derive(Deserialize)]
struct Earlier {
    path: PathBuf,
    kind: EarlierKind,
    /// A copy of the contents. None: it was too large, or could not be read.
    #[serde(default)]
    copy: Option<PathBuf>,
    #[serde(default)]
    mode: u32,
    /// Nanoseconds since 1970.
    #[serde(default)]
    modified: u64,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EarlierKind {
    Absent,
    File,
    Directory,
    /// A link, socket or device.
    Special,
}

pub(crate) struct WrittenElsewhere {
    journal: PathBuf,
    read: u64,
    /// By path: what was there before the first write since the last restoration.
    earlier: BTreeMap<PathBuf, Earlier>,
    /// Every path that was ever written.
    written: BTreeSet<PathBuf>,
    /// How many of them are alike but for numbers, by what they have in common.
    alike: BTreeMap<String, usize>,
    /// Every port that a test chose and bound, and whether several sessions bound one of them.
    ports: BTreeSet<u16>,
    has_repeated_port: bool,
    is_repeated: bool,
    pub(crate) restored: BTreeSet<PathBuf>,
    pub(crate) unrestored: BTreeSet<PathBuf>,
}

impl WrittenElsewhere {
    pub(crate) fn new(run_dir: &Path) -> Self {
        Self {
            journal: run_dir.join(JOURNAL),
            read: 0,
            earlier: BTreeMap::new(),
            written: BTreeSet::new(),
            alike: BTreeMap::new(),
            ports: BTreeSet::new(),
            has_repeated_port: false,
            is_repeated: false,
            restored: BTreeSet::new(),
            unrestored: BTreeSet::new(),
        }
    }

    /// Reads what agents have added.
    fn update(&mut self) {
        let Ok(length) = fs::metadata(&self.journal).map(|found| found.len()) else { return };
        if length <= self.read {
            return;
        }
        let Ok(text) = fs::read(&self.journal) else { return };
        let new = text.get(self.read as usize..).unwrap_or_default();
        // The last line may be incomplete.
        let complete = new.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.read += complete as u64;
        for line in new[..complete].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let earlier = match serde_json::from_slice(line) {
                Ok(Entry::File(earlier)) => earlier,
                Ok(Entry::Port { port }) => {
                    self.has_repeated_port |= !self.ports.insert(port);
                    self.is_repeated |= self.has_repeated_port;
                    continue;
                }
                Err(_) => continue,
            };
            match self.written.insert(earlier.path.clone()) {
                true => *self.alike.entry(without_numbers(&earlier.path)).or_default() += 1,
                false => self.is_repeated = true,
            }
            // What is below a new directory is new.
            if !earlier.path.ancestors().skip(1).any(|above| self.is_new(above)) {
                self.earlier.entry(earlier.path.clone()).or_insert(earlier);
            }
        }
    }

    fn is_new(&self, path: &Path) -> bool {
        self.earlier.get(path).is_some_and(|earlier| earlier.kind == EarlierKind::Absent)
    }

    /// Whether several sessions wrote to the same file, or bound the same port.
    pub(crate) fn is_repeated(&mut self) -> bool {
        self.update();
        self.is_repeated
    }

    /// Whether a file differs from what it was before the first write, or a port is still bound. New
    /// files with names drawn at random do not count: no other session meets them.
    pub(crate) fn has_changes(&mut self) -> bool {
        self.update();
        self.earlier.values().any(|earlier| earlier.has_changed() && !self.is_drawn(earlier)) || self.has_bound_ports()
    }

    pub(crate) fn has_shared_ports(&self) -> bool {
        self.has_repeated_port || self.has_bound_ports()
    }

    fn has_bound_ports(&self) -> bool {
        let tables = ["tcp", "tcp6", "udp", "udp6"].map(|name| format!("/proc/net/{name}"));
        let is_bound = |table: &String| {
            fs::read_to_string(table).is_ok_and(|text| bound_ports(&text).any(|port| self.ports.contains(&port)))
        };
        !self.ports.is_empty() && tables.iter().any(is_bound)
    }

    fn is_drawn(&self, earlier: &Earlier) -> bool {
        let alike = self.alike.get(&without_numbers(&earlier.path)).copied().unwrap_or_default();
        earlier.kind == EarlierKind::Absent && alike > MOST_ALIKE
    }

    /// Makes all files what they were before the first write.
    pub(crate) fn restore(&mut self, backups: &mut Backups) {
        self.update();
        // Nothing runs that could add to it, and a supervisor must not restore this once more.
        let _ = fs::remove_file(&self.journal);
        self.read = 0;
        // New files before the directories that contain them, old directories before their files.
        let earlier = std::mem::take(&mut self.earlier);
        for one in earlier.values().rev().filter(|one| one.kind == EarlierKind::Absent) {
            if one.has_changed() {
                let is_restored = remove(&one.path, backups);
                self.note(&one.path, is_restored);
            }
        }
        for one in earlier.values().filter(|one| one.kind != EarlierKind::Absent && one.has_changed()) {
            let is_restored = one.restore(backups).is_ok();
            self.note(&one.path, is_restored);
        }
    }

    fn note(&mut self, path: &Path, is_restored: bool) {
        debug!(file = %path.display(), is_restored, "a file outside of the project was written");
        match is_restored {
            true => self.restored.insert(path.to_owned()),
            false => self.unrestored.insert(path.to_owned()),
        };
    }
}

impl Earlier {
    fn has_changed(&self) -> bool {
        let now = self.path.symlink_metadata();
        match (self.kind, now) {
            (EarlierKind::Absent, now) => now.is_ok(),
            (_, Err(_)) => true,
            (EarlierKind::Directory, Ok(now)) => !now.is_dir(),
            (EarlierKind::Special, Ok(_)) => false,
            (EarlierKind::File, Ok(now)) => {
                let is_same = now.is_file() && now.modified().is_ok_and(|at| at == self.modified_at());
                let has_copy = |copy: &PathBuf| fs::read(&self.path).ok() == fs::read(copy).ok();
                !is_same && !self.copy.as_ref().is_some_and(has_copy)
            }
        }
    }

    fn modified_at(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_nanos(self.modified)
    }

    fn restore(&self, backups: &mut Backups) -> io::Result<()> {
        let lost = || io::Error::other("no copy of it was kept");
        if self.kind == EarlierKind::Directory {
            return fs::create_dir_all(&self.path);
        }
        let copy = self.copy.as_ref().ok_or_else(lost)?;
        if !backups.save(&self.path, &name_of(&self.path)) {
            return Err(lost());
        }
        if self.path.is_dir() && !remove(&self.path, backups) {
            return Err(lost());
        }
        fs::copy(copy, &self.path)?;
        fs::set_permissions(&self.path, Permissions::from_mode(self.mode))?;
        File::open(&self.path)?.set_times(FileTimes::new().set_modified(self.modified_at()))
    }
}

/// Removes a file or a tree, after a backup of its files. Whether it is gone.
fn remove(path: &Path, backups: &mut Backups) -> bool {
    let Ok(metadata) = path.symlink_metadata() else { return true };
    if !metadata.is_dir() {
        return backups.save(path, &name_of(path)) && fs::remove_file(path).is_ok();
    }
    let entries: Vec<PathBuf> = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    let removed: Vec<bool> = entries.iter().map(|entry| remove(entry, backups)).collect();
    removed.into_iter().all(|is_removed| is_removed) && fs::remove_dir(path).is_ok()
}

/// The local ports of listening and unconnected sockets in a table of the kernel.
fn bound_ports(table: &str) -> impl Iterator<Item = u16> {
    table.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let (local, state) = (fields.next()?, fields.nth(1)?);
        // LISTEN, and what is neither connected nor closing.
        let port = local.rsplit(':').next().filter(|_| matches!(state, "0A" | "07"))?;
        u16::from_str_radix(port, 16).ok()
    })
}

/// A path with `#` in the place of each number, in decimal or hexadecimal digits.
fn without_numbers(path: &Path) -> String {
    let path = path.to_string_lossy();
    let mut text = String::new();
    for word in path.split_inclusive(|sign: char| !sign.is_ascii_alphanumeric()) {
        let end = word.trim_end_matches(|sign: char| !sign.is_ascii_alphanumeric()).len();
        let is_number = word[..end].contains(|sign: char| sign.is_ascii_digit());
        text.push_str(if is_number { "#" } else { &word[..end] });
        text.push_str(&word[end..]);
    }
    text
}

fn name_of(path: &Path) -> PathBuf {
    path.strip_prefix("/").unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    struct Place {
        directory: tempfile::TempDir,
        backups: Backups,
    }

    impl Place {
        fn new() -> Self {
            let directory = tempfile::tempdir().expect("it can be made");
            fs::create_dir(directory.path().join("run")).expect("it can be made");
            let backups = Backups::new(&directory.path().join("cache"));
            Self { directory, backups }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.directory.path().join(name)
        }

        fn journal(&self, line: serde_json::Value) {
            let path = self.path("run/written-files");
            let mut file = File::options().append(true).create(true).open(path).expect("it can be opened");
            writeln!(file, "{line}").expect("it can be written");
        }
    }

    #[test]
    fn new_files_are_removed_and_old_ones_restored() {
        let mut place = Place::new();
        let (new, old, copy) = (place.path("home/new"), place.path("home/old"), place.path("run/copy"));
        fs::create_dir_all(place.path("home/tree")).expect("it can be made");
        for (path, text) in [(&new, "x"), (&old, "after"), (&copy, "before"), (&place.path("home/tree/one"), "y")] {
            fs::write(path, text).expect("it can be written");
        }
        let mut written = WrittenElsewhere::new(&place.path("run"));
        assert!(!written.has_changes());
        place.journal(serde_json::json!({"path": new, "kind": "absent"}));
        place.journal(serde_json::json!({"path": place.path("home/tree"), "kind": "absent"}));
        // A later session found a file there that an earlier one had left.
        let below = place.path("home/tree/one");
        place.journal(serde_json::json!({"path": below, "kind": "file", "copy": copy, "mode": 0o640, "modified": 1}));
        let line = serde_json::json!({"path": old, "kind": "file", "copy": copy, "mode": 0o640, "modified": 1000});
        place.journal(line);
        // A later write to the same file says nothing about what it was.
        place.journal(serde_json::json!({"path": old, "kind": "absent"}));
        assert!(written.has_changes());
        assert!(written.is_repeated());
        written.restore(&mut place.backups);
        assert!(!new.exists() && !place.path("home/tree").exists());
        assert_eq!(fs::read_to_string(&old).expect("it is there"), "before");
        assert!(!written.has_changes());
        assert_eq!(written.restored.len(), 3);
        assert!(written.unrestored.is_empty());
    }

    #[test]
    fn names_that_differ_in_numbers_are_drawn_at_random() {
        let mut place = Place::new();
        let mut written = WrittenElsewhere::new(&place.path("run"));
        for number in 0..=MOST_ALIKE {
            let path = place.path(&format!("junk-{number}f3"));
            fs::write(&path, "x").expect("it can be written");
            place.journal(serde_json::json!({"path": path, "kind": "absent"}));
            assert_eq!(written.has_changes(), number < MOST_ALIKE, "{number}");
        }
        assert!(!written.is_repeated());
        let fixed = place.path("settings");
        fs::write(&fixed, "x").expect("it can be written");
        place.journal(serde_json::json!({"path": fixed, "kind": "absent"}));
        assert!(written.has_changes());
        written.restore(&mut place.backups);
        assert!(!place.path("junk-0f3").exists() && !fixed.exists());
    }

    #[test]
    fn a_port_is_shared_by_all_sessions() {
        let place = Place::new();
        let mut written = WrittenElsewhere::new(&place.path("run"));
        let server = std::net::TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let port = server.local_addr().expect("it is bound").port();
        place.journal(serde_json::json!({"port": port}));
        assert!(written.has_changes() && !written.is_repeated());
        place.journal(serde_json::json!({"port": port}));
        assert!(written.is_repeated());
        drop(server);
        assert!(!written.has_changes());
    }

    #[test]
    fn listening_sockets_are_read() {
        let table = "  sl  local_address rem_address   st tx_queue\n\
                     0: 0100007F:1F90 00000000:0000 0A 00000000:00000000\n\
                     1: 0100007F:0016 0100007F:D431 01 00000000:00000000\n\
                     2: 00000000:0044 00000000:0000 07 00000000:00000000\n";
        assert_eq!(bound_ports(table).collect::<Vec<_>>(), [8080, 68]);
    }

    #[test]
    fn a_file_without_a_copy_is_left_alone() {
        let mut place = Place::new();
        let large = place.path("large");
        fs::write(&large, "after").expect("it can be written");
        place.journal(serde_json::json!({"path": large, "kind": "file", "copy": null, "mode": 0o644, "modified": 1}));
        let mut written = WrittenElsewhere::new(&place.path("run"));
        written.restore(&mut place.backups);
        assert_eq!(fs::read_to_string(&large).expect("it is there"), "after");
        assert!(written.unrestored.contains(&large));
    }
}
