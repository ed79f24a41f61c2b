//! Lists the files that the processes of an attempt accessed, unfiltered.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::trace::attempt::{Accesses, TracedAttempt};
use crate::trace::depends::{MAX_FILES, lost};
use crate::trace::files::{read_bounded, unescape_bytes};

/// Accessed files, by the paths that the processes used. Nothing is filtered or inferred: for
/// callers that know more about a program, such as which sources its files were compiled from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileAccesses {
    /// Opened, or checked.
    pub read: BTreeSet<PathBuf>,
    pub missed: BTreeSet<PathBuf>,
    pub listed: BTreeSet<PathBuf>,
    pub written: BTreeSet<PathBuf>,
    pub programs: BTreeSet<PathBuf>,
    /// Why the lists may be incomplete.
    pub gaps: BTreeSet<String>,
}

impl FileAccesses {
    pub fn of(attempt: &TracedAttempt) -> FileAccesses {
        let mut accesses = FileAccesses::default();
        accesses.gaps.extend(attempt.problems.iter().cloned());
        accesses.gaps.extend(attempt.unwritten.then(|| lost(b"no-room")));
        accesses
            .gaps
            .extend(attempt.processes.is_empty().then(|| "which files were opened was not recorded".to_owned()));
        let traced: BTreeSet<&Path> = attempt.processes.iter().map(|process| process.executable.as_path()).collect();
        for process in &attempt.processes {
            if let Accesses::Without(name) = &process.accesses {
                let program = process.executable.display();
                accesses
                    .gaps
                    .insert(format!("files may have been opened unobserved: `{name}` is replaced in {program}"));
            }
            match read_bounded(&process.directory.join("files"), MAX_FILES) {
                Ok(text) => text.split(|byte| *byte == b'\n').for_each(|line| accesses.add(line, &traced)),
                Err(error) => drop(accesses.gaps.insert(error.to_string())),
            }
        }
        accesses
    }

    fn add(&mut self, line: &[u8], traced: &BTreeSet<&Path>) {
        let tab = line.iter().position(|byte| *byte == b'\t').unwrap_or(line.len());
        let rest = unescape_bytes(line.get(tab + 1..).unwrap_or_default());
        let path = Path::new(OsStr::from_bytes(&rest)).to_owned();
        let shown = path.display();
        match &line[..tab] {
            b"" | b"loaded" => {}
            b"read" | b"seen" => drop(self.read.insert(path)),
            b"missed" => drop(self.missed.insert(path)),
            b"listed" => drop(self.listed.insert(path)),
            b"wrote" => drop(self.written.insert(path)),
            b"walked" => drop(self.gaps.insert(format!("walked through {shown}: the files found there are unknown"))),
            b"started" | b"alone" => {
                let real = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
                if line[..tab] == *b"alone" || !traced.contains(path.as_path()) && !traced.contains(real.as_path()) {
                    self.gaps.insert(format!("started {shown}: its effects are unknown"));
                }
                self.programs.insert(path);
            }
            b"lost" => drop(self.gaps.insert(lost(&rest))),
            _ => drop(self.gaps.insert(format!("not understood: {:?}", String::from_utf8_lossy(line)))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_are_sorted_by_kind_and_unknown_ones_are_gaps() {
        let mut accesses = FileAccesses::default();
        let lines = "read\t/p/a\nseen\t/p/b\nmissed\t/p/c\nlisted\t/p\nwrote\t/p/d\nloaded\t/l.so\n\nstarted\t/bin/known\n\
                     started\t/nowhere/other\nalone\t/bin/known\nwalked\t/p/e\nlost\tlimit\nodd\t/x";
        let traced = BTreeSet::from([Path::new("/bin/known")]);
        lines.split('\n').for_each(|line| accesses.add(line.as_bytes(), &traced));
        let paths = |texts: &[&str]| texts.iter().map(PathBuf::from).collect::<BTreeSet<_>>();
        assert_eq!((accesses.read, accesses.missed), (paths(&["/p/a", "/p/b"]), paths(&["/p/c"])));
        assert_eq!((accesses.listed, accesses.written), (paths(&["/p"]), paths(&["/p/d"])));
        assert_eq!(accesses.programs, paths(&["/bin/known", "/nowhere/other"]));
        let gaps: Vec<&str> = accesses.gaps.iter().map(|gap| gap.split(':').next().unwrap_or(gap)).collect();
        let expected = [
            "not understood",
            "some files are missing",
            "started /bin/known",
            "started /nowhere/other",
            "walked through /p/e",
        ];
        assert_eq!(gaps, expected);
    }
}
