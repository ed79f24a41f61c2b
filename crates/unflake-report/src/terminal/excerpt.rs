//! Selects the source lines around a divergence, with what is known about each.

use std::collections::{BTreeMap, BTreeSet};

use unflake_model::{Divergence, DivergenceKind, DivergencePoint, Location, SourceLine, ValueSplit};

use crate::divergence_text::same_line;

/// Which runs execute a line after the divergence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExecutedBy {
    Both,
    Passing,
    Failing,
}

#[derive(Clone, Debug)]
pub(crate) enum LineNote<'a> {
    /// Values of a variable on this line.
    Value(&'a ValueSplit),
    /// The same lines run in another order from here.
    Order,
    /// The last common line; then whether failing and passing runs end there.
    Diverges {
        failing_end: bool,
        passing_end: bool,
    },
    /// Failing runs continue here: how many, and whether no passing run does.
    Failing {
        runs: u32,
        only: bool,
    },
    /// Passing runs continue here.
    Passing,
    FailureShown,
}

impl LineNote<'_> {
    /// The note as text; `values` formats a value split.
    pub(crate) fn text(&self, failed: u32, values: &dyn Fn(&ValueSplit) -> String) -> String {
        let text = match self {
            Self::Value(split) => return values(split),
            Self::Failing { runs, only } => {
                let passing = if *only { ", no passing run" } else { "" };
                return format!("{runs} of {failed} failing runs{passing}");
            }
            Self::Order => "the order differs from here",
            Self::Diverges { failing_end: true, .. } => "failing runs end here",
            Self::Diverges { passing_end: true, .. } => "passing runs end here",
            Self::Diverges { .. } => "runs diverge here",
            Self::Passing => "passing runs continue here",
            Self::FailureShown => "the failure shows here",
        };
        text.to_owned()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct ExcerptLine<'a> {
    pub(crate) number: u32,
    /// None where the source is not available.
    pub(crate) text: Option<String>,
    pub(crate) executed_by: Option<ExecutedBy>,
    /// The test starts to fail here.
    pub(crate) start: bool,
    pub(crate) notes: Vec<LineNote<'a>>,
    /// Whether lines before it were left out.
    pub(crate) gap: bool,
}

/// Some lines of one file, in order.
#[derive(Clone, Debug)]
pub(crate) struct Excerpt<'a> {
    pub(crate) file: &'a str,
    /// The function of the most important line.
    pub(crate) function: &'a str,
    pub(crate) rows: Vec<ExcerptLine<'a>>,
}

/// How much source to show.
#[derive(Clone, Copy)]
pub(crate) struct ExcerptLimits {
    /// Lines of context around each important line.
    pub(crate) context: u32,
    /// Lines of one file.
    pub(crate) rows: usize,
    pub(crate) files: usize,
    /// Whether every executed line is important, or only those with a note.
    pub(crate) all: bool,
}

pub(crate) type Sources<'a> = &'a dyn Fn(&str) -> Option<Vec<String>>;

/// What one excerpt shows: a location, and the divergence point that it belongs to.
#[derive(Clone, Copy)]
pub(crate) struct ExcerptScope<'a> {
    pub(crate) divergence: &'a Divergence,
    pub(crate) start: Option<&'a Location>,
    pub(crate) point: Option<&'a DivergencePoint>,
}

/// Gaps of this many lines are filled instead of marked.
const SMALL_GAP: u32 = 2;

impl<'a> ExcerptScope<'a> {
    pub(crate) fn excerpts(&self, sources: Sources, limits: ExcerptLimits) -> Vec<Excerpt<'a>> {
        let mut files: Vec<ExcerptFile<'a>> = Vec::new();
        for (line, context) in self.important_lines(limits) {
            let at = match files.iter().position(|file| file.name == line.file) {
                Some(at) => at,
                None if files.len() < limits.files => {
                    files.push(ExcerptFile::open(line, sources));
                    files.len() - 1
                }
                None => continue,
            };
            files[at].show(line.line, context, limits.rows);
        }
        files.into_iter().map(|file| file.excerpt(self)).collect()
    }

    /// The most important lines first, each with its lines of context.
    fn important_lines(&self, limits: ExcerptLimits) -> Vec<(&'a SourceLine, u32)> {
        let mut lines = Vec::new();
        lines.extend(self.start.map(|start| (&start.line, limits.context)));
        if let Some(point) = self.point {
            let firsts = [point.last.as_ref(), point.failing.first(), point.passing.first()];
            lines.extend(firsts.into_iter().flatten().map(|line| (line, limits.context)));
        }
        if limits.all {
            lines.extend(self.divergence.shows.as_ref().map(|shows| (shows, limits.context)));
            if let Some(point) = self.point {
                let rest = point.failing.iter().chain(&point.passing).chain(point.before.iter().rev());
                lines.extend(rest.map(|line| (line, 0)));
            }
        }
        lines
    }

    /// Whether no passing run does here what failing runs do. The divergence point alone does not
    /// show this: it has only one passing run.
    fn no_passing_run(&self) -> bool {
        let last = self.point.and_then(|point| point.last.as_ref());
        let here = |location: &&Location| last.is_some_and(|last| same_line(last, &location.line));
        let mut parts =
            self.divergence.locations.iter().filter(here).filter(|location| location.how == DivergenceKind::Control);
        parts.next().is_some_and(|location| location.passing == 0)
    }

    fn row(&self, file: &str, number: u32) -> ExcerptLine<'a> {
        let is = |line: &SourceLine| line.file == file && line.line == number;
        let start = self.start.filter(|start| is(&start.line));
        let mut notes = Vec::new();
        let mut executed_by = None;
        if let Some(start) = start {
            notes.extend(start.value.as_ref().map(LineNote::Value));
            notes.extend((start.how == DivergenceKind::Order).then_some(LineNote::Order));
        }
        if let Some(point) = self.point {
            executed_by = runs_executing(point, &is);
            if point.last.as_ref().is_some_and(is) {
                notes.push(LineNote::Diverges {
                    failing_end: point.failing.is_empty(),
                    passing_end: point.passing.is_empty(),
                });
            }
            let firsts = (point.failing.first(), point.passing.first());
            if !matches!(firsts, (Some(one), Some(other)) if same_line(one, other)) {
                if firsts.0.is_some_and(is) {
                    notes.push(LineNote::Failing { runs: point.runs, only: self.no_passing_run() });
                }
                if firsts.1.is_some_and(is) {
                    notes.push(LineNote::Passing);
                }
            }
        }
        if self.divergence.shows.as_ref().is_some_and(is) {
            notes.push(LineNote::FailureShown);
        }
        ExcerptLine { number, text: None, executed_by, start: start.is_some(), notes, gap: false }
    }
}

