//! A run in which assertions that are known to vary without a change may fail. Another inquiry does the work; this one tells it how
//! attempts ended, and says afterwards what did not count.

use std::collections::{BTreeMap, HashMap, HashSet};

use unflake_model::{
    Assertion, AssertionOutcome, AssertionRecord, AssertionSite, Attempt, Event, FilterKind, Finding, Isolation,
    Outcome, Purpose, Session, SessionId, Test, TestId,
};

use crate::assertion_filter::findings;
use crate::assertion_filter::learn::ReadAssertions;
use crate::variance::entropy::wilson;
use crate::{AssertionSource, Flakiness, LearnedAssertion, Technique};

/// An assertion that may fail.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterEntry {
    pub learned: LearnedAssertion,
    pub score: f64,
    /// How often it was seen without a change, on the version on which it varied most, and how often of these it failed.
    pub runs: u32,
    pub failed: u32,
    /// What it saw when it failed without a change.
    pub failing: Vec<String>,
    /// Why it may not fail after all: it has expired, or its score is not beyond the threshold.
    pub inert: Option<String>,
}

/// What a failure must be like to be let go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FilterRule {
    /// It is like one that was seen without a change, and the assertion does not fail every time now if that would be more than chance;
    /// or it held when it was run again.
    #[default]
    Strict,
    /// Anything.
    Published,
}

/// So unlikely must it be that an assertion fails that often by chance.
const BY_CHANCE: f64 = 0.01;
/// But no more attempts than these are made. What never held in them counts, although it may fail that often without a change: nothing is
/// let go that was not seen to hold here.
const MOST_ATTEMPTS: u32 = 20;
/// So many attempts are made before it is looked whether it has held.
const AT_ONCE: u32 = 4;
/// Sessions of the other inquiry have smaller numbers.
const OWN_SESSIONS: u32 = 1 << 30;

/// What became of an assertion that may fail, in all attempts here.
#[derive(Default)]
struct Trial {
    held: u32,
    failed: u32,
    /// Failures that say something of their own. Copies of one process share what was drawn when it started, such as the seed of its
    /// hashes: all of them together are one.
    alone: u32,
    copies: bool,
    /// It fails every time, and more often than it did by chance.
    too_often: bool,
}

impl Trial {
    /// How many failures there are that do not hang together.
    fn count(&self) -> u32 {
        self.alone + u32::from(self.copies)
    }
}

pub struct Filter<'a> {
    inner: Box<dyn Technique + 'a>,
    read: ReadAssertions<'a>,
    rule: FilterRule,
    entries: Vec<FilterEntry>,
    /// Score and runs of everything that was ever looked at; of assertions of this code, once it is known.
    known: HashMap<Assertion, (f64, u32)>,
    bodies: HashMap<Assertion, String>,
    listed: Vec<Test>,
    /// The assertions of this code that entries are about.
    matched: HashMap<Assertion, Vec<usize>>,
    /// Entries that are about none, and why.
    unmatched: Vec<(usize, String)>,
    /// What the attempt that is told next saw.
    next: Vec<AssertionRecord>,
    /// What was let fail, as it first did; and whether in a way that it never did before.
    let_go: BTreeMap<Assertion, (AssertionRecord, bool)>,
    trials: BTreeMap<Assertion, Trial>,
    /// How many sessions of our own were asked for, and how often some were.
    asked: u32,
    rounds: u32,
    /// Assertions that failed and counted, as they first did.
    failed: BTreeMap<Assertion, AssertionRecord>,
}

impl<'a> Filter<'a> {
    pub fn new(
        inner: Box<dyn Technique + 'a>,
        entries: Vec<FilterEntry>,
        known: &[Flakiness],
        rule: FilterRule,
        read: ReadAssertions<'a>,
    ) -> Self {
        Self {
            inner,
            read,
            rule,
            entries,
            known: known.iter().map(|one| (one.assertion.clone(), (one.score(), one.worst().runs()))).collect(),
            bodies: known.iter().map(|one| (one.assertion.clone(), one.body.clone())).collect(),
            listed: Vec::new(),
            matched: HashMap::new(),
            unmatched: Vec::new(),
            next: Vec::new(),
            let_go: BTreeMap::new(),
            trials: BTreeMap::new(),
            asked: 0,
            rounds: 0,
            failed: BTreeMap::new(),
        }
    }

    fn entries_of(&self, assertion: &Assertion) -> impl Iterator<Item = &FilterEntry> {
        self.matched.get(assertion).into_iter().flatten().map(|at| &self.entries[*at])
    }

    /// Whether an assertion failed in a way that is known to come without a change.
    fn is_like_before(&self, assertion: &Assertion, saw: &AssertionRecord) -> bool {
        let known: HashSet<&String> = self.entries_of(assertion).flat_map(|entry| &entry.failing).collect();
        self.rule == FilterRule::Published || saw.failing.iter().all(|values| known.contains(values))
    }

