//! What the agent in a JVM says, and what that tells of its tests.

use std::time::Instant;

use serde::Deserialize;
use unflake_protocol::{Failed, NotRestored, Outcome, Phase};

use crate::driver::suite::{End, How, Judged, Listener, Said, failed};
use crate::process::bounded_text::lossless;

/// One thing that is said.
#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(crate) struct Word {
    pub(crate) test: Option<String>,
    pub(crate) class: String,
    pub(crate) method: String,
    pub(crate) note: Option<String>,
    pub(crate) listed: bool,
    /// To list them, it had to do more than look.
    pub(crate) used: bool,
    pub(crate) problem: Option<String>,
    pub(crate) over: Option<i32>,
    pub(crate) start: Option<usize>,
    /// It leaves before it has run all, and nothing is wrong.
    enough: bool,
    /// The file in which it is written what differs.
    changed: Option<String>,
    restored: bool,
    failed: Vec<NotRestored>,
    done: Option<usize>,
    outcome: String,
    phase: String,
    seconds: f64,
    kind: String,
    message: String,
    trace: String,
    file: Option<String>,
    line: Option<i64>,
    stdout: String,
    stderr: String,
    layers: Option<String>,
}

/// Finds what is said among what else is printed: it stands between marks, and may come in pieces.
pub(crate) struct Ear {
    mark: Vec<u8>,
    begun: Option<Vec<u8>>,
}

impl Ear {
    pub(crate) fn new(mark: &str) -> Self {
        Self { mark: mark.as_bytes().to_vec(), begun: None }
    }

    pub(crate) fn hear(&mut self, line: &[u8]) -> Vec<Word> {
        let mut words = Vec::new();
        let mut rest = line;
        loop {
            let (before, after) = match found(&self.mark, rest) {
                Some(at) => (&rest[..at], Some(&rest[at + self.mark.len()..])),
                None => (rest, None),
            };
            match (&mut self.begun, after) {
                (Some(begun), _) => begun.extend_from_slice(before),
                (None, Some(_)) => self.begun = Some(Vec::new()),
                (None, None) => {}
            }
            let Some(after) = after else { return words };
            // A mark that ends something has text before it; what is said is never empty.
            if self.begun.as_ref().is_some_and(|begun| !begun.is_empty()) {
                words.extend(self.begun.take().and_then(|begun| serde_json::from_slice(&begun).ok()));
            }
            rest = after;
        }
    }

    /// What was printed besides.
    fn others(&self, text: &str) -> String {
        let mark = String::from_utf8_lossy(&self.mark);
        text.lines().filter(|line| !line.is_empty() && !line.contains(&*mark)).collect::<Vec<_>>().join("\n")
    }
}

