//! Whether a seed decides: the test in new processes with chosen seeds, until one seed fails and
//! another passes, then each of the two several times.
//!
//! A seed that fails every time and one that passes every time prove that what processes draw at
//! random decides, and the failing one is a command that fails every time.

use std::cell::RefCell;
use std::rc::Rc;

use unflake_model::{
    Confidence, Detail, Event, Factor, FactorKind, Finding, Influence, Purpose, Replay, Session, Shows, TestId, World,
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
/// Runs in each of two worlds that differ in one kind of seed.
const TIMES_OF_KIND: usize = 2;

pub(crate) struct SeedTrial {
    test: TestId,
    kinds: Vec<FactorKind>,
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
    pub(crate) fn new(test: TestId, kinds: Vec<FactorKind>, max_seeds: u32, seconds: f64) -> Self {
        Self { test, kinds, max_seeds, seconds, task: SearchTask::default(), found: Rc::default() }
    }
}

impl Technique for SeedTrial {
    fn observe(&mut self, event: &Event, _: Recordings<'_>) {
        if let Event::TestsListed { .. } = event {
            let scheduler = Scheduler::new(unflake_model::Isolation::Process, self.seconds);
            let (test, kinds) = (self.test.clone(), self.kinds.clone());
            let trial = SeedRuns { scheduler: scheduler.clone(), test, kinds, max_seeds: self.max_seeds };
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
    max_seeds: u32,
}

impl SeedRuns {
    async fn run(&self) -> Option<DecidingSeed> {
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
        let failed = |outcome: unflake_model::Outcome| match () {
            () if outcome.is_failure() => Some(true),
            () if outcome.is_pass() => Some(false),
            () => None,
        };
        results.iter().map(|result| result.last().and_then(|last| failed(last.outcome))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{attempt, ended, listed};
    use unflake_model::{FactorDeclaration, FactorPhrase, Outcome, declare_factors};

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
        let mut trial = SeedTrial::new("t".into(), kinds.to_vec(), 24, 1e6);
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
}
