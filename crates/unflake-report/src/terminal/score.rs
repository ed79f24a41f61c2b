//! Flakiness scores: the probability that the next run of a test fails.

use std::io::{self, Write};

use jiff::tz::TimeZone;
use serde::Serialize;
use unflake_model::Timestamp;

use crate::terminal::writer::{TermWriter, Tone};
use crate::text::format;
use crate::{ExitMeaning, TerminalStyle, one_line};

/// Scores, most likely to fail first.
#[derive(Clone, Debug)]
pub struct Scores {
    /// Known tests and runs, and runs excluded because most tests failed in them.
    pub tests: usize,
    pub runs: usize,
    pub excluded_runs: usize,
    pub since: Option<Timestamp>,
    pub rows: Vec<ScoreRow>,
    pub exit: ExitMeaning<'static>,
}

/// The score of one test.
#[derive(Clone, Debug, Serialize)]
pub struct ScoreRow {
    pub test: String,
    pub file: Option<String>,
    pub probability: f64,
    pub low: f64,
    pub high: f64,
    pub runs: usize,
    pub failures: usize,
    /// Failures not counted because the test was broken.
    pub broken: usize,
    pub state: ScoreState,
    pub since: Option<ScoreSince>,
    /// Empty without an owner.
    pub owner: String,
    pub seconds_lost: f64,
    /// Recent runs, oldest first. Empty for a test that never failed.
    pub strip: Vec<RecentOutcome>,
    /// Earlier names of the test, while it had the same code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub formerly: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScoreState {
    Sound,
    Flaky,
    Bursty,
    Broken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecentOutcome {
    Passed,
    Flaked,
    Failed,
}

/// The last change of behaviour.
#[derive(Clone, Debug, Serialize)]
pub struct ScoreSince {
    pub what: &'static str,
    pub when: Timestamp,
    pub commit: Option<String>,
    pub earliest: Option<Timestamp>,
    pub latest: Option<Timestamp>,
    /// Uncertainty of that position, in runs.
    pub give_or_take: usize,
}

impl Scores {
    pub fn write(&self, limit: usize, zone: &TimeZone, style: &TerminalStyle, out: &mut dyn Write) -> io::Result<()> {
        let term = &mut TermWriter::new(*style, out);
        let broken = self.rows.iter().filter(|row| row.state == ScoreState::Broken).count();
        let flaky = self.rows.iter().filter(|row| matches!(row.state, ScoreState::Flaky | ScoreState::Bursty)).count();
        let mut parts = vec![format::count(self.tests, "test"), format::count(self.runs, "run")];
        parts.push(format!("{flaky} flaky"));
        parts.push(format!("{broken} broken"));
        term.prose(0, Tone::Bold, &parts.join(", "))?;
        if self.excluded_runs > 0 {
            let runs = format::count(self.excluded_runs, "run");
            let text = format!("{runs} excluded: most tests failed there");
            term.prose(2, Tone::Faint, &text)?;
        }
        for row in self.rows.iter().take(limit) {
            term.blank()?;
            row.head(term)?;
            row.body(term.indent(), zone, term)?;
        }
        term.blank()?;
        match self.rows.len().saturating_sub(limit) {
            0 => {}
            more => term.cut(2, &format!("and {more} more (--limit)"))?,
        }
        if flaky == 0 {
            return Ok(());
        }
        term.labelled(0, "next", "unflake history show TEST", "its runs, findings and next step")
    }

    /// Writes one document in the form of `--json`.
    pub fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        #[derive(Serialize)]
        struct ScoreFinding<'a> {
            technique: &'static str,
            kind: ScoreState,
            sentence: String,
            #[serde(flatten)]
            row: &'a ScoreRow,
        }
        let findings: Vec<ScoreFinding> = self
            .rows
            .iter()
            .map(|row| ScoreFinding { technique: "score", kind: row.state, sentence: row.sentence(), row })
            .collect();
        let document = serde_json::json!({
            "schema": 1, "command": "history score", "exit": self.exit, "tests": self.tests, "runs": self.runs, "excluded_runs": self.excluded_runs,
            "findings": findings,
        });
        serde_json::to_writer(&mut *out, &document)?;
        writeln!(out)
    }
}

impl ScoreRow {
    fn head(&self, term: &mut TermWriter) -> io::Result<()> {
        let test = one_line(&self.test);
        match self.state {
            ScoreState::Broken => term.head(Tone::Bad, "BROKEN", &test),
            ScoreState::Sound => term.head(Tone::Good, &percent(self.probability), &test),
            _ => term.head(Tone::Odd, &percent(self.probability), &test),
        }
    }