    /// The attempt as it is to count.
    fn judge(&mut self, attempt: &Attempt) -> Attempt {
        let mut judged = attempt.clone();
        for saw in std::mem::take(&mut self.next).into_iter().filter(|_| attempt.purpose != Purpose::Base) {
            let assertion = Assertion { test: attempt.test.clone(), spot: saw.spot.clone() };
            match saw.how {
                AssertionOutcome::Filtered => {
                    let unlike = !self.is_like_before(&assertion, &saw);
                    let counts = match () {
                        () if self.fails_too_often(&assertion, attempt) => {
                            Some("It is in the filter, but fails every time now.")
                        }
                        () if unlike => Some("It is in the filter, but never failed with these values before."),
                        () => None,
                    };
                    if let Some(why) = counts.filter(|_| judged.outcome.is_pass()) {
                        (judged.outcome, judged.failure) = (Outcome::Failed, Some(findings::failure(&saw, why)));
                    }
                    self.let_go.entry(assertion).or_insert((saw, unlike));
                }
                AssertionOutcome::Failed => drop(self.failed.entry(assertion).or_insert(saw)),
                AssertionOutcome::Held if self.matched.contains_key(&assertion) => {
                    self.trials.entry(assertion).or_default().held += 1
                }
                AssertionOutcome::Held | AssertionOutcome::Raised => {}
            }
        }
        judged
    }

    /// Counts one more failure of an assertion that never held here. Whether these are now more than chance.
    fn fails_too_often(&mut self, assertion: &Assertion, attempt: &Attempt) -> bool {
        let enough = self.enough(assertion);
        let trial = self.trials.entry(assertion.clone()).or_default();
        trial.failed += 1;
        let is_copy = attempt.origin == Isolation::Fork || attempt.session.0 < OWN_SESSIONS;
        trial.alone += u32::from(!is_copy);
        trial.copies |= is_copy;
        trial.too_often = trial.held == 0 && enough.is_some_and(|enough| trial.count() >= enough);
        trial.too_often
    }

    /// After how many failures and no pass an assertion fails more often than without a change, or so often that it may not be let go
    /// unseen. None: that does not matter.
    fn enough(&self, assertion: &Assertion) -> Option<u32> {
        if self.rule == FilterRule::Published {
            return None;
        }
        // As often as it may fail without a change, given how seldom it was seen.
        let most = self.entries_of(assertion).map(|entry| wilson(entry.failed, entry.runs).1).fold(0.0, f64::max);
        let enough = if most < 1.0 { (BY_CHANCE.ln() / most.ln()).ceil() } else { f64::INFINITY };
        Some(enough.clamp(2.0, f64::from(MOST_ATTEMPTS)) as u32)
    }

    /// Once more, alone, every test in which something was let fail that has not held here yet: in copies first, which cost little, then
    /// in processes of their own.
    fn sessions_to_try(&mut self) -> Vec<Session> {
        // A test that does not get as far as its assertion when it is alone is not waited for.
        if self.rounds * AT_ONCE > MOST_ATTEMPTS {
            return Vec::new();
        }
        let origin = if self.rounds == 0 { Isolation::Fork } else { Isolation::Process };
        self.rounds += 1;
        let real = real(&self.inner.findings());
        let mut times: BTreeMap<&TestId, u32> = BTreeMap::new();
        for assertion in self.let_go.keys().filter(|assertion| !real.contains(&assertion.test)) {
            let trial = self.trials.get(assertion).filter(|trial| trial.held == 0);
            let missing = trial.and_then(|trial| self.enough(assertion)?.checked_sub(trial.count())).unwrap_or(0);
            let known = times.entry(&assertion.test).or_default();
            *known = missing.min(AT_ONCE).max(*known);
        }
        let sessions = times.into_iter().flat_map(|(test, times)| (0..times).map(move |_| test.clone()));
        let session = |(id, test)| Session::fresh(SessionId(id), Purpose::Fresh, origin, vec![test]);
        let sessions: Vec<Session> = (OWN_SESSIONS + self.asked..).zip(sessions).map(session).collect();
        self.asked += sessions.len() as u32;
        sessions
    }

    /// The entry that says most of an assertion.
    fn entry_of(&self, assertion: &Assertion) -> Option<&FilterEntry> {
        self.entries_of(assertion).max_by(|one, other| one.score.total_cmp(&other.score))
    }

    fn finding(&self, kind: FilterKind, assertion: Assertion, saw: &AssertionRecord, why: Option<&str>) -> Finding {
        let entry = self.entry_of(&assertion).map(|entry| (entry.score, entry.runs));
        let known = entry.or_else(|| self.known.get(&assertion).copied());
        findings::finding(kind, assertion, saw, known, why)
    }

