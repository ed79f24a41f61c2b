//! Whether a seed decides: the test in new processes with chosen seeds, until one seed fails and
//! another passes, then each of the two several times.
//!
//! A seed that fails every time and one that passes every time prove that what processes draw at
//! random decides, and the failing one is a command that fails every time.
//!
//! Forks cost little, and what a test draws follows from a seed there, too. So many seeds are tried in
//! forks first: a test that fails with one seed in 300 needs that many.

use std::cell::RefCell;
use std::rc::Rc;

use unflake_model::{
    Confidence, Detail, Event, Factor, FactorKind, Finding, Influence, Isolation, Outcome, Purpose, Replay, Session,
    Shows, TestId, World,
};

use crate::environment::findings::rate;
use crate::finding::finding;
use crate::search::scheduler::{Scheduler, SearchTask, SessionRequest};
use crate::stats::failure_rate::{FailureCount, more_often};
use crate::{Recordings, Technique};

/// Seeds that are tried at once.
const AT_ONCE: usize = 4;
/// Runs with the failing and with the passing seed, including the first.
const TIMES: usize = 5;
/// Seeds that are tried in forks at once, and at most.
const FORKS_AT_ONCE: u64 = 16;
const MOST_FORKS: u64 = 4000;
/// The same where other techniques wait for their turn and no run has failed.
pub(crate) const FEW_FORKS: u64 = 128;
/// How often a failing seed is tried again in a fork, and how many may pass there: then it is not
/// what forks draw that decides.
const AGAIN: usize = 2;
const MOST_REFUTED: u32 = 3;
/// How much of the time forks may take.
const SHARE_OF_FORKS: f64 = 0.6;
/// Runs in each of two worlds that differ in one kind of seed.
const TIMES_OF_KIND: usize = 2;

pub(crate) struct SeedTrial {
    test: TestId,
    kinds: Vec<FactorKind>,
    /// The kind that forks can have. None: none.
    in_forks: Option<FactorKind>,
    most_forks: u64,
    max_seeds: u32,
    seconds: f64,
    task: SearchTask,
    found: Rc<RefCell<Option<DecidingSeed>>>,
}

/// A seed with which the test fails, and one with which it passes.
#[derive(Clone, Debug)]
struct DecidingSeed {
    fails: Vec<Factor>,
    passes: Vec<Factor>,
    failing: FailureCount,
    passing: FailureCount,
}

impl SeedTrial {
    /// `kinds`: the factors that are seeds. `max_seeds`: how many are tried.
    pub(crate) fn new(
        test: TestId,
        kinds: Vec<FactorKind>,
        in_forks: Option<FactorKind>,
        max_seeds: u32,
        seconds: f64,
    ) -> Self {
        let (most_forks, task) = (MOST_FORKS, SearchTask::default());
        Self { test, kinds, in_forks, most_forks, max_seeds, seconds, task, found: Rc::default() }
    }

    /// The same with fewer seeds in forks.
    pub(crate) fn with_few_forks(self) -> Self {
        Self { most_forks: FEW_FORKS, ..self }
    }
}

impl Technique for SeedTrial {
    fn observe(&mut self, event: &Event, _: Recordings<'_>) {
        if let Event::TestsListed { .. } = event {
            let scheduler = Scheduler::new(Isolation::Fork, self.seconds);
            let (test, kinds) = (self.test.clone(), self.kinds.clone());
            let (in_forks, max_seeds, seconds) = (self.in_forks, self.max_seeds, self.seconds);
            let most_forks = self.most_forks;
            let trial =
                SeedRuns { scheduler: scheduler.clone(), test, kinds, in_forks, most_forks, max_seeds, seconds };
            let found = self.found.clone();
            self.task.start(scheduler, async move {
                *found.borrow_mut() = trial.run().await;
            });
        }
        self.task.observe(event);
    }

    fn next_sessions(&mut self, _: Recordings<'_>) -> Vec<Session> {
        self.task.next_sessions()
    }

    fn findings(&self, _: Recordings<'_>) -> Vec<Finding> {
        self.found.borrow().iter().map(|found| found.finding(&self.test)).collect()
    }
}

