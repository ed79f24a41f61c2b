//! All tests of a Rust test program in one process, side by side in threads, as `cargo test` runs them.
//!
//! It is the fast way, and the user's own. What a process does not come to (it died, or something hangs in it) is run again
//! with a process for each test.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use unflake_protocol::{Failed, Outcome, Phase};

use crate::cargo::libtest::{Binary, Ignored};
use crate::cargo::panics;
use crate::driver::suite::{Case, End, How, Judged, Listener, Program, Said, Start, failed};
use crate::process::bounded_text::{Capture, lossless};
use crate::process::sanitizers;

/// Arguments may have 2 MiB together; with more the tests are run one by one.
const LONGEST_NAMES: usize = 1 << 20;
/// What is kept of what one failing test printed.
const OUTPUT: usize = 64 << 10;

pub(crate) struct Crowd {
    pub(crate) binary: Arc<Binary>,
    /// The user's words that choose tests.
    pub(crate) choosing: Vec<String>,
    pub(crate) ignored: Ignored,
    /// How many tests those words choose.
    pub(crate) all: usize,
}

impl Program for Crowd {
    fn is_shared(&self) -> bool {
        true
    }

    fn is_ordered(&self) -> bool {
        false
    }

    fn start(&self, cases: &[&Case], jobs: u32) -> Result<Start, String> {
        let mut words = match self.ignored {
            Ignored::Skipped => Vec::new(),
            Ignored::Only => vec!["--ignored".to_owned()],
            Ignored::Included => vec!["--include-ignored".to_owned()],
        };
        words.push(format!("--test-threads={jobs}"));
        if cases.len() == self.all {
            words.extend(self.choosing.iter().cloned());
        } else {
            words.push("--exact".to_owned());
            words.extend(cases.iter().map(|case| case.name.clone()));
            if words.iter().map(String::len).sum::<usize>() > LONGEST_NAMES {
                return Err("their names are too long for one command line".to_owned());
            }
        }
        let mut start = self.binary.start(words);
        start.variables.insert("RUST_TEST_NOCAPTURE".to_owned(), None);
        Ok(start)
    }

    fn listener(&self, cases: &[&Case]) -> Box<dyn Listener> {
        Box::new(Follower::new(cases.iter().map(|case| case.name.clone()).collect()))
    }
}

/// Reads what the harness prints: a line for each test that ends, then what the failing ones said, then the sum.
struct Follower {
    names: Vec<String>,
    at: HashMap<String, usize>,
    passed: usize,
    /// Those that failed, with what they said.
    failing: Vec<(usize, Capture)>,
    /// The last that ended and did not fail, not told yet: what goes wrong after it is its affair.
    last: Option<(usize, Judged)>,
    /// In the part that says why tests failed: whose words are being read.
    section: Option<Option<usize>>,
    sum: Option<String>,
    since: Instant,
}

impl Follower {
    fn new(names: Vec<String>) -> Self {
        let at = names.iter().cloned().zip(0..).collect();
        let since = Instant::now();
        Self { names, at, passed: 0, failing: Vec::new(), last: None, section: None, sum: None, since }
    }

    /// `test NAME ... ok`, possibly behind something that a test has written past the harness.
    fn result<'a>(&self, text: &'a str) -> Option<(usize, &'a str)> {
        let (head, result) = text.rsplit_once(" ... ")?;
        let name = &head[head.rfind("test ")? + "test ".len()..];
        let name = name.strip_suffix(" - should panic").unwrap_or(name);
        Some((*self.at.get(name)?, result))
    }

    fn ended(&mut self, at: usize, judged: Judged) -> Vec<Said> {
        self.last.replace((at, judged)).map(told).unwrap_or_default()
    }

    /// Whether the process came to the end that its tests make one expect.
    fn is_as_expected(&self, end: &End) -> bool {
        let expected = if self.failing.is_empty() { How::Exit(0) } else { How::Exit(101) };
        let sum = format!("{} passed; {} failed;", self.passed, self.failing.len());
        let summed_up = self.sum.as_ref().is_some_and(|said| said.contains(&sum));
        end.how == expected && summed_up && sanitizers::report(&end.stderr).is_none()
    }
}

fn told((at, judged): (usize, Judged)) -> Vec<Said> {
    vec![Said::Start(at), Said::Done(at, judged)]
}

