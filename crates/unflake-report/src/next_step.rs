//! The next step for a flaky test: the diagnosis that is known, or the command that finds one.
//! Every output takes it from here.

use serde::Serialize;
use unflake_model::{Detail, Finding, NioKind, VerdictKind};

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
    /// Whether its runner runs tests in a chosen order in one process.
    pub can_order: bool,
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
pub(crate) fn next_of_verdict<'a>(run: &RunReport<'a>, finding: &Finding) -> Option<NextStep<'a>> {
    let verdict = finding.verdict()?;
    // The verdict names the cause.
    if !verdict.evidence.left_files.is_empty() || !verdict.evidence.beside.is_empty() {
        return None;
    }
    let symptoms =
        Symptoms { test: finding.test.as_str(), verdict: Some(verdict.kind), state: None, can_order: run.can_order };
    next_step(&symptoms, run.known_about(&finding.test).map(|known| &known.finding))
}

/// The command that looks for the cause of an undiagnosed test.
pub(crate) fn next_command(symptoms: &Symptoms<'_>) -> Option<NextCommand> {
    if let Symptoms { verdict: Some(VerdictKind::FlakyStateDependent), state: None, can_order: false, .. } = symptoms {
        let (command, purpose) = ("unflake stress".to_owned(), "find the test that disturbs it");
        return Some(NextCommand { command, purpose });
    }
    let (name, purpose) = match symptoms {
        Symptoms { state: Some(ScoreState::Broken), .. } => ("history show", "since when it fails"),
        // Over many runs a real failure is one of several, and says nothing about the others.
        Symptoms { verdict: Some(VerdictKind::Real | VerdictKind::NotDecided), state: None, .. } => return None,
        _ => ("why", "find the root cause"),
    };
    Some(NextCommand { command: format!("unflake {name} {}", quote(symptoms.test)), purpose })
}

/// Whether a finding says why a test is flaky, not only that it is.
pub fn is_diagnosis(finding: &Finding) -> bool {
    match &finding.detail {
        Detail::Divergence(divergence) => !divergence.locations.is_empty(),
        Detail::State(leak) => !leak.cells.is_empty(),
        Detail::Order(order) => !order.culprits.is_empty(),
        Detail::Nio(nio) => matches!(nio.kind, NioKind::Nio | NioKind::Brittle),
        Detail::Factor(influence) => influence.kind != "none",
        Detail::Verdict(verdict) => !verdict.evidence.beside.is_empty(),
        Detail::Intersect(_) | Detail::Layer(_) | Detail::Filter(_) => false,
    }
}

/// The strongest diagnosis first; of equal ones, a line or another test before a condition of the
/// environment, and another test before the test itself, which a suite runs only once.
pub fn diagnosis_rank(finding: &Finding) -> impl Ord + use<> {
    let specific = match &finding.detail {
        Detail::State(leak) if leak.after.iter().any(|test| *test != finding.test) => 0,
        Detail::State(_) => 1,
        Detail::Order(_) => 2,
        Detail::Divergence(_) => 3,
        Detail::Nio(_) => 4,
        _ => 5,
    };
    (finding.confidence().is_none(), finding.confidence(), specific)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unflake_model::{Leak, LeakKind};

    fn symptoms(test: &str, verdict: VerdictKind) -> Symptoms<'_> {
        Symptoms { test, verdict: Some(verdict), state: None, can_order: true }
    }

    #[test]
    fn the_command_follows_from_the_evidence() {
        let command = |symptoms: &Symptoms| next_command(symptoms).map(|next| next.command);
        assert_eq!(command(&symptoms("t", VerdictKind::Real)), None);
        let why = Some("unflake why 't.py::a b'".to_owned());
        assert_eq!(command(&symptoms("t.py::a b", VerdictKind::FlakyIndependent)), why);
        assert_eq!(command(&symptoms("t.py::a b", VerdictKind::FlakyStateDependent)), why);
        let broken = Symptoms { state: Some(ScoreState::Broken), ..symptoms("t", VerdictKind::FlakyBursty) };
        assert_eq!(command(&broken), Some("unflake history show t".to_owned()));
        let unordered = Symptoms { can_order: false, ..symptoms("t", VerdictKind::FlakyStateDependent) };
        assert_eq!(command(&unordered), Some("unflake stress".to_owned()));
    }

    #[test]
    fn a_known_diagnosis_replaces_the_command() {
        let leak = |kind: LeakKind, path: &str| {
            let cell = unflake_model::Cell {
                path: path.into(),
                kind: "module global".into(),
                ..unflake_model::Cell::default()
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
        let next = next_step(&symptoms("t", VerdictKind::FlakyStateDependent), &known);
        assert_eq!(next, Some(NextStep::Diagnosed(&known[1])));
    }
}