impl DecidingSeed {
    fn finding(&self, test: &TestId) -> Finding {
        let Self { fails, passes, failing, passing } = self;
        let kinds: Vec<&str> = fails.iter().map(|factor| factor.kind().name).collect();
        let (title, seed) = match &fails[..] {
            [one] => (one.kind().title, one.setting()),
            several => ("seed", several.last().map_or("", Factor::setting)),
        };
        let other = passes.iter().find(|factor| Some(factor.kind()) == fails.last().map(Factor::kind));
        let sentence = format!(
            "the {title} decides: fails with {seed}, passes with {}",
            other.map_or("another", |factor| factor.setting())
        );
        let influence = Influence {
            kind: kinds.join("+"),
            confidence: Confidence::Proven,
            setting: fails.clone(),
            fails: true,
            threshold: None,
            rate: rate(*failing),
            baseline: rate(*passing),
            p_value: more_often(*failing, *passing),
            plan: Vec::new(),
            untried: Vec::new(),
            worst: fails.clone(),
            best: passes.clone(),
            runs: failing.runs + passing.runs,
        };
        let replay = |factors: &[Factor], shows| Replay {
            under: World::of(factors.to_vec()),
            shows,
            ..Replay::fails(vec![test.clone()])
        };
        let replays = vec![replay(fails, Shows::AlwaysFails), replay(passes, Shows::Passes)];
        finding(test, Detail::Factor(Box::new(influence)), sentence, replays)
    }
}

struct SeedRuns {
    scheduler: Scheduler,
    test: TestId,
    kinds: Vec<FactorKind>,
    in_forks: Option<FactorKind>,
    most_forks: u64,
    max_seeds: u32,
    seconds: f64,
}

impl SeedRuns {
    async fn run(&self) -> Option<DecidingSeed> {
        if let Some(kind) = self.in_forks
            && let Some((fails, passes)) = self.search_forks().await
            && let Some(found) = self.confirmed(kind, fails, passes).await
        {
            return Some(found);
        }
        self.search_processes().await
    }

    /// A seed that fails every time in forks, and one that passes.
    async fn search_forks(&self) -> Option<(u64, u64)> {
        let began = self.scheduler.seconds_left();
        let has_time = || began - self.scheduler.seconds_left() < self.seconds * SHARE_OF_FORKS;
        let (mut fails, mut passes, mut refuted) = (None, None, 0);
        for first in (1..self.most_forks).step_by(FORKS_AT_ONCE as usize) {
            if !has_time() || self.scheduler.out_of_time() {
                return None;
            }
            let some: Vec<u64> = (first..first + FORKS_AT_ONCE).collect();
            for (seed, failed) in some.iter().zip(self.forked(&self.scheduler, &some).await) {
                match failed {
                    Some(false) => passes = passes.or(Some(*seed)),
                    Some(true) if fails.is_none() => {
                        let again = self.forked(&self.scheduler.sequential(), &[*seed; AGAIN]).await;
                        match again.iter().all(|failed| *failed == Some(true)) {
                            true => fails = Some(*seed),
                            false => refuted += 1,
                        }
                    }
                    Some(true) => {}
                    None => return None,
                }
                if refuted == MOST_REFUTED {
                    return None;
                }
            }
            if fails.is_some() {
                return fails.zip(passes);
            }
        }
        None
    }

    /// Both seeds in new processes, several times.
    async fn confirmed(&self, kind: FactorKind, fails: u64, passes: u64) -> Option<DecidingSeed> {
        let set = |seed: u64| Some(vec![kind.set(&seed.to_string()).ok()?]);
        let (fails, passes) = (set(fails)?, set(passes)?);
        for _ in 0..TIMES {
            let both = [fails.clone(), passes.clone()];
            if self.outcomes(&self.scheduler.sequential(), &both).await != [Some(true), Some(false)] {
                return None;
            }
        }
        let times = TIMES as u32;
        let (failing, passing) = (FailureCount::new(times, times), FailureCount::new(0, times));
        Some(DecidingSeed { fails, passes, failing, passing })
    }

    async fn forked(&self, scheduler: &Scheduler, seeds: &[u64]) -> Vec<Option<bool>> {
        let request = |seed: &u64| SessionRequest {
            seed: Some(*seed),
            ..SessionRequest::new(Purpose::Factor, vec![self.test.clone()])
        };
        let results = scheduler.run(seeds.iter().map(request).collect()).await;
        results.iter().map(|result| result.last().and_then(|last| failed(last.outcome))).collect()
    }

