//! The tests several times on one version, to learn how far each assertion varies although nothing changed.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use unflake_model::{
    Assertion, AssertionOutcome, AssertionRecord, AssertionSample, AssertionSite, Event, Finding, Isolation, Placement,
    Purpose, Session, SessionId, Test, TestId, ValueGroup,
};

use crate::assertion_filter::flakiness::add;
use crate::search::select::chosen;
use crate::{AssertionSource, LearnedAssertion, Technique};

/// Reads what the assertions of an attempt saw.
pub type ReadAssertions<'a> = Box<dyn FnMut(&Path) -> Vec<AssertionRecord> + 'a>;

/// What is to be learned, and how.
pub struct FilterLearnConfig {
    /// By name or part of it; none: all.
    pub tests: Vec<String>,
    pub runs: u32,
    /// How runs after the first get their environment.
    pub fresh_by: Isolation,
    /// How many runs may go side by side. They may disturb each other then.
    pub at_once: usize,
}

pub struct FilterLearn<'a> {
    learning: FilterLearnConfig,
    read: ReadAssertions<'a>,
    listed: Vec<Test>,
    chosen: Vec<TestId>,
    /// Names that were given and fit no test.
    pub unknown: Vec<String>,
    asked: u32,
    /// What the attempt that is told next saw.
    next: Vec<AssertionRecord>,
    seen: BTreeMap<Assertion, Vec<ValueGroup>>,
    /// How many assertions may fail by now.
    may_fail: usize,
    sites: Vec<AssertionSite>,
    sources: HashMap<String, String>,
    /// How many attempts told what their assertions saw.
    pub looked: u32,
    pub attempts: u32,
}

impl<'a> FilterLearn<'a> {
    pub fn new(learning: FilterLearnConfig, read: ReadAssertions<'a>) -> Self {
        Self {
            learning,
            read,
            listed: Vec::new(),
            chosen: Vec::new(),
            unknown: Vec::new(),
            asked: 0,
            next: Vec::new(),
            seen: BTreeMap::new(),
            may_fail: 0,
            sites: Vec::new(),
            sources: HashMap::new(),
            looked: 0,
            attempts: 0,
        }
    }

    /// What was seen, without the version: that is for whoever keeps it.
    pub fn samples(&self) -> Vec<AssertionSample> {
        let body: HashMap<_, _> = self.sites.iter().map(|site| (&site.spot, &site.body)).collect();
        let sample = |(assertion, groups): (&Assertion, &Vec<ValueGroup>)| AssertionSample {
            body: body.get(&assertion.spot).map(|body| (*body).clone()).unwrap_or_default(),
            assertion: assertion.clone(),
            version: String::new(),
            groups: groups.clone(),
        };
        self.seen.iter().map(sample).collect()
    }

    /// An assertion that was learned before, as it is to be found from now on. None: it is not certain which it is now.
    pub fn again(&self, old: &LearnedAssertion) -> Option<LearnedAssertion> {
        let code = AssertionSource::new(&self.listed, &self.sites, &self.sources);
        code.find(old).ok().map(|now| code.learned(&now))
    }

    /// These assertions, as they are to be found again in other code.
    pub fn learned(&self, assertions: impl IntoIterator<Item = Assertion>) -> Vec<LearnedAssertion> {
        let code = AssertionSource::new(&self.listed, &self.sites, &self.sources);
        assertions.into_iter().map(|assertion| code.learned(&assertion)).collect()
    }
}

impl Technique for FilterLearn<'_> {
    fn hear(&mut self, event: &Event) {
        match event {
            Event::TestsListed { tests, .. } => {
                self.listed = tests.clone();
                let all: Vec<TestId> = tests.iter().map(|test| test.id.clone()).collect();
                (self.chosen, self.unknown) = match &self.learning.tests[..] {
                    [] => (all, Vec::new()),
                    names => chosen(&all, names),
                };
            }
            Event::LayersRecorded { file, .. } => {
                self.next = (self.read)(file);
                self.looked += 1;
            }
            Event::AttemptEnded(attempt) => {
                self.attempts += 1;
                for saw in std::mem::take(&mut self.next) {
                    let how = if saw.how == AssertionOutcome::Filtered { AssertionOutcome::Failed } else { saw.how };
                    let group = ValueGroup { how, values: saw.values, failing: saw.failing, times: 1 };
                    let assertion = Assertion { test: attempt.test.clone(), spot: saw.spot };
                    // What something else came out of says nothing of the assertion.
                    if group.how != AssertionOutcome::Raised {
                        add(self.seen.entry(assertion).or_default(), group);
                    }
                }
            }
            _ => {}
        }
    }

    fn ask(&mut self) -> Vec<Session> {
        let left = self.learning.runs.saturating_sub(self.asked);
        let now = if self.asked == 0 { 1 } else { self.learning.at_once.max(1) as u32 };
        let sessions = (0..left.min(now)).map(|more| {
            let id = SessionId(self.asked + more);
            let (purpose, place) = match id.0 {
                0 => (Purpose::Suite, Placement::Live),
                _ => (Purpose::Look, Placement::Fresh(self.learning.fresh_by)),
            };
            Session { place, ..Session::fresh(id, purpose, self.learning.fresh_by, self.chosen.clone()) }
        });
        let sessions: Vec<Session> = sessions.filter(|session| !session.tests.is_empty()).collect();
        self.asked += left.min(now);
        sessions
    }

    fn let_fail(&mut self, sites: &[AssertionSite], sources: &HashMap<String, String>) -> Vec<Assertion> {
        (self.sites, self.sources) = (sites.to_vec(), sources.clone());
        Vec::new()
    }

    /// Runs go on past what both held and failed, as they will with a filter: what comes after it is to be seen as often.
    fn may_fail_now(&mut self) -> Option<Vec<Assertion>> {
        let varies = |groups: &[ValueGroup]| {
            groups.iter().any(|group| group.how == AssertionOutcome::Held)
                && groups.iter().any(|group| group.how.is_failure())
        };
        let now: Vec<Assertion> =
            self.seen.iter().filter(|(_, groups)| varies(groups)).map(|(assertion, _)| assertion.clone()).collect();
        let changed = now.len() != self.may_fail;
        self.may_fail = now.len();
        (changed && !self.sites.is_empty()).then_some(now)
    }

    fn findings(&self) -> Vec<Finding> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests;
