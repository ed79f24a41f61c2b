//! `.unflake/quarantine.toml`: reads, checks and writes it. Sorted, one field per line, so that
//! changes merge.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use unflake_model::{QuarantineMode, Quarantined};
use unflake_store::QUARANTINE;

use crate::error::CommandError;

/// The longest quarantine, in days.
pub(crate) const LONGEST_DAYS: i64 = 30;

const HEAD: &str = "# Known failures that do not fail a run until they expire. See `unflake quarantine --help`.\n";

#[derive(Debug, Default)]
pub(crate) struct QuarantineFile {
    path: PathBuf,
    pub(crate) entries: Vec<Quarantined>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct QuarantineDocument {
    #[serde(default)]
    test: Vec<Quarantined>,
}

impl QuarantineFile {
    /// Empty where there is no file. An invalid file is an error: what it excuses would be unknown.
    pub(crate) fn read(directory: &Path) -> Result<Self, CommandError> {
        let path = directory.join(QUARANTINE);
        let wrong = |why: String| CommandError::usage(format!("{} cannot be used: {why}", path.display()));
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self { path, entries: Vec::new() }),
            Err(error) => return Err(wrong(error.to_string())),
        };
        let document: QuarantineDocument = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        for entry in &document.test {
            check(entry).map_err(|why| wrong(format!("{}: {why}", entry.test)))?;
        }
        let mut entries = document.test;
        entries.sort_by(|one, other| one.test.cmp(&other.test));
        if let Some(twice) = entries.windows(2).find(|two| two[0].test == two[1].test) {
            return Err(wrong(format!("{} occurs twice in it", twice[0].test)));
        }
        Ok(Self { path, entries })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the file atomically.
    pub(crate) fn write(&self) -> io::Result<()> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(directory)?;
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        io::Write::write_all(&mut file, text(&self.entries).as_bytes())?;
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

fn check(entry: &Quarantined) -> Result<(), String> {
    let days = entry.expires.since(entry.added);
    if days < 0 {
        return Err(format!("it expires on {}, before it was added on {}", entry.expires, entry.added));
    }
    if days > LONGEST_DAYS {
        return Err(format!(
            "it expires {days} days after it was added; {LONGEST_DAYS} is the most. Renew it when it is over"
        ));
    }
    if entry.mode == QuarantineMode::Run && entry.failures.is_empty() {
        return Err(
            "it names no failure that is excused. `unflake quarantine add` fills them in from the history".to_owned()
        );
    }
    let missing =
        [("reason", &entry.reason), ("owner", &entry.owner)].into_iter().find(|(_, text)| text.trim().is_empty());
    missing.map_or(Ok(()), |(name, _)| Err(format!("its {name} is empty")))
}

fn text(entries: &[Quarantined]) -> String {
    let document = toml::to_string(&QuarantineDocument { test: entries.to_vec() }).expect("entries are plain TOML");
    format!("{HEAD}\n{document}")
}

#[cfg(test)]
mod tests {
    use unflake_model::{Day, Fingerprint, TestId};

    use super::*;

    fn day(text: &str) -> Day {
        text.parse().expect("a day")
    }

    fn entry(id: &str) -> Quarantined {
        Quarantined {
            test: TestId::new(id),
            reason: "slow \"server\"".to_owned(),
            owner: "@ada".to_owned(),
            issue: Some("#12".to_owned()),
            added: day("2026-11-15"),
            expires: day("2026-11-29"),
            mode: QuarantineMode::Run,
            failures: vec![Fingerprint("00ff00ff00ff00ff".to_owned())],
        }
    }

    fn read(text: &str) -> Result<Vec<Quarantined>, String> {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join(QUARANTINE), text).expect("written");
        QuarantineFile::read(directory.path()).map(|file| file.entries).map_err(|error| error.to_string())
    }

    #[test]
    fn a_written_file_is_read_back() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut file = QuarantineFile::read(directory.path()).expect("nothing there is nothing in quarantine");
        file.entries =
            vec![entry("a::[x\"y]\n"), Quarantined { issue: None, mode: QuarantineMode::Skip, ..entry("b") }];
        file.write().expect("written");
        assert_eq!(QuarantineFile::read(directory.path()).expect("read").entries, file.entries);
        assert_eq!(fs::read_dir(directory.path()).expect("listed").count(), 1, "nothing else is left there");
    }

    #[test]
    fn an_invalid_file_is_refused_with_a_message() {
        let whole = text(&[entry("a")]);
        let refused = |from: &str, to: &str| read(&whole.replace(from, to)).expect_err(to);
        assert!(refused("2026-11-29", "2026-12-20").contains("35 days after it was added; 30 is the most"));
        assert!(refused("2026-11-29", "2026-11-01").contains("before it was added"));
        assert!(refused("2026-11-29", "soon").contains("is not a day"));
        assert!(refused("\"@ada\"", "\" \"").contains("its owner is empty"));
        assert!(refused("[\"00ff00ff00ff00ff\"]", "[]").contains("names no failure"));
        assert!(refused("mode =", "modus =").contains("modus"));
        assert!(read(&format!("{whole}{}", whole.replace(HEAD, ""))).expect_err("twice").contains("twice"));
    }
}
