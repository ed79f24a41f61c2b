//! What all pages rest on: how every test stands, what the runs came to, and which failures look alike. Computed from the whole history at once.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::path::Path;

use unflake_inquiry::{Seen, Standing, State};
use unflake_model::{Detail, Failure, Finding, Fingerprint, Location, Outcome, Phase, Timestamp};
use unflake_report::web::{Overall, Start};
use unflake_store::{FailureRef, Kin, Pulse, Ready, Said, Source, Store, TestKey, TextKey};

use crate::owners::Owners;
use crate::sources::hash;
use crate::standing::{self, Standings};
use crate::trouble::Trouble;
use crate::{project, score};

/// A test that is less likely to fail next time is not worth looking at.
const LEAST: f64 = 0.01;
/// A place that chance alone would bring about more often is a guess, and no cause that tests have in common.
const LIKELY: f64 = 0.05;
/// Findings that are looked at.
const SAID: usize = 10_000;

pub(crate) struct Overview {
    pub(crate) pulse: Pulse,
    pub(crate) standings: Standings,
    /// Where in the standings a test is.
    pub(crate) at: HashMap<TestKey, usize>,
    /// All tests, by their place in the standings: what cost most first, then by name.
    pub(crate) order: Vec<usize>,
    /// By the number of the run.
    pub(crate) tallies: Vec<Tally>,
    /// What cost most time first.
    pub(crate) causes: Vec<CauseFacts>,
    /// Of each test that concerns somebody, what it failed with.
    pub(crate) failures: HashMap<TestKey, Vec<SeenFailure>>,
    /// What was found out about tests.
    pub(crate) found: HashMap<TestKey, Vec<Said>>,
    /// Findings that somebody called of no use.
    useless: HashSet<Fingerprint>,
    /// The last reports that were prepared, of whichever files.
    pub(crate) ready: HashMap<TestKey, Ready>,
    pub(crate) owners: Owners,
}

/// What the executions of one run came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    pub(crate) seconds: f64,
}

impl Tally {
    pub(crate) fn executions(&self) -> u64 {
        self.passed + self.failed + self.skipped
    }

    pub(crate) fn add(&mut self, outcome: Outcome, seconds: f32) {
        self.seconds += f64::from(seconds);
        match outcome {
            outcome if outcome.is_failure() => self.failed += 1,
            outcome if outcome.is_pass() => self.passed += 1,
            _ => self.skipped += 1,
        }
    }
}

/// Failures of one test that look alike.
#[derive(Clone, Debug)]
pub(crate) struct SeenFailure {
    pub(crate) cause: String,
    pub(crate) fingerprint: String,
    pub(crate) count: usize,
    pub(crate) last: Timestamp,
    pub(crate) newest: FailureRef,
}

/// What is known of a cause.
#[derive(Clone, Debug)]
pub(crate) struct CauseFacts {
    pub(crate) id: String,
    pub(crate) failures: usize,
    pub(crate) seconds_lost: f64,
    pub(crate) last: Option<Timestamp>,
    /// None: its failures said nothing.
    pub(crate) newest: Option<FailureRef>,
    /// What cost most first.
    pub(crate) tests: Vec<TestKey>,
}

impl Overview {
    pub(crate) fn of(store: &Store, here: &Path) -> Result<Self, Trouble> {
        let pulse = store.pulse()?;
        let mut tallies: Vec<Tally> = Vec::new();
        let standings = standing::look_at(store, None, &mut |run, execution| {
            let run = run as usize;
            if run >= tallies.len() {
                tallies.resize(run + 1, Tally::default());
            }
            tallies[run].add(execution.outcome, execution.seconds);
        })?;
        tallies.resize(standings.runs.len(), Tally::default());
        let at: HashMap<TestKey, usize> = standings.all.iter().enumerate().map(|(at, (key, _))| (*key, at)).collect();
        let order = order(&standings);
        let keys: HashMap<&str, TestKey> = standings.tests.values().map(|kin| (kin.test.as_str(), kin.key)).collect();
        let mut found: HashMap<TestKey, Vec<Said>> = HashMap::new();
        for said in store.said(SAID)? {
            if let Some(key) = keys.get(said.finding.test.as_str()) {
                found.entry(*key).or_default().push(said);
            }
        }
        let ready = store.prepared(None)?.into_iter();
        let ready = ready.filter_map(|one| Some((*keys.get(one.test.as_str())?, one))).collect();
        let useless = store.answers()?.into_iter().filter(|one| !one.useful).map(|one| one.finding).collect();
        let located = found.iter().filter_map(|(key, said)| {
            let (finding, first) = divergence(said, &useless)?;
            (first.chance < LIKELY).then(|| (*key, finding.cause().0))
        });
        let failures = Failures { located: located.collect(), ..Failures::default() };
        let failures = failures.look(store, &standings, &at)?;
        let causes = causes(&standings, &at, &failures);
        let owners = Owners::find(&project::find(here));
        Ok(Self { pulse, standings, at, order, tallies, causes, failures, found, useless, ready, owners })
    }