/// Where it begins. Of a suite with many small tests, this sees all that is said of each.
fn found(mark: &[u8], text: &[u8]) -> Option<usize> {
    let first = *mark.first()?;
    let mut from = 0;
    loop {
        let at = from + text[from..].iter().position(|byte| *byte == first)?;
        if text[at..].starts_with(mark) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// Follows the tests of one process.
pub(crate) struct Follower<P: Fn(&str) -> String> {
    ear: Ear,
    tests: usize,
    /// The path of a source, from what a stack trace says.
    path: P,
    current: Option<usize>,
    /// How many have been told.
    told: usize,
    since: Instant,
    problem: Option<String>,
    /// Whether it has left the rest to another process.
    enough: bool,
}

impl<P: Fn(&str) -> String> Follower<P> {
    pub(crate) fn new(mark: &str, tests: usize, path: P) -> Self {
        let (current, told, since, problem, enough) = (None, 0, Instant::now(), None, false);
        Self { ear: Ear::new(mark), tests, path, current, told, since, problem, enough }
    }

    fn judged(&self, mut word: Word) -> Judged {
        let layers = word.layers.take();
        Judged { layers, ..self.ended(word) }
    }

    fn ended(&self, word: Word) -> Judged {
        let outcome = match word.outcome.as_str() {
            "passed" => return Judged::new(Outcome::Passed, word.seconds),
            "skipped" => {
                return Judged::new(Outcome::Skipped, word.seconds).failed(failed("Skipped", &word.message));
            }
            "error" => Outcome::Error,
            _ => Outcome::Failed,
        };
        let phase = match word.phase.as_str() {
            "set-up" => Phase::SetUp,
            "shared-tear-down" => Phase::SharedTearDown,
            _ => Phase::Call,
        };
        let failure = Failed {
            phase,
            kind: word.kind,
            message: word.message,
            trace: word.trace,
            file: word.file.map(|file| (self.path)(&file)),
            line: word.line.and_then(|line| u32::try_from(line).ok()),
        };
        Judged::new(outcome, word.seconds).failed(failure).said(word.stdout, word.stderr)
    }
}

impl<P: Fn(&str) -> String> Listener for Follower<P> {
    fn line(&mut self, line: &[u8]) -> Vec<Said> {
        let mut said = Vec::new();
        for mut word in self.ear.hear(line) {
            self.since = Instant::now();
            if let Some(at) = word.start.filter(|at| *at < self.tests) {
                self.current = Some(at);
                said.push(Said::Start(at));
            }
            if let Some(at) = word.done.filter(|at| *at < self.tests) {
                self.current = None;
                self.told = self.told.max(at + 1);
                said.push(Said::Done(at, self.judged(word)));
                continue;
            }
            said.extend(word.changed.take().map(Said::Changed));
            if word.restored {
                said.push(Said::Restored(std::mem::take(&mut word.failed)));
            }
            self.problem = word.problem.take().or(self.problem.take());
            self.enough |= word.enough;
        }
        said
    }

    fn since(&self) -> Option<Instant> {
        Some(self.since)
    }

    fn end(&mut self, end: &End) -> Vec<Said> {
        let mut said = Vec::new();
        let at = match self.current {
            Some(at) => at,
            None if self.enough => return said,
            // It has ended between two tests, or before the first.
            None if self.told < self.tests => {
                said.push(Said::Start(self.told));
                self.told
            }
            None => return said,
        };
        let (stdout, stderr) = (self.ear.others(&end.stdout), end.stderr.clone());
        let words = [stdout.trim_end(), stderr.trim_end()].join("\n");
        let seconds = self.since.elapsed().as_secs_f64();
        let judged = match end.how {
            How::TimedOut => Judged::timed_out(seconds, words.trim()),
            how => {
                let problem = self.problem.take().map(|text| lossless(text.as_bytes()));
                Judged::crashed(how, seconds, problem, words.trim())
            }
        };
        said.push(Said::Done(at, judged.said(stdout, stderr)));
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(lines: &[&str], how: How) -> Vec<String> {
        let mut follower = Follower::new("@@", 3, |file| format!("src/{file}"));
        let mut said: Vec<Said> = lines.iter().flat_map(|line| follower.line(line.as_bytes())).collect();
        let end = End { how, stdout: lines.join("\n"), stderr: "err".to_owned(), seconds: 1.0 };
        said.extend(follower.end(&end));
        let told = |said: Said| match said {
            Said::Start(at) => format!("{at} begins"),
            Said::Done(at, judged) => {
                let why = judged.failure.map(|failure| {
                    let place = failure.file.map(|file| format!(" at {file}:{:?}", failure.line)).unwrap_or_default();
                    format!(": {:?} {}{place}", failure.phase, failure.message)
                });
                format!("{at} {:?}{}", judged.outcome, why.unwrap_or_default())
            }
            Said::Changed(path) => format!("changed: {path}"),
            Said::Restored(failed) => format!("restored but for {}", failed.len()),
        };
        said.into_iter().map(told).collect()
    }

    #[test]
    fn what_is_said_is_found_among_what_is_printed() {
        let lines = [
            "noise",
            r#"more noise@@{"start":0}@@"#,
            r#"@@{"done":0,"outcome":"passed"}@@@@{"start":1}@@"#,
            r#"@@{"done":1,"outcome":"failed","phase":"call","mess"#,
            r#"age":"no","file":"a/B.java","line":3}@@"#,
            r#"@@{"changed":"/side/told"}@@"#,
            r#"@@{"restored":true,"failed":[{"cell":"a.B.c","why":"it is final"}]}@@"#,
            r#"@@{"start":2}@@"#,
            r#"@@{"done":2,"outcome":"error","phase":"shared-tear-down","message":"late"}@@"#,
        ];
        let told = [
            "0 begins",
            "0 Passed",
            "1 begins",
            "1 Failed: Call no at src/a/B.java:Some(3)",
            "changed: /side/told",
            "restored but for 1",
            "2 begins",
            "2 Error: SharedTearDown late",
        ];
        assert_eq!(follow(&lines, How::Exit(0)), told);
    }

    #[test]
    fn a_process_that_dies_takes_its_test_with_it() {
        let lines = [r#"@@{"start":0}@@"#, r#"@@{"done":0,"outcome":"passed"}@@"#, r#"@@{"start":1}@@"#];
        let crashed = "1 Crashed(Exit(0)): Process the process left with exit code 0";
        assert_eq!(follow(&lines, How::Exit(0)), ["0 begins", "0 Passed", "1 begins", crashed]);
        assert!(follow(&lines, How::TimedOut)[3].starts_with("1 TimedOut"));
        assert_eq!(follow(&[lines[0], lines[1], r#"@@{"enough":true}@@"#], How::Exit(0)), ["0 begins", "0 Passed"]);
        let crashed = "0 Crashed(Exit(1)): Process no such class";
        assert_eq!(follow(&[r#"@@{"problem":"no such class"}@@"#], How::Exit(1)), ["0 begins", crashed]);
    }
}
