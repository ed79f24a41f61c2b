//! Flakiness scores: the probability that the next run of a test fails.

use std::io::{self, Write};

use jiff::tz::TimeZone;
use serde::Serialize;
use unflake_model::Timestamp;

use crate::terminal::writer::{Page, Tone};
use crate::text::format;
use crate::{Exit, TerminalStyle, one_line};

/// Scores, most likely to fail first.
#[derive(Clone, Debug)]
pub struct Scores {
    /// Known tests and runs, and runs excluded because most tests failed in them.
    pub tests: usize,
    pub runs: usize,
    pub bad_days: usize,
    pub since: Option<Timestamp>,
    pub rows: Vec<ScoreRow>,
    pub exit: Exit<'static>,
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
    pub strip: Vec<Strip>,
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
pub enum Strip {
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
    pub fn write(&self, limit: usize, zone: &TimeZone, look: &TerminalStyle, out: &mut dyn Write) -> io::Result<()> {
        let page = &mut Page::new(*look, out);
        let broken = self.rows.iter().filter(|row| row.state == ScoreState::Broken).count();
        let flaky = self.rows.iter().filter(|row| matches!(row.state, ScoreState::Flaky | ScoreState::Bursty)).count();
        let mut parts = vec![format::count(self.tests, "test"), format::count(self.runs, "run")];
        parts.push(format!("{flaky} flaky"));
        parts.push(format!("{broken} broken"));
        page.prose(2, Tone::Usual, &parts.join(look.sign(" · ")))?;
        if self.bad_days > 0 {
            let runs = format::count(self.bad_days, "run");
            let text = format!("{runs} set apart: most tests failed there, which no test can be blamed for");
            page.prose(2, Tone::Faint, &text)?;
        }
        for row in self.rows.iter().take(limit) {
            page.blank()?;
            row.head(page)?;
            row.body(page.indent(), zone, page)?;
        }
        page.blank()?;
        match self.rows.len().saturating_sub(limit) {
            0 => {}
            more => page.cut(2, &format!("and {more} more (--limit)"))?,
        }
        if flaky == 0 {
            return Ok(());
        }
        let next = format!("{} unflake locate TEST says where a flaky test starts to fail", look.sign("→"));
        page.prose(2, Tone::Faint, &next)
    }

    /// Writes one document in the form of `--json`.
    pub fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        #[derive(Serialize)]
        struct Finding<'a> {
            technique: &'static str,
            kind: ScoreState,
            sentence: String,
            #[serde(flatten)]
            row: &'a ScoreRow,
        }
        let findings: Vec<Finding> = self
            .rows
            .iter()
            .map(|row| Finding { technique: "score", kind: row.state, sentence: row.sentence(), row })
            .collect();
        let document = serde_json::json!({
            "schema": 1, "command": "score", "exit": self.exit, "tests": self.tests, "runs": self.runs, "set_apart": self.bad_days,
            "findings": findings,
        });
        serde_json::to_writer(&mut *out, &document)?;
        writeln!(out)
    }
}

impl ScoreRow {
    fn head(&self, page: &mut Page) -> io::Result<()> {
        let test = one_line(&self.test);
        match self.state {
            ScoreState::Broken => page.head(Tone::Bad, "✗", "BROKEN", &test),
            ScoreState::Sound => page.head(Tone::Good, "✓", &percent(self.probability), &test),
            _ => page.head(Tone::Odd, "≈", &percent(self.probability), &test),
        }
    }

    /// The complete description of a score.
    pub(crate) fn body(&self, indent: usize, zone: &TimeZone, page: &mut Page) -> io::Result<()> {
        page.prose(indent, Tone::Usual, &self.sentence())?;
        if let Some(since) = &self.since {
            page.prose(indent, Tone::Usual, &since.sentence(zone))?;
        }
        for name in &self.formerly {
            let words =
                format!("with the runs of {}, which was gone when this came with the same code", one_line(name));
            page.prose(indent, Tone::Faint, &words)?;
        }
        self.draw(indent, page)?;
        let mut rest = Vec::new();
        if self.seconds_lost >= 0.1 {
            rest.push(format!("{} lost in failing and running again", format::duration(self.seconds_lost)));
        }
        if !self.owner.is_empty() {
            rest.push(one_line(&self.owner).into_owned());
        }
        if rest.is_empty() { Ok(()) } else { page.prose(indent, Tone::Faint, &rest.join(page.look.sign(" · "))) }
    }

    /// The score with its evidence, as a sentence.
    pub(crate) fn sentence(&self) -> String {
        let runs = format::count(self.runs, "run");
        let aside = match self.broken {
            0 => String::new(),
            broken => format!("; {} while it was broken", format::count(broken, "failure")),
        };
        let bounds = format!("{} to {}", percent(self.low), percent(self.high));
        match self.state {
            ScoreState::Broken if self.runs == 0 => {
                format!("fails every time ({})", format::count(self.broken, "time"))
            }
            ScoreState::Broken => {
                let before = if self.failures == 0 {
                    "no flaky failure".to_owned()
                } else {
                    format::count(self.failures, "flaky failure")
                };
                format!("fails every time ({}); before that {before} in {runs}", format::count(self.broken, "time"))
            }
            ScoreState::Bursty => format!("failed {} of {runs}, in bursts; next time {bounds}{aside}", self.failures),
            _ => format!("failed {} of {runs}; next time {bounds}{aside}", self.failures),
        }
    }

    fn draw(&self, indent: usize, page: &mut Page) -> io::Result<()> {
        let room = page.look.width.saturating_sub(indent + 2);
        let strip = &self.strip[self.strip.len().saturating_sub(room)..];
        if strip.is_empty() {
            return Ok(());
        }
        let signs: String = strip
            .iter()
            .map(|one| match one {
                Strip::Passed => page.look.sign("·"),
                Strip::Flaked => page.look.sign("≈"),
                Strip::Failed => page.look.sign("✗"),
            })
            .collect();
        page.line(&[(Tone::Usual, &" ".repeat(indent)), (Tone::Usual, &signs)])
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
            runs => format!(", give or take {}", format::count(runs, "run")),
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