    /// Of a failure that counts.
    fn class(&self, assertion: &Assertion) -> (FilterKind, Option<String>) {
        if let Some(entry) = self.entries_of(assertion).next() {
            return (FilterKind::NotInForce, entry.inert.clone());
        }
        match self.known.get(assertion) {
            Some((score, _)) if *score > 0.0 => (FilterKind::NotInForce, Some("it is not in the filter".to_owned())),
            Some(_) => (FilterKind::NeverVaried, None),
            None => (FilterKind::Unknown, None),
        }
    }
}

fn real(findings: &[Finding]) -> HashSet<TestId> {
    findings.iter().filter(|one| one.is_real()).map(|one| one.test.clone()).collect()
}

/// Whether it is about a session of the other inquiry.
fn is_of_inner(event: &Event) -> bool {
    let id = match event {
        Event::AttemptStarted { session, .. } | Event::SessionEnded { session, .. } => *session,
        Event::AttemptEnded(attempt) => attempt.session,
        _ => return true,
    };
    id.0 < OWN_SESSIONS
}

impl Technique for Filter<'_> {
    fn hear(&mut self, event: &Event) {
        if let Event::TestsListed { tests, .. } = event {
            self.listed = tests.clone();
        }
        if is_of_inner(event) {
            self.inner.hear(event);
        }
    }

    fn ask(&mut self) -> Vec<Session> {
        match self.inner.ask() {
            none if none.is_empty() => self.sessions_to_try(),
            sessions => sessions,
        }
    }

    fn let_fail(&mut self, sites: &[AssertionSite], sources: &HashMap<String, String>) -> Vec<Assertion> {
        let code = AssertionSource::new(&self.listed, sites, sources);
        for (at, entry) in self.entries.iter().enumerate() {
            match code.find(&entry.learned) {
                Ok(assertion) => self.matched.entry(assertion).or_default().push(at),
                Err(why) if entry.inert.is_none() => self.unmatched.push((at, why)),
                Err(_) => {}
            }
        }
        // What is known of an assertion that has moved is only told, and lets nothing fail.
        for (assertion, body) in std::mem::take(&mut self.bodies) {
            let old = LearnedAssertion { assertion, body, same: 1, source: None, alike: false };
            let now = code.find(&old).ok().filter(|now| !self.known.contains_key(now));
            if let (Some(now), Some(known)) = (now, self.known.get(&old.assertion).copied()) {
                self.known.insert(now, known);
            }
        }
        let in_force = |at: &usize| self.entries[*at].inert.is_none();
        let may_fail = self.matched.iter().filter(|(_, entries)| entries.iter().any(in_force));
        let mut may_fail: Vec<Assertion> = may_fail.map(|(assertion, _)| assertion.clone()).collect();
        may_fail.sort();
        may_fail
    }

    fn instead(&mut self, observed: &[Event]) -> Option<Vec<Event>> {
        let instead = |one: &Event| match one {
            Event::LayersRecorded { file, .. } => {
                self.next = (self.read)(file);
                one.clone()
            }
            Event::AttemptEnded(attempt) => Event::AttemptEnded(self.judge(attempt)),
            other => other.clone(),
        };
        Some(observed.iter().map(instead).collect())
    }

    /// Entries that do nothing here, each with the reason.
    fn notes(&self) -> Vec<String> {
        let unmatched = self.unmatched.iter().map(|(at, why)| (&self.entries[*at], why));
        let inert = self.entries.iter().filter_map(|entry| Some((entry, entry.inert.as_ref()?)));
        let stale = inert.chain(unmatched).map(|(entry, why)| {
            let Assertion { test, spot } = &entry.learned.assertion;
            format!("the filter does nothing for `{}` in {test}: {why}", spot.expression)
        });
        self.inner.notes().into_iter().chain(stale).collect()
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings = self.inner.findings();
        let real = real(&findings);
        let mut judged = real.clone();
        for (assertion, (saw, unlike)) in &self.let_go {
            let trial = self.trials.get(assertion).filter(|trial| trial.too_often && trial.held == 0);
            let kind = match trial {
                _ if *unlike && real.contains(&assertion.test) => FilterKind::NeverLikeThis,
                Some(_) => FilterKind::EveryTime,
                None => FilterKind::Flaky,
            };
            if let Some(trial) = trial.filter(|_| judged.insert(assertion.test.clone())) {
                findings.retain(|finding| finding.test != assertion.test || finding.verdict().is_none());
                let before = self.entry_of(assertion).map(|entry| (entry.failed, entry.runs));
                findings.push(findings::verdict(&assertion.test, trial.failed, before));
            }
            findings.push(self.finding(kind, assertion.clone(), saw, None));
        }
        for (assertion, saw) in self.failed.iter().filter(|(assertion, _)| real.contains(&assertion.test)) {
            let (kind, why) = self.class(assertion);
            findings.push(self.finding(kind, assertion.clone(), saw, why.as_deref()));
        }
        findings
    }
}

#[cfg(test)]
mod tests;
