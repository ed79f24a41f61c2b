//! The next step for a flaky test: the diagnosis that is known, or the command that finds one.
//! Every output takes it from here.

use serde::Serialize;
use unflake_model::{Detail, Finding, NioKind, VerdictKind};

use crate::attempts_by_test::TestCases;
use crate::divergence_text::finding_sentence;
use crate::{RunReport, ScoreState, quote};

/// What is known about a flaky test.
#[derive(Clone, Copy, Debug)]
pub struct Symptoms<'a> {
    pub test: &'a str,
    /// The verdict of the latest run, if any.
    pub verdict: Option<VerdictKind>,
    /// How it failed over many runs, if known.
    pub state: Option<ScoreState>,
    /// A failure message; empty if unknown.
    pub failure: &'a str,
    /// Whether execution paths of its runner can be recorded.
    pub can_locate: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum NextStep<'a> {
    /// The cause is known.
    Diagnosed(&'a Finding),
    /// Run this.
    Command(NextCommand),
}

/// A command of unflake, and what it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextCommand {
    pub command: String,
    pub purpose: &'static str,
}

/// The next step as pages show it, without the finding behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NextAction {
    /// The cause is known: this sentence follows the name of the test.
    Diagnosed { sentence: String, reproduce: Option<String> },
    /// Run this command for this purpose.
    Command { command: String, purpose: &'static str },
}

impl NextAction {
    pub fn of(step: &NextStep) -> Self {
        match step {
            NextStep::Diagnosed(finding) => Self::Diagnosed {
                sentence: finding_sentence(finding).into_owned(),
                reproduce: finding.command().map(str::to_owned),
            },
            NextStep::Command(next) => Self::Command { command: next.command.clone(), purpose: next.purpose },
        }
    }
}

/// `known`: the findings about the test. None: there is nothing to find out.
pub fn next_step<'a>(symptoms: &Symptoms<'_>, known: impl IntoIterator<Item = &'a Finding>) -> Option<NextStep<'a>> {
    let diagnosis = known.into_iter().filter(|finding| is_diagnosis(finding)).min_by_key(|one| diagnosis_rank(one));
    match diagnosis {
        Some(finding) => Some(NextStep::Diagnosed(finding)),
        None => next_command(symptoms).map(NextStep::Command),
    }
}

/// The next step for a verdict of a run, given the earlier findings about its test.
pub(crate) fn next_of_verdict<'a>(run: &RunReport<'a>, cases: &TestCases, finding: &Finding) -> Option<NextStep<'a>> {
    let failure = cases.get(&finding.test).and_then(|case| case.failures().next()?.failure.as_ref());
    let verdict = finding.verdict()?;
    // The verdict names the cause.
    if !verdict.evidence.left_files.is_empty() {
        return None;
    }
    let symptoms = Symptoms {
        test: finding.test.as_str(),
        verdict: Some(verdict.kind),
        state: None,
        failure: failure.map_or("", |failure| &failure.message),
        can_locate: run.can_locate,
    };
    next_step(&symptoms, run.known_about(&finding.test).map(|known| &known.finding))
}

/// The command that looks for the cause of an undiagnosed test.
pub(crate) fn next_command(symptoms: &Symptoms<'_>) -> Option<NextCommand> {
    let (name, purpose) = match symptoms {
        Symptoms { state: Some(ScoreState::Broken), .. } => ("history show", "since when it fails"),
        // Over many runs a real failure is one of several, and says nothing about the others.
        Symptoms { verdict: Some(VerdictKind::Real | VerdictKind::NotDecided), state: None, .. } => return None,
        Symptoms { verdict: Some(VerdictKind::FlakyStateDependent), .. } => ("order", "find the polluter"),
        Symptoms {
            verdict: Some(VerdictKind::FlakyBursty | VerdictKind::FlakySeedDependent | VerdictKind::UnaffectedByChange),
            ..
        }
        | Symptoms { state: Some(ScoreState::Bursty), .. } => FACTORS,
        _ if names_time(symptoms.failure) || compares_other_order(symptoms.failure) => FACTORS,
        Symptoms { can_locate: false, .. } => FACTORS,
        _ => ("locate", "find the line where it starts"),
    };
    Some(NextCommand { command: format!("unflake {name} {}", quote(symptoms.test)), purpose })
}

const FACTORS: (&str, &str) = ("factors", "find the condition");