    pub(crate) fn standing(&self, key: TestKey) -> Option<&Standing> {
        self.at.get(&key).map(|at| &self.standings.all[*at].1)
    }

    pub(crate) fn overall(&self) -> Overall {
        let states = || self.standings.all.iter().map(|(_, standing)| standing).filter(|one| concerns(one));
        let broken = states().filter(|one| one.score.state == State::Broken).count();
        Overall {
            tests: self.standings.all.len(),
            runs: self.standings.runs.len(),
            flaky: states().count() - broken,
            broken,
            set_apart: self.standings.bad_days.len(),
            seconds_lost: states().map(lost).sum(),
            since: self.standings.runs.first().map(|run| run.started),
            going_on: None,
            behind: false,
        }
    }

    /// Where a test starts to fail, by the last that was found out.
    pub(crate) fn starts(&self, key: TestKey) -> Option<Start> {
        let (_, first) = divergence(self.found.get(&key)?, &self.useless)?;
        Some(start(first))
    }
}

pub(crate) fn concerns(standing: &Standing) -> bool {
    score::concerns(standing, LEAST)
}

pub(crate) fn start(location: &Location) -> Start {
    Start {
        file: location.line.file.to_string(),
        line: location.line.line,
        chance: location.chance,
        sentence: location.sentence.clone(),
    }
}

/// The newest finding that says where a test starts, and where that is; of those that nobody called of no use.
fn divergence<'a>(said: &'a [Said], useless: &HashSet<Fingerprint>) -> Option<(&'a Finding, &'a Location)> {
    said.iter().map(|said| &said.finding).filter(|finding| !useless.contains(&finding.id())).find_map(|finding| {
        match &finding.detail {
            Detail::Divergence(divergence) => Some((finding, divergence.locations.first()?)),
            _ => None,
        }
    })
}

fn order(standings: &Standings) -> Vec<usize> {
    let mut order: Vec<usize> = (0..standings.all.len()).collect();
    let name = |at: usize| standings.tests.get(&standings.all[at].0).map(|kin: &Kin| kin.test.as_str());
    order.sort_by(|one, other| {
        let rank = |at: usize| {
            let standing = &standings.all[at].1;
            let lost = if concerns(standing) { -standing.seconds_lost } else { 0.0 };
            (!concerns(standing), standing.strip.is_empty(), lost)
        };
        let by_rank = rank(*one).partial_cmp(&rank(*other)).unwrap_or(std::cmp::Ordering::Equal);
        by_rank.then_with(|| name(*one).cmp(&name(*other)))
    });
    order
}

/// The failures of the tests that concern somebody, each since the last change of its behaviour.
#[derive(Default)]
struct Failures {
    /// The cause of tests of which it is known where they start to fail.
    located: HashMap<TestKey, String>,
    seen: HashMap<TestKey, Vec<SeenFailure>>,
    /// Of each way to say something its fingerprint, and whether the file is a part of it.
    known: HashMap<(Option<Phase>, TextKey, TextKey, Option<TextKey>), String>,
}

impl Failures {
    fn look(
        mut self,
        store: &Store,
        standings: &Standings,
        at: &HashMap<TestKey, usize>,
    ) -> Result<HashMap<TestKey, Vec<SeenFailure>>, Trouble> {
        let from: HashMap<TestKey, u32> = (standings.all.iter())
            .filter(|(_, standing)| concerns(standing))
            .map(|(key, standing)| (*key, since(standing)))
            .collect();
        let Some(earliest) = from.values().min() else { return Ok(self.seen) };
        for (run, parts) in (0..).zip(&standings.parts).skip(*earliest as usize) {
            if standings.bad_days.contains(&run) {
                continue;
            }
            let when = standings.runs[run as usize].started;
            for part in parts {
                let mut failed = Vec::new();
                store.failed_in(*part, &mut |test, failure| {
                    if at.contains_key(&test) && from.get(&test).is_some_and(|from| run >= *from) {
                        failed.push((test, failure));
                    }
                })?;
                for (test, failure) in failed {
                    self.add(store, standings.tests.get(&test), test, failure, when)?;
                }
            }
        }
        for seen in self.seen.values_mut() {
            seen.sort_by(|one, other| other.count.cmp(&one.count).then(other.last.cmp(&one.last)));
        }
        Ok(self.seen)
    }

