//! `unflake filter label` and `unflake filter tune`: labels of failures, and the threshold that
//! follows from them.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;
use unflake_report::{self as report, TuneReport};
use unflake_techniques::{FailureLabel, Flakiness, ScoredFailure, ThresholdAdvice, ThresholdPoint, advise};

use crate::args::filter::{FilterLabelArgs, FilterTuneArgs, LabelName};
use crate::commands::filter::command::{known, path_of};
use crate::commands::filter::file::{FilterFile, RuleName};
use crate::config::project;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::console::print;
use crate::output::{write_file, write_to};

/// The labels file, beside the filter: on each line a label, a test and optionally an assertion,
/// separated by tabs.
pub(crate) const LABELS: &str = "unflake-labels.tsv";

fn labels(typed: Option<&Path>, here: &Path) -> PathBuf {
    typed.map_or_else(|| project::find(here).join(LABELS), Path::to_owned)
}

pub(crate) fn label(args: &FilterLabelArgs, here: &Path) -> Result<Exit, CommandError> {
    let path = labels(args.labels.as_deref(), here);
    if let Some(text) = [&args.test, args.expression.as_ref().unwrap_or(&args.test)]
        .into_iter()
        .find(|text| text.contains(['\t', '\n']))
    {
        return Err(CommandError::usage(format!(
            "`{}` cannot be labelled: it contains a tab or a line break",
            text.escape_debug()
        )));
    }
    let mut words = vec![args.label.word(), args.test.as_str()];
    words.extend(args.expression.as_deref());
    let write =
        || OpenOptions::new().create(true).append(true).open(&path)?.write_all((words.join("\t") + "\n").as_bytes());
    write().map_err(CommandError::cannot_write(&path))?;
    Ok(Exit::Success)
}

impl LabelName {
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        [Self::True, Self::Update, Self::Flaky].into_iter().find(|one| one.word() == word)
    }

    fn word(self) -> &'static str {
        match self {
            Self::True => "true",
            Self::Update => "update",
            Self::Flaky => "flaky",
        }
    }
}

/// A line of the labels file.
struct LabelLine<'a> {
    label: FailureLabel,
    test: &'a str,
    expression: Option<&'a str>,
}

fn parse<'a>(text: &'a str, path: &Path) -> Result<Vec<LabelLine<'a>>, CommandError> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    lines
        .map(|(at, line)| {
            let mut words = line.split('\t');
            let label = match words.next() {
                Some("true") => Some(FailureLabel::True),
                Some("update") => Some(FailureLabel::Update),
                Some("flaky") => Some(FailureLabel::Flaky),
                _ => None,
            };
            match (label, words.next()) {
                (Some(label), Some(test)) => Ok(LabelLine { label, test, expression: words.next() }),
                _ => Err(CommandError::usage(format!("{}, line {}: no label and test", path.display(), at + 1)).hint(
                    "each line is a label (true, update, flaky), a test and optionally an assertion, separated by tabs",
                )),
            }
        })
        .collect()
}

/// Every known assertion with its score and label, and how many labels match none. A label without
/// an assertion goes to the assertion of the test with the highest score.
fn scored(known: &[Flakiness], lines: &[LabelLine<'_>], rule: RuleName) -> (Vec<ScoredFailure>, usize) {
    let score = |one: &Flakiness| match rule {
        RuleName::Strict => one.worst_inconsistent().map_or(0.0, |seen| seen.score()),
        RuleName::Published => one.score(),
    };
    let mut scored: Vec<ScoredFailure> =
        known.iter().map(|one| ScoredFailure { score: score(one), label: None }).collect();
    let mut unknown = 0;
    for line in lines {
        let is_it = |one: &Flakiness| {
            one.assertion.test.as_str() == line.test
                && line.expression.is_none_or(|expression| expression == one.assertion.spot.expression)
        };
        let of_test = known.iter().enumerate().filter(|(_, one)| is_it(one));
        match of_test.max_by(|one, other| score(one.1).total_cmp(&score(other.1))) {
            Some((at, _)) => scored[at].label = Some(line.label),
            // It never varied, so no filter can contain it.
            None => {
                unknown += 1;
                scored.push(ScoredFailure { score: 0.0, label: Some(line.label) });
            }
        }
    }
    (scored, unknown)
}

pub(crate) fn tune(args: FilterTuneArgs, context: &Context) -> Result<Exit, CommandError> {
    let here = &context.here;
    let path = labels(args.labels.as_deref(), here);
    let text = fs::read_to_string(&path).map_err(|error| {
        CommandError::usage(format!("{} cannot be read: {error}", path.display()))
            .hint("create it with `unflake filter label true TEST` (a bug), or with `update` or `flaky`")
    })?;
    let filter = path_of(args.file.as_deref(), here);
    let file = FilterFile::read(&filter)?;
    let rule = args.rule.or(file.as_ref().map(|file| file.rule)).unwrap_or_default();
    let lines = parse(&text, &path)?;
    let (scored, unknown) = scored(&known(&context.store(args.store)?)?, &lines, rule);
    let Some(advice) = advise(&scored) else {
        let what = format!("{} has no failure labelled true or update", path.display());
        return Err(CommandError::usage(what)
            .hint("label at least one with `unflake filter label true TEST`; without labels the threshold is 0"));
    };
    let tuned = tuned(&advice, unknown);
    if let Some(path) = &args.html {
        write_file(path, |out| report::tune_page(&tuned, out)).map_err(CommandError::cannot_write(path))?;
    }
    let threshold = advice.point.threshold;
    if args.write {
        let mut file = file.unwrap_or_default();
        file.threshold = threshold;
        file.write(&filter)?;
    }
    let document = json!({
        "schema": 1, "command": "filter tune", "threshold": threshold, "removed": advice.point.removed, "kept": advice.point.kept,
        "balance": advice.balance, "bugs": advice.bugs, "updates": advice.updates, "flaky": advice.flaky,
        "varied": advice.varied, "may_lose": advice.may_lose,
        "curve": advice.curve.iter().map(|at| json!([at.threshold, at.removed, at.kept])).collect::<Vec<_>>(),
    });
    if let Some(path) = &args.json {
        write_to(path, |out| writeln!(out, "{document}")).map_err(CommandError::cannot_write(path))?;
    }
    if args.json.as_deref() != Some(Path::new("-")) {
        print("print the threshold", |out| report::tune_report(&tuned, &context.style(), out))?;
    }
    Ok(Exit::Success)
}

fn tuned(advice: &ThresholdAdvice, unknown: usize) -> TuneReport {
    let ThresholdPoint { threshold, removed, kept } = advice.point;
    TuneReport {
        threshold,
        removed: removed.unwrap_or(0.0),
        kept: kept.unwrap_or(1.0),
        balance: advice.balance,
        curve: advice.curve.iter().map(|at| (at.threshold, at.removed, at.kept)).collect(),
        bugs: advice.bugs,
        updates: advice.updates,
        flaky: advice.flaky,
        varied: advice.varied,
        unknown: unknown as u32,
        may_lose: advice.may_lose,
    }
}