/// At the divergence the first line on each side belongs to that side, even if a loop executed it
/// before.
fn runs_executing(point: &DivergencePoint, is: &dyn Fn(&SourceLine) -> bool) -> Option<ExecutedBy> {
    let in_failing = point.failing.iter().any(is);
    let in_passing = point.passing.iter().any(is);
    let before = point.last.iter().chain(&point.before).any(is);
    match (in_failing, in_passing) {
        (true, true) => Some(ExecutedBy::Both),
        (true, false) if !before || point.failing.first().is_some_and(is) => Some(ExecutedBy::Failing),
        (false, true) if !before || point.passing.first().is_some_and(is) => Some(ExecutedBy::Passing),
        _ => before.then_some(ExecutedBy::Both),
    }
}

/// A file, and which of its lines are shown.
struct ExcerptFile<'a> {
    name: &'a str,
    function: &'a str,
    text: BTreeMap<u32, String>,
    shown: BTreeSet<u32>,
}

impl<'a> ExcerptFile<'a> {
    fn open(line: &'a SourceLine, sources: Sources) -> Self {
        let text = sources(&line.file).unwrap_or_default();
        let text = (1..).zip(text).map(|(number, line)| (number, line.trim_end().replace('\t', "    "))).collect();
        Self { name: &line.file, function: &line.function, text, shown: BTreeSet::new() }
    }

    /// Shows a line with its context, or alone where that exceeds the limit. The first line is
    /// always shown.
    fn show(&mut self, line: u32, context: u32, most: usize) {
        let around = line.saturating_sub(context)..=line.saturating_add(context);
        let around: BTreeSet<u32> = around.filter(|one| self.text.contains_key(one) || *one == line).collect();
        let room = most.saturating_sub(self.shown.len());
        if self.shown.is_empty() || around.difference(&self.shown).count() <= room {
            self.shown.extend(around);
        } else if room > 0 {
            self.shown.insert(line);
        }
    }

    fn excerpt(mut self, scope: &ExcerptScope<'a>) -> Excerpt<'a> {
        let neighbours: Vec<(u32, u32)> = self.shown.iter().copied().zip(self.shown.iter().copied().skip(1)).collect();
        for (one, next) in neighbours.into_iter().filter(|(one, next)| next - one <= SMALL_GAP + 1) {
            self.shown.extend((one + 1..next).filter(|between| self.text.contains_key(between)));
        }
        self.trim();
        let blanks = |text: &String| text.len() - text.trim_start_matches(' ').len();
        let shown = self.shown.iter().filter_map(|number| self.text.get(number)).filter(|text| !text.is_empty());
        let margin = shown.map(blanks).min().unwrap_or(0);
        let mut before = None;
        let rows = self.shown.iter().map(|&number| {
            let text = self.text.get(&number).map(|text| text.get(margin..).unwrap_or_default().to_owned());
            let gap = before.replace(number).is_some_and(|before| before + 1 < number);
            ExcerptLine { text, gap, ..scope.row(self.name, number) }
        });
        Excerpt { file: self.name, function: self.function, rows: rows.collect() }
    }

    /// Drops empty lines at both ends.
    fn trim(&mut self) {
        let empty = |number: &u32| self.text.get(number).is_some_and(String::is_empty);
        let Some(first) = self.shown.iter().copied().find(|number| !empty(number)) else { return };
        let last = self.shown.iter().copied().rfind(|number| !empty(number)).unwrap_or(first);
        self.shown.retain(|number| (first..=last).contains(number));
    }
}