    fn add(
        &mut self,
        store: &Store,
        kin: Option<&Kin>,
        test: TestKey,
        failure: FailureRef,
        when: Timestamp,
    ) -> Result<(), Trouble> {
        let said = (failure.phase, failure.kind, failure.message, failure.file);
        let fingerprint = match self.known.entry(said) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(fingerprint(store, failure)?),
        };
        // The same words in another file are another thing; reports do not say in which file it was.
        let cause = match (self.located.get(&test), failure.file, kin) {
            (Some(cause), ..) => cause.clone(),
            (None, None, Some(kin)) => joined(&[fingerprint, place(kin)]),
            _ => fingerprint.clone(),
        };
        let all = self.seen.entry(test).or_default();
        match all.iter_mut().find(|one| one.fingerprint == *fingerprint) {
            Some(known) => {
                known.count += 1;
                if when >= known.last {
                    (known.last, known.newest) = (when, failure);
                }
            }
            None => {
                all.push(SeenFailure { cause, fingerprint: fingerprint.clone(), count: 1, last: when, newest: failure })
            }
        }
        Ok(())
    }
}

fn fingerprint(store: &Store, failure: FailureRef) -> Result<String, Trouble> {
    let whole = Failure {
        phase: failure.phase.unwrap_or(Phase::Call),
        kind: store.text(failure.kind)?,
        message: store.text(failure.message)?,
        trace: String::new(),
        file: failure.file.map(|file| store.text(file)).transpose()?,
        line: None,
    };
    Ok(whole.fingerprint().0)
}

/// Where a test is: its file, else what stands before its own name.
fn place(kin: &Kin) -> &str {
    let name = kin.test.as_str();
    kin.file.as_deref().unwrap_or_else(|| name.rsplit_once("::").map_or(name, |(before, _)| before))
}

/// The number of the run since which a test behaves as it does.
fn since(standing: &Standing) -> u32 {
    let since = standing.score.since.map_or(0, |since| since.run);
    standing.strip.get(since).map_or(0, |(run, _)| *run)
}

/// What it has cost since then: of all that it cost, the part of the failing runs that came since.
fn lost(standing: &Standing) -> f64 {
    let failed = |from: u32| standing.strip.iter().filter(|(run, seen)| *run >= from && *seen != Seen::Passed).count();
    let all = failed(0).max(1) as f64;
    f64::from(standing.seconds_lost) * failed(since(standing)) as f64 / all
}

fn joined(parts: &[&str]) -> String {
    format!("{:016x}", hash(parts.join("\n").as_bytes()))
}

fn causes(
    standings: &Standings,
    at: &HashMap<TestKey, usize>,
    failures: &HashMap<TestKey, Vec<SeenFailure>>,
) -> Vec<CauseFacts> {
    let mut causes: HashMap<String, CauseFacts> = HashMap::new();
    let new = |id: &str| CauseFacts {
        id: id.to_owned(),
        failures: 0,
        seconds_lost: 0.0,
        last: None,
        newest: None,
        tests: Vec::new(),
    };
    for (key, standing) in standings.all.iter().filter(|(_, standing)| concerns(standing)) {
        let lost = lost(standing);
        let seen = failures.get(key).map_or(&[][..], Vec::as_slice);
        let all: usize = seen.iter().map(|one| one.count).sum();
        for one in seen {
            let cause = causes.entry(one.cause.clone()).or_insert_with(|| new(&one.cause));
            cause.failures += one.count;
            // What a test that fails in several ways has cost is shared among them.
            cause.seconds_lost += lost * one.count as f64 / all as f64;
            if cause.last.is_none_or(|last| last <= one.last) {
                (cause.last, cause.newest) = (Some(one.last), Some(one.newest));
            }
            if cause.tests.last() != Some(key) {
                cause.tests.push(*key);
            }
        }
        if seen.is_empty() {
            let name = standings.tests.get(key).map_or("", |kin| kin.test.as_str());
            let cause = CauseFacts {
                failures: standing.score.failures + standing.score.broken,
                seconds_lost: lost,
                last: last_failed(standing, standings).map(|run| run.started),
                tests: vec![*key],
                ..new(&joined(&["says nothing", name]))
            };
            causes.insert(cause.id.clone(), cause);
        }
    }
    let mut causes: Vec<CauseFacts> = causes.into_values().collect();
    let lost = |key: &TestKey| at.get(key).map_or(0.0, |at| lost(&standings.all[*at].1));
    for cause in &mut causes {
        cause.tests.sort_by(|one, other| lost(other).total_cmp(&lost(one)).then(one.cmp(other)));
    }
    causes.sort_by(|one, other| other.seconds_lost.total_cmp(&one.seconds_lost).then_with(|| one.id.cmp(&other.id)));
    causes
}

fn last_failed<'a>(standing: &Standing, standings: &'a Standings) -> Option<&'a Source> {
    let last = standing.strip.iter().rev().find(|(_, seen)| *seen != Seen::Passed)?;
    standings.runs.get(last.0 as usize)
}
