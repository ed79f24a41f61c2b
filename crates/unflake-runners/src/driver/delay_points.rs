//! Points at which threads are delayed, from lines to the addresses that the tracing runtime knows.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use unflake_observe::trace::{LineAddresses, TracedAttempt, traced_binaries, variables};

use crate::process::spec::{EnvChanges, ProcessSpec};

/// How long a thread is delayed where no time is given.
const MILLISECONDS: u64 = 50;
/// Longer delays are shortened.
const LONGEST: u64 = 10_000;

/// `FILE:LINE#TIME@THREAD=MILLISECONDS`; all after the line may be missing.
#[derive(Clone, Debug, PartialEq)]
struct PointSetting<'a> {
    file: &'a str,
    line: u32,
    /// 0: every time.
    time: u32,
    thread: &'a str,
    milliseconds: u64,
}

impl<'a> PointSetting<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (text, milliseconds) = match text.rsplit_once('=') {
            Some((text, milliseconds)) => (text, milliseconds.parse().ok()?),
            None => (text, MILLISECONDS),
        };
        let (text, thread) = text.split_once('@').unwrap_or((text, "*"));
        let (text, time) = match text.split_once('#') {
            Some((text, time)) => (text, time.parse().ok()?),
            None => (text, 0),
        };
        let (file, line) = text.rsplit_once(':')?;
        Some(Self { file, line: line.parse().ok()?, time, thread, milliseconds: milliseconds.min(LONGEST) })
    }

    /// One entry of the variable for each range of addresses.
    fn entries(&self, point: usize, binaries: &[LineAddresses]) -> Vec<String> {
        let Self { time, thread, milliseconds, .. } = self;
        let ranges = binaries
            .iter()
            .flat_map(|binary| binary.of(self.file, self.line).into_iter().map(|range| (binary.size, range)));
        ranges
            .map(|(size, range)| {
                format!("{point},{size},{},{},{time},{},{thread}", range.start, range.end, milliseconds * 1000)
            })
            .collect()
    }
}

/// The variable that delays the threads of a process at the points of a world. None: it has none.
pub(crate) fn variable(setting: &str, spec: &ProcessSpec, cache: &Path) -> Option<EnvChanges> {
    let program = spec.directory.clone().unwrap_or_default().join(spec.words.first()?);
    let program = fs::canonicalize(program).ok()?;
    let mut paths = BTreeSet::from([program.clone()]);
    paths.extend(fs::read_to_string(known_binaries(&program, cache)).unwrap_or_default().lines().map(PathBuf::from));
    let binaries: Vec<LineAddresses> = paths.iter().filter_map(|path| LineAddresses::read(path, cache).ok()).collect();
    let points = setting.split(',').filter_map(PointSetting::parse).enumerate();
    let entries: Vec<String> = points.flat_map(|(at, point)| point.entries(at, &binaries)).collect();
    Some([(variables::DELAY_AT.to_owned(), Some(entries.join(";")))].into())
}

/// Remembers which libraries of a program have places: they are loaded only when it runs.
pub(crate) fn remember(attempt: &TracedAttempt, cache: &Path) {
    let Some(program) = attempt.processes.first().map(|process| &process.executable) else { return };
    let binaries: Vec<String> = traced_binaries(attempt).iter().map(|path| path.display().to_string()).collect();
    let place = known_binaries(program, cache);
    let text = binaries.join("\n");
    if binaries.len() > 1 && fs::read_to_string(&place).ok().as_deref() != Some(&text) {
        // Without it delays reach only the program itself.
        let _ = fs::create_dir_all(cache).and_then(|()| fs::write(place, text));
    }
}

fn known_binaries(program: &Path, cache: &Path) -> PathBuf {
    let hash = program
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    cache.join(format!("binaries-{hash:016x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_a_line_and_when_on_which_thread_and_how_long() {
        let point = |text| PointSetting::parse(text).unwrap();
        let of = |line, time, thread, milliseconds| PointSetting { file: "src/a.rs", line, time, thread, milliseconds };
        assert_eq!(point("src/a.rs:3"), of(3, 0, "*", 50));
        assert_eq!(point("src/a.rs:3#2@main.0=400"), of(3, 2, "main.0", 400));
        assert_eq!(point("src/a.rs:3=999999"), of(3, 0, "*", 10_000));
        assert_eq!(PointSetting::parse("src/a.rs"), None);
    }
}