    async fn search_processes(&self) -> Option<DecidingSeed> {
        let (mut fails, mut passes) = (None, None);
        let mut seeds = 1..=self.max_seeds;
        while fails.is_none() || passes.is_none() {
            let some: Vec<u32> = seeds.by_ref().take(AT_ONCE).collect();
            if some.is_empty() || self.scheduler.out_of_time() {
                return None;
            }
            let worlds: Vec<Vec<Factor>> = some.iter().map(|seed| self.all_set_to(*seed)).collect();
            for (seed, failed) in some.iter().zip(self.outcomes(&self.scheduler, &worlds).await) {
                match failed {
                    Some(true) => fails = fails.or(Some(*seed)),
                    Some(false) => passes = passes.or(Some(*seed)),
                    None => {}
                }
            }
        }
        let (fails, passes) = (self.all_set_to(fails?), self.all_set_to(passes?));
        // One after the other: copies at the same time may disturb each other.
        let alone = self.scheduler.sequential();
        for _ in 1..TIMES {
            let both = [fails.clone(), passes.clone()];
            if self.outcomes(&alone, &both).await != [Some(true), Some(false)] {
                return None;
            }
        }
        let times = TIMES as u32;
        let (failing, passing) = (FailureCount::new(times, times), FailureCount::new(0, times));
        let all = DecidingSeed { fails, passes, failing, passing };
        for at in 0..all.fails.len() {
            if let Some(single) = self.decides_alone(&alone, &all, at).await {
                return Some(single);
            }
        }
        Some(all)
    }

    /// Whether one kind of seed decides, whatever the others are.
    async fn decides_alone(&self, alone: &Scheduler, all: &DecidingSeed, at: usize) -> Option<DecidingSeed> {
        let with = |base: &[Factor], other: &[Factor]| {
            let mut factors = base.to_vec();
            factors[at] = other[at].clone();
            factors
        };
        let swapped = [with(&all.passes, &all.fails), with(&all.fails, &all.passes)];
        for _ in 0..TIMES_OF_KIND {
            if self.outcomes(alone, &swapped).await != [Some(true), Some(false)] {
                return None;
            }
        }
        let single = DecidingSeed {
            fails: vec![all.fails[at].clone()],
            passes: vec![all.passes[at].clone()],
            failing: FailureCount::default(),
            passing: FailureCount::default(),
        };
        let mut counts = [FailureCount::default(); 2];
        for _ in 0..TIMES {
            let results = self.outcomes(alone, &[single.fails.clone(), single.passes.clone()]).await;
            if results != [Some(true), Some(false)] {
                return None;
            }
            counts[0] = counts[0] + FailureCount::new(1, 1);
            counts[1] = counts[1] + FailureCount::new(0, 1);
        }
        Some(DecidingSeed { failing: counts[0], passing: counts[1], ..single })
    }

    fn all_set_to(&self, seed: u32) -> Vec<Factor> {
        self.kinds.iter().filter_map(|kind| kind.set(&seed.to_string()).ok()).collect()
    }

    /// Whether the test failed in each of these worlds. None: it did not run, or was skipped.
    async fn outcomes(&self, scheduler: &Scheduler, worlds: &[Vec<Factor>]) -> Vec<Option<bool>> {
        let request = |factors: &Vec<Factor>| SessionRequest {
            new_process: true,
            under: Some(World::of(factors.clone())),
            ..SessionRequest::new(Purpose::Factor, vec![self.test.clone()])
        };
        let results = scheduler.run(worlds.iter().map(request).collect()).await;
        results.iter().map(|result| result.last().and_then(|last| failed(last.outcome))).collect()
    }
}