    /// The complete description of a score.
    pub(crate) fn body(&self, indent: usize, zone: &TimeZone, term: &mut TermWriter) -> io::Result<()> {
        term.prose(indent, Tone::Usual, &self.sentence())?;
        if let Some(since) = &self.since {
            term.prose(indent, Tone::Usual, &since.sentence(zone))?;
        }
        for name in &self.formerly {
            let words = format!("includes the runs of {}, its former name", one_line(name));
            term.prose(indent, Tone::Faint, &words)?;
        }
        self.draw(indent, term)?;
        let mut rest = Vec::new();
        if self.seconds_lost >= 0.1 {
            rest.push(format!("{} lost in failures and retries", format::duration(self.seconds_lost)));
        }
        if !self.owner.is_empty() {
            rest.push(one_line(&self.owner).into_owned());
        }
        if rest.is_empty() { Ok(()) } else { term.prose(indent, Tone::Faint, &rest.join(", ")) }
    }

    /// The score with its evidence, as a sentence.
    pub(crate) fn sentence(&self) -> String {
        let runs = format::count(self.runs, "run");
        let aside = match self.broken {
            0 => String::new(),
            broken => format!("; {} while broken", format::count(broken, "failure")),
        };
        let bounds = format!("{} to {}", percent(self.low), percent(self.high));
        match self.state {
            ScoreState::Broken if self.runs == 0 => self.breakage(),
            ScoreState::Broken => {
                let before = if self.failures == 0 {
                    "no flaky failure".to_owned()
                } else {
                    format::count(self.failures, "flaky failure")
                };
                format!("{}; before that {before} in {runs}", self.breakage())
            }
            ScoreState::Bursty => format!("failed {} of {runs}, in bursts; next run {bounds}{aside}", self.failures),
            _ => format!("failed {} of {runs}; next run {bounds}{aside}", self.failures),
        }
    }

    /// How a broken test fails. A pass does not mend it where everything around fails.
    fn breakage(&self) -> String {
        let failing = self.strip.iter().rev().take_while(|one| **one != RecentOutcome::Passed).count();
        match failing < self.strip.len() && failing < self.broken {
            true => format!("failed its last {}, {} while broken", format::count(failing, "run"), self.broken),
            false => format!("fails in every run ({})", format::count(self.broken, "run")),
        }
    }

    fn draw(&self, indent: usize, term: &mut TermWriter) -> io::Result<()> {
        let room = term.style.width.saturating_sub(indent + 2);
        let strip = &self.strip[self.strip.len().saturating_sub(room)..];
        if strip.is_empty() {
            return Ok(());
        }
        let signs: String = strip
            .iter()
            .map(|one| match one {
                RecentOutcome::Passed => term.style.sign("·"),
                RecentOutcome::Flaked => term.style.sign("≈"),
                RecentOutcome::Failed => term.style.sign("✗"),
            })
            .collect();
        term.line(&[(Tone::Usual, &" ".repeat(indent)), (Tone::Usual, &signs)])
    }
}

impl ScoreSince {
    pub(crate) fn sentence(&self, zone: &TimeZone) -> String {
        let when = match jiff::Timestamp::from_microsecond(self.when.0) {
            Ok(when) => when.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string(),
            Err(_) => "an unknown time".to_owned(),
        };
        let commit =
            self.commit.as_deref().map(|commit| format!(", commit {}", one_line(commit.get(..8).unwrap_or(commit))));
        let sure = match self.give_or_take {
            0 => String::new(),
            runs => format!(" (± {})", format::count(runs, "run")),
        };
        format!("{} since {when}{}{sure}", self.what, commit.unwrap_or_default())
    }
}

/// `12 %`, `0.4 %`, `under 0.1 %`.
pub(crate) fn percent(share: f64) -> String {
    match 100.0 * share {
        p if p <= 0.0 => "0 %".to_owned(),
        p if p < 0.1 => "under 0.1 %".to_owned(),
        p if p < 9.95 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(strip: &str, broken: usize) -> String {
        let outcome = |one| if one == '.' { RecentOutcome::Passed } else { RecentOutcome::Failed };
        let row = ScoreRow {
            test: String::new(),
            file: None,
            probability: 0.0,
            low: 0.0,
            high: 0.0,
            runs: 0,
            failures: 0,
            broken,
            state: ScoreState::Broken,
            since: None,
            owner: String::new(),
            seconds_lost: 0.0,
            strip: strip.chars().map(outcome).collect(),
            formerly: Vec::new(),
        };
        row.sentence()
    }

    #[test]
    fn a_pass_within_a_breakage_is_not_hidden() {
        assert_eq!(broken("x.xxx", 4), "failed its last 3 runs, 4 while broken");
        assert_eq!(broken("xxx", 3), "fails in every run (3 runs)");
        assert_eq!(broken("xxx", 30), "fails in every run (30 runs)", "only recent runs are in the strip");
    }
}