/// Whether a finding says why a test is flaky, not only that it is.
pub fn is_diagnosis(finding: &Finding) -> bool {
    match &finding.detail {
        Detail::Divergence(divergence) => !divergence.locations.is_empty(),
        Detail::State(leak) => !leak.cells.is_empty(),
        Detail::Order(order) => !order.culprits.is_empty(),
        Detail::Nio(nio) => matches!(nio.kind, NioKind::Nio | NioKind::Brittle),
        Detail::Factor(influence) => influence.kind != "none",
        Detail::Verdict(_) | Detail::Intersect(_) | Detail::Layer(_) | Detail::Filter(_) => false,
    }
}

/// The strongest diagnosis first; of equal ones, a line or another test before a condition of the
/// environment.
pub fn diagnosis_rank(finding: &Finding) -> impl Ord + use<> {
    let specific = match &finding.detail {
        Detail::State(_) => 0,
        Detail::Order(_) => 1,
        Detail::Divergence(_) => 2,
        Detail::Nio(_) => 3,
        _ => 4,
    };
    (finding.confidence().is_none(), finding.confidence(), specific)
}

/// Whether a failure is about the clock or the calendar.
fn names_time(failure: &str) -> bool {
    const SIGNS: [&str; 8] =
        ["datetime", "timedelta", "timezone", "time zone", "strftime", "localdate", "localtime", "instant.now"];
    let failure = failure.to_lowercase();
    SIGNS.iter().any(|sign| failure.contains(sign))
}

/// Whether a failure compares the same items in another order, as an unordered collection gives
/// them.
fn compares_other_order(failure: &str) -> bool {
    failure.lines().any(|line| {
        let Some((left, right)) = line.split_once(" == ").or_else(|| line.split_once(" != ")) else { return false };
        match (items(left), items(right)) {
            (Some(left), Some(right)) if left != right => sorted(left) == sorted(right),
            _ => false,
        }
    })
}

/// The items of the list or tuple at the edge of a comparison.
fn items(text: &str) -> Option<Vec<&str>> {
    let (from, to) = (text.find(['[', '('])?, text.rfind([']', ')'])?);
    let items: Vec<&str> = text.get(from + 1..to)?.split(',').map(str::trim).collect();
    (items.len() > 1).then_some(items)
}

fn sorted(mut items: Vec<&str>) -> Vec<&str> {
    items.sort_unstable();
    items
}

#[cfg(test)]
mod tests {
    use super::*;
    use unflake_model::{Leak, LeakKind};

    fn symptoms<'a>(test: &'a str, verdict: VerdictKind, failure: &'a str) -> Symptoms<'a> {
        Symptoms { test, verdict: Some(verdict), state: None, failure, can_locate: true }
    }

    #[track_caller]
    fn check(verdict: VerdictKind, failure: &str, expected: Option<&str>) {
        let test = "t.py::a b";
        let found = next_command(&symptoms(test, verdict, failure)).map(|next| next.command);
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn the_command_follows_from_the_evidence() {
        check(VerdictKind::Real, "", None);
        check(VerdictKind::FlakyStateDependent, "datetime", Some("unflake order 't.py::a b'"));
        check(VerdictKind::FlakyBursty, "", Some("unflake factors 't.py::a b'"));
        check(VerdictKind::FlakyIndependent, "assert 3 == 4", Some("unflake locate 't.py::a b'"));
        check(VerdictKind::FlakyIndependent, "datetime.date(2026, 1, 1)", Some("unflake factors 't.py::a b'"));
        check(VerdictKind::FlakyIndependent, "assert ['b', 'a'] == ['a', 'b']", Some("unflake factors 't.py::a b'"));
        check(VerdictKind::FlakyIndependent, "assert [1, 2] == [1, 3]", Some("unflake locate 't.py::a b'"));
    }

    #[test]
    fn a_test_that_cannot_be_traced_is_not_located() {
        let blind = Symptoms { can_locate: false, ..symptoms("t", VerdictKind::FlakyIndependent, "") };
        assert_eq!(next_command(&blind).unwrap().command, "unflake factors t");
    }

    #[test]
    fn a_known_diagnosis_replaces_the_command() {
        let leak = |kind: LeakKind, path: &str| {
            let cell = unflake_model::Cell {
                path: path.into(),
                kind: "module global".into(),
                before: None,
                after: None,
                fixed: None,
                written: None,
            };
            let leak = Leak { kind, after: Vec::new(), cells: vec![cell], unknown: Vec::new(), evidence: None };
            Finding {
                test: "t".into(),
                detail: Detail::State(leak),
                sentence: String::new(),
                reproduce: Vec::new(),
                replays: Vec::new(),
            }
        };
        let known = [leak(LeakKind::Possible, "a"), leak(LeakKind::Proven, "b")];
        let next = next_step(&symptoms("t", VerdictKind::FlakyStateDependent, ""), &known);
        assert_eq!(next, Some(NextStep::Diagnosed(&known[1])));
    }
}