/// None: it did not run, or was skipped.
fn failed(outcome: Outcome) -> Option<bool> {
    match () {
        () if outcome.is_failure() => Some(true),
        () if outcome.is_pass() => Some(false),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{attempt, ended, listed};
    use unflake_model::{FactorDeclaration, FactorPhrase, declare_factors};

    static RANDOM: FactorDeclaration = FactorDeclaration {
        name: "random-seed",
        title: "random seed",
        phrase: FactorPhrase::Seeds,
        ..FactorDeclaration::EMPTY
    };
    static HASH: FactorDeclaration = FactorDeclaration {
        name: "hash-seed",
        title: "hash seed",
        phrase: FactorPhrase::Seeds,
        ..FactorDeclaration::EMPTY
    };

    /// `fails`: by the settings of the random and the hash seed, where they are set.
    fn tried(fails: &mut dyn FnMut(Option<u32>, Option<u32>) -> bool) -> Vec<Finding> {
        declare_factors([&RANDOM, &HASH]);
        let kinds = ["random-seed", "hash-seed"].map(|name| FactorKind::named(name).unwrap());
        let mut trial = SeedTrial::new("t".into(), kinds.to_vec(), None, 24, 1e6);
        trial.observe(&listed(&["t"], false), Recordings::EMPTY);
        loop {
            let sessions = trial.next_sessions(Recordings::EMPTY);
            if sessions.is_empty() {
                return trial.findings(Recordings::EMPTY);
            }
            for session in sessions {
                let factors = session.under.clone().unwrap().factors;
                let seed = |kind: FactorKind| {
                    factors.iter().find(|factor| factor.kind() == kind).and_then(|factor| factor.setting().parse().ok())
                };
                let outcome = if fails(seed(kinds[0]), seed(kinds[1])) { Outcome::Failed } else { Outcome::Passed };
                trial.observe(&Event::AttemptEnded(attempt(&session, &"t".into(), outcome)), Recordings::EMPTY);
                trial.observe(&ended(&session), Recordings::EMPTY);
            }
        }
    }

    #[test]
    fn the_kind_of_seed_that_decides_is_named() {
        let found = tried(&mut |random, _| random.is_some_and(|seed| seed % 3 == 0));
        let [finding] = &found[..] else { panic!("{found:?}") };
        assert_eq!(finding.sentence, "the random seed decides: fails with 3, passes with 1");
        assert_eq!(finding.confidence(), Some(Confidence::Proven));
        assert_eq!(finding.replays[0].under.options(), ["--random-seed=3"]);
    }

    #[test]
    fn seeds_that_decide_together_are_set_together() {
        let mut chance = 0;
        let mut fails = |random: Option<u32>, hash: Option<u32>| match (random, hash) {
            (Some(random), Some(hash)) => (random + hash) % 4 == 0,
            _ => {
                chance += 1;
                chance % 2 == 0
            }
        };
        let found = tried(&mut fails);
        let [finding] = &found[..] else { panic!("{found:?}") };
        assert_eq!(finding.replays[0].under.options(), ["--random-seed=2", "--hash-seed=2"]);
    }

    #[test]
    fn what_varies_with_the_same_seed_is_not_decided_by_it() {
        let mut run = 0;
        let varies = &mut |_: Option<u32>, _: Option<u32>| {
            run += 1;
            run % 3 == 0
        };
        assert!(tried(varies).is_empty());
        assert!(tried(&mut |_, _| false).is_empty());
        assert!(tried(&mut |_, _| true).is_empty());
    }

    /// `fails`: by the seed, and the number of the run. Findings, runs in forks and in new processes.
    fn tried_in_forks(fails: &mut dyn FnMut(u64, u32) -> bool) -> (Vec<Finding>, u32, u32) {
        declare_factors([&RANDOM, &HASH]);
        let kinds = ["random-seed", "hash-seed"].map(|name| FactorKind::named(name).unwrap());
        let mut trial = SeedTrial::new("t".into(), kinds.to_vec(), Some(kinds[0]), 8, 1e6);
        trial.observe(&listed(&["t"], false), Recordings::EMPTY);
        let (mut forks, mut processes) = (0, 0);
        loop {
            let sessions = trial.next_sessions(Recordings::EMPTY);
            if sessions.is_empty() {
                return (trial.findings(Recordings::EMPTY), forks, processes);
            }
            for session in sessions {
                let of_process = session.under.as_ref().and_then(|world| world.factors[0].setting().parse().ok());
                *(if session.seed.is_some() { &mut forks } else { &mut processes }) += 1;
                let seed = session.seed.or(of_process).unwrap();
                let outcome = if fails(seed, forks + processes) { Outcome::Failed } else { Outcome::Passed };
                trial.observe(&Event::AttemptEnded(attempt(&session, &"t".into(), outcome)), Recordings::EMPTY);
                trial.observe(&ended(&session), Recordings::EMPTY);
            }
        }
    }

    #[test]
    fn a_rare_seed_is_found_in_forks_and_confirmed_in_processes() {
        let (found, forks, processes) = tried_in_forks(&mut |seed, _| seed % 300 == 250);
        let [finding] = &found[..] else { panic!("{found:?}") };
        assert_eq!(finding.confidence(), Some(Confidence::Proven));
        assert_eq!(finding.replays[0].under.options(), ["--random-seed=250"]);
        assert!((250..280).contains(&forks), "{forks}");
        assert_eq!(processes, 2 * TIMES as u32);
    }

    #[test]
    fn chance_that_no_seed_decides_ends_the_search_in_forks() {
        let (found, forks, _) = tried_in_forks(&mut |_, run| run % 5 == 0);
        assert!(found.is_empty(), "{found:?}");
        assert!(forks < 40, "{forks}");
    }

    #[test]
    fn a_test_that_fails_with_every_seed_is_not_decided_by_one() {
        let (found, forks, _) = tried_in_forks(&mut |_, _| true);
        assert!(found.is_empty(), "{found:?}");
        assert!(forks <= FORKS_AT_ONCE as u32 + AGAIN as u32, "{forks}");
    }
}
