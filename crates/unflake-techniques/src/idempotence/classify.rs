//! Classifies tests that did not pass twice, and words the findings.

use unflake_model::{Detail, Failure, Finding, Isolation, Nio, NioKind, Outcome, Repeats, Replay, TestId};

use crate::finding::finding;
use crate::idempotence::nio::NioProgress;
use crate::leaked_state::proof::StateConclusion;
use crate::search::scheduler::{AttemptSummary, SessionResult};

/// A test that did not pass twice.
#[derive(Clone)]
pub(crate) struct NioSuspect {
    pub(crate) test: TestId,
    /// Outcomes of both runs in one environment, per repetition.
    pub(crate) twice: Vec<(Outcome, Outcome)>,
    /// Outcomes alone.
    pub(crate) alone: Vec<Outcome>,
    /// The session that reproduces it: the test twice, after others of its group if needed.
    pub(crate) order: Vec<TestId>,
    pub(crate) second_failure: Option<Failure>,
    pub(crate) state: Option<StateConclusion>,
    /// It passes when nothing runs in parallel.
    pub(crate) only_in_parallel: bool,
    /// The weakest isolation in which any of this was seen.
    pub(crate) fresh: Option<Isolation>,
}

/// A skip is neither a pass nor a failure.
fn matches(outcome: Outcome, well: bool) -> bool {
    if well { outcome.is_pass() } else { outcome.is_failure() }
}

impl NioSuspect {
    pub(crate) fn new(test: &TestId, twice: (Outcome, Outcome), order: Vec<TestId>) -> Self {
        Self {
            test: test.clone(),
            twice: vec![twice],
            alone: Vec::new(),
            order,
            second_failure: None,
            state: None,
            only_in_parallel: false,
            fresh: None,
        }
    }

    pub(crate) fn add_isolation<'a>(&mut self, attempts: impl IntoIterator<Item = &'a AttemptSummary>) {
        self.fresh = attempts.into_iter().map(|attempt| attempt.origin).chain(self.fresh).max();
    }

    /// `None`: it fails after others but not alone, which is not a matter of idempotence.
    pub(crate) fn kind(&self, progress: &NioProgress) -> Option<NioKind> {
        let twice = |first: bool, second: bool| {
            let same = |(one, two): &(Outcome, Outcome)| matches(*one, first) && matches(*two, second);
            self.twice.iter().all(same) && self.alone.iter().all(|one| matches(*one, first))
        };
        let is_victim = self.order.len() > 2
            && self.twice.iter().all(|(one, _)| one.is_failure())
            && self.alone.iter().all(|one| one.is_pass());
        let fails = twice(false, false) || self.fails_in_tear_down();
        Some(match () {
            () if is_victim || self.only_in_parallel => return None,
            () if twice(true, false) => NioKind::Nio,
            () if twice(false, true) => NioKind::Brittle,
            () if fails && progress.passed_in_suite.contains(&self.test) => NioKind::Brittle,
            () if fails => NioKind::Broken,
            () => NioKind::NonDeterministic,
        })
    }

    /// Whichever run is the last one fails, even if it is the first: the shared tear-down after the
    /// last test of a class or file fails.
    fn fails_in_tear_down(&self) -> bool {
        let last_fails = |(one, two): &(Outcome, Outcome)| one.is_pass() && two.is_failure();
        self.twice.iter().all(last_fails) && !self.alone.is_empty() && self.alone.iter().all(|one| one.is_failure())
    }

    pub(crate) fn has_passed(&self) -> bool {
        self.twice.iter().flat_map(|(one, two)| [one, two]).chain(&self.alone).any(|outcome| outcome.is_pass())
    }

    /// It passed the very first time and never again, in new processes either. That may be chance, or
    /// what it leaves outlives its process.
    pub(crate) fn may_outlive_its_process(&self) -> bool {
        let [(first, second), others @ ..] = self.twice.as_slice() else { return false };
        let later = others.iter().flat_map(|(one, two)| [one, two]).chain(&self.alone).chain([second]);
        !others.is_empty() && first.is_pass() && later.into_iter().all(|one| one.is_failure())
    }

    pub(crate) fn findings(&self, progress: &NioProgress) -> Vec<Finding> {
        let Some(kind) = self.kind(progress) else { return Vec::new() };
        let (first, second) = (self.twice[0].0.is_pass(), self.twice[0].1.is_pass());
        let same = self.twice.iter().filter(|(one, two)| matches(*one, first) && matches(*two, second));
        let evidence = Repeats {
            seen: same.count() as u32,
            tried: self.twice.len() as u32,
            alone_passed: self.alone.iter().filter(|one| one.is_pass()).count() as u32,
            alone_tried: self.alone.len() as u32,
        };
        let sentence = self.sentence(kind, &evidence, progress);
        let second_failure = self.second_failure.clone();
        let detail = Detail::Nio(Nio { kind, mode: progress.mode, evidence, fresh: self.fresh, second_failure });
        let replays = self.replays(kind);
        let found = finding(&self.test, detail, sentence, replays.clone());
        let state = self.state.iter().map(|state| state.finding(&self.test, replays.clone()));
        std::iter::once(found).chain(state).collect()
    }

    /// A brittle test that passes the second time has two sides to show.
    fn replays(&self, kind: NioKind) -> Vec<Replay> {
        let alone = vec![self.test.clone()];
        match kind {
            NioKind::Nio => vec![Replay::fails(self.order.clone())],
            NioKind::Brittle if self.twice[0].1.is_pass() => {
                vec![Replay::fails(alone), Replay::passes(self.order.clone())]
            }
            NioKind::Brittle | NioKind::Broken => vec![Replay::fails(alone)],
            NioKind::NonDeterministic => vec![Replay::sometimes_fails(alone)],
        }
    }

    fn sentence(&self, kind: NioKind, evidence: &Repeats, progress: &NioProgress) -> String {
        let Repeats { seen, tried, alone_passed, alone_tried } = *evidence;
        let mut sentence = match kind {
            NioKind::Nio if self.order.len() > 2 => {
                let others = match (self.order.len() - 2) / 2 {
                    1 => "1 other test".to_owned(),
                    others => format!("{others} other tests"),
                };
                format!(
                    "passes, then fails in a second run after {others} ({seen} of {tried} runs), not after itself alone"
                )
            }
            NioKind::Nio => {
                format!("passes, then fails in a second run in the same process ({seen} of {tried} runs)")
            }
            NioKind::Brittle if self.twice[0].1.is_pass() => {
                format!("fails, then passes in a second run in the same process ({seen} of {tried} runs)")
            }
            NioKind::Brittle => {
                let torn_down = self.fails_in_tear_down();
                let (failed, of) = if torn_down { (alone_tried - alone_passed, alone_tried) } else { (seen, tried) };
                format!("fails alone ({failed} of {of} runs), passes in the suite")
            }
            NioKind::Broken if self.fails_in_tear_down() => {
                format!("fails whenever it runs last ({tried} runs after itself, {alone_tried} alone)")
            }
            NioKind::Broken => format!("always fails ({tried} double runs, {alone_tried} alone)"),
            NioKind::NonDeterministic if self.may_outlive_its_process() => {
                let later = 2 * self.twice.len() + self.alone.len() - 1;
                return format!(
                    "passed once, then failed in all {later} later runs, in new processes too: it may leave something \
                     behind that outlives its process, such as a file; `unflake run` finds out which"
                );
            }
            NioKind::NonDeterministic => {
                let outcomes = self.twice.iter().flat_map(|(one, two)| [one, two]).chain(&self.alone);
                let (all, passed) = (outcomes.clone().count(), outcomes.filter(|one| one.is_pass()).count());
                return format!("random: {} of {all} runs did not pass", all - passed);
            }
        };
        match (alone_tried, kind) {
            (0, _) => {
                let why = if progress.over { "it could not be repeated" } else { "the search ended before" };
                sentence.push_str(&format!("; not confirmed: {why}"));
            }
            (_, NioKind::Brittle | NioKind::Broken) if self.fails_in_tear_down() => {
                sentence.push_str("; the failure is in a tear-down after the last test of its class or file");
            }
            (_, NioKind::Nio) => sentence.push_str(&format!("; passes alone ({alone_passed} of {alone_tried} runs)")),
            _ => {}
        }
        sentence
    }
}