impl Listener for Follower {
    fn line(&mut self, line: &[u8]) -> Vec<Said> {
        let text = lossless(line);
        if let Some(sum) = text.strip_prefix("test result: ") {
            self.section = None;
            self.sum = Some(sum.to_owned());
            return Vec::new();
        }
        if let Some(section) = &mut self.section {
            let heading = text.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----"));
            if let Some(at) = heading.and_then(|name| self.at.get(name)) {
                *section = Some(*at);
            } else if text == "failures:" {
                *section = None;
            } else if let Some((_, said)) =
                section.and_then(|at| self.failing.iter_mut().find(|(failing, _)| *failing == at))
            {
                said.add(text.as_bytes());
                said.add(b"\n");
            }
            return Vec::new();
        }
        if text == "failures:" {
            self.section = Some(None);
            return Vec::new();
        }
        let Some((at, result)) = self.result(&text) else { return Vec::new() };
        let seconds = self.since.elapsed().as_secs_f64();
        self.since = Instant::now();
        if result.starts_with("ok") {
            self.passed += 1;
            return self.ended(at, Judged::new(Outcome::Passed, seconds));
        }
        if let Some(why) = result.strip_prefix("ignored") {
            let why = Some(why.trim_start_matches([',', ' '])).filter(|why| !why.is_empty()).unwrap_or("ignored");
            return self.ended(at, Judged::new(Outcome::Skipped, seconds).failed(failed("Skipped", why)));
        }
        if result.starts_with("FAILED") {
            self.failing.push((at, Capture::new(OUTPUT)));
        }
        Vec::new()
    }

    fn since(&self) -> Option<Instant> {
        Some(self.since)
    }

    fn end(&mut self, end: &End) -> Vec<Said> {
        let as_expected = self.is_as_expected(end);
        let mut said: Vec<Said> = Vec::new();
        // Which of the threads was first is chance, and nothing that a person wants to read.
        self.failing.sort_by_key(|(at, _)| *at);
        for (at, words) in std::mem::take(&mut self.failing) {
            let words = words.text();
            let mut failure = panics::failure(&self.names[at], &words, &words);
            if words.is_empty() {
                failure.message = "it failed, and its process ended before it could say why".to_owned();
            }
            let judged = Judged::new(Outcome::Failed, 0.0).failed(failure);
            said.extend(told((at, judged.said(panics::without_panics(&words).trim(), ""))));
        }
        // Where the process was cut short, the tests that it did not come to will show why.
        let cut_short = self.sum.is_none();
        if let Some((at, judged)) = self.last.take() {
            let judged = if as_expected || cut_short { judged } else { ended_badly(judged, end) };
            said.extend(told((at, judged)));
        }
        said
    }
}

/// Every test had ended when something went wrong.
fn ended_badly(judged: Judged, end: &End) -> Judged {
    let report = sanitizers::report(&end.stderr);
    let mut judged = Judged::crashed(end.how, judged.seconds, report, end.stderr.trim());
    if let Some(failure) = &mut judged.failure {
        let message = format!("after its last test, the program did not end as it should: {}", failure.message);
        *failure = Failed { phase: Phase::SharedTearDown, message, ..failure.clone() };
    }
    judged.said("", end.stderr.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(text: &str, how: How) -> Vec<String> {
        let mut follower = Follower::new(["a", "b", "c"].map(str::to_owned).to_vec());
        let mut said: Vec<Said> = text.lines().flat_map(|line| follower.line(line.as_bytes())).collect();
        said.extend(follower.end(&End { how, stdout: text.to_owned(), stderr: String::new(), seconds: 0.0 }));
        let done = |said: Said| match said {
            Said::Start(_) | Said::Changed(_) | Said::Restored(_) => None,
            Said::Done(at, judged) => {
                let message = judged.failure.map(|failure| format!(": {}", failure.message)).unwrap_or_default();
                Some(format!("{at} {:?}{message}", judged.outcome))
            }
        };
        said.into_iter().filter_map(done).collect()
    }

    #[test]
    fn results_and_reasons_are_read() {
        let text = "\nrunning 3 tests\nxtest c ... ok\ntest a - should panic ... FAILED\ntest b ... ignored, slow\n\nfailures:\n\n\
                    ---- a stdout ----\nout\n\nthread 'a' (7) panicked at src/lib.rs:5:53:\nno\nnote: run with `RUST_BACKTRACE=1` \
                    environment variable to display a backtrace\n\n\nfailures:\n    a\n\ntest result: FAILED. 1 passed; 1 failed; \
                    1 ignored; 0 measured; 0 filtered out\n\n";
        assert_eq!(follow(text, How::Exit(101)), ["2 Passed", "0 Failed: no", "1 Skipped: slow"]);
    }

    #[test]
    fn of_a_process_that_died_only_what_it_said_is_known() {
        assert_eq!(
            follow("test a ... ok\ntest b ... FAILED\n", How::Signal(6)),
            ["1 Failed: it failed, and its process ended before it could say why", "0 Passed"]
        );
    }

    #[test]
    fn what_goes_wrong_at_the_very_end_is_not_lost() {
        let text = "test a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored\n";
        assert_eq!(follow(text, How::Exit(0)), ["0 Passed"]);
        assert!(follow(text, How::Signal(11))[0].starts_with("0 Crashed(Signal(11)): after its last test"));
        // A line for b was lost among what tests wrote: somebody has to look again.
        let text = "test a ... ok\n\ntest result: ok. 2 passed; 0 failed; 0 ignored\n";
        assert!(follow(text, How::Exit(0))[0].starts_with("0 Crashed(Exit(0))"));
    }
}