/// Records every test of a group that did not pass both times.
pub(crate) fn record_suspects(group: &[TestId], result: &SessionResult, progress: &mut NioProgress) {
    let attempts = &result.attempts;
    for test in group {
        let Some(at) = attempts.iter().position(|attempt| attempt.test == *test) else {
            progress.untried.push(test.clone());
            continue;
        };
        let first = &attempts[at];
        if first.outcome == Outcome::Skipped {
            continue;
        }
        // A process that did not survive the first run cannot show the second.
        let second =
            attempts.get(at + 1).filter(|attempt| attempt.test == *test && attempt.environment == first.environment);
        let Some(second) = second else {
            if first.outcome.is_failure() {
                let mut suspect =
                    NioSuspect::new(test, (first.outcome, first.outcome), vec![test.clone(), test.clone()]);
                suspect.add_isolation([first]);
                progress.suspects.push(suspect);
            } else {
                progress.untried.push(test.clone());
            }
            continue;
        };
        if first.outcome.is_failure() || second.outcome.is_failure() {
            let order: Vec<TestId> = attempts[..=at + 1]
                .iter()
                .filter(|attempt| attempt.environment == first.environment)
                .map(|attempt| attempt.test.clone())
                .collect();
            let mut suspect = NioSuspect::new(test, (first.outcome, second.outcome), order);
            suspect.add_isolation([first]);
            suspect.second_failure.clone_from(&second.failure);
            progress.suspects.push(suspect);
        }
    }
}

/// Outcomes of a test that ran twice at the end of its session. A process that did not survive the
/// first run shows no second one.
pub(crate) fn last_two(attempts: &[AttemptSummary]) -> Option<(Outcome, Outcome)> {
    match attempts {
        [.., one, two] if one.environment == two.environment => Some((one.outcome, two.outcome)),
        [.., one, _] | [one] if one.outcome.is_failure() => Some((one.outcome, one.outcome)),
        _ => None,
    }
}
