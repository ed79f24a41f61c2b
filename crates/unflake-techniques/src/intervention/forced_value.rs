//! Forces the value at each located line, the likeliest first, until one decides the outcome: with
//! the value of failing runs it fails every time, and with that of passing runs it passes every time.
//!
//! Where seeds are known, the value is forced against them: the failing one where the test would
//! pass, the passing one where it would fail. Else there are so many runs that chance alone rarely
//! gives either.

use std::cell::RefCell;
use std::rc::Rc;

use unflake_model::{
    Detail, Divergence, Event, Factor, FactorKind, Finding, ForcedValue, Isolation, Location, Outcome, Purpose, Replay,
    Session, Shows, TestId, World,
};

use crate::finding::finding;
use crate::intervention::chosen_values::{ChosenValues, chosen_values};
use crate::search::scheduler::{Scheduler, SearchTask, SessionRequest};
use crate::{Recordings, Technique};

/// Runs in each direction, at least and at most.
pub(crate) const TIMES: u32 = 5;
pub(crate) const MOST_TIMES: u32 = 40;
/// The largest probability that chance alone gives the outcomes of one direction.
const BY_CHANCE: f64 = 0.01;

#[derive(Clone, Debug)]
pub struct InterventionConfig {
    /// What was located.
    pub located: Finding,
    /// The factor that forces a value at a line.
    pub kind: FactorKind,
    /// Seeds with which it fails, and with which it passes, where they are known.
    pub seeds: Option<(Vec<Factor>, Vec<Factor>)>,
    /// The kinds of failure that were seen: others are effects of the intervention.
    pub failures: Vec<String>,
    pub fresh_by: Isolation,
    pub seconds: f64,
}

pub struct Intervention {
    config: InterventionConfig,
    task: SearchTask,
    result: Rc<RefCell<InterventionResult>>,
}

#[derive(Default)]
struct InterventionResult {
    proof: Option<(usize, ForcedValue)>,
    /// Locations whose values do not decide, with what was seen.
    rejected: Vec<(usize, String)>,
}

impl Intervention {
    pub fn new(config: InterventionConfig) -> Self {
        Self { config, task: SearchTask::default(), result: Rc::default() }
    }

    fn divergence(&self) -> Option<&Divergence> {
        match &self.config.located.detail {
            Detail::Divergence(divergence) => Some(divergence),
            _ => None,
        }
    }
}

impl Technique for Intervention {
    fn observe(&mut self, event: &Event, _: Recordings<'_>) {
        if let (Event::TestsListed { seconds, .. }, Some(divergence)) = (event, self.divergence()) {
            let scheduler = Scheduler::new(self.config.fresh_by, self.config.seconds - seconds);
            let trial = InterventionTrial {
                scheduler: scheduler.sequential(),
                test: self.config.located.test.clone(),
                config: self.config.clone(),
                locations: divergence.locations.clone(),
                rate: f64::from(divergence.failed) / f64::from(divergence.runs.max(1)),
                result: self.result.clone(),
            };
            self.task.start(scheduler, trial.run());
        }
        self.task.observe(event);
    }

    fn next_sessions(&mut self, _: Recordings<'_>) -> Vec<Session> {
        self.task.next_sessions()
    }

    /// What was located, with its proof. None: nothing was tried.
    fn findings(&self, _: Recordings<'_>) -> Vec<Finding> {
        let result = self.result.borrow();
        let Some(divergence) = self.divergence() else { return Vec::new() };
        if result.proof.is_none() && result.rejected.is_empty() {
            return Vec::new();
        }
        let mut divergence = divergence.clone();
        for (at, seen) in &result.rejected {
            divergence.locations[*at].rejected = true;
            divergence.unknown.push(seen.clone());
        }
        let test = &self.config.located.test;
        let mut replays = vec![Replay::sometimes_fails(vec![test.clone()])];
        if let Some((at, proof)) = &result.proof {
            let proven = divergence.locations.remove(*at);
            divergence.locations.insert(0, proven);
            replays = self.config.replays(test, proof);
            divergence.proof = Some(proof.clone());
        } else {
            divergence.locations.sort_by_key(|location| location.rejected);
        }
        let sentence = divergence.locations.first().map_or(String::new(), |start| {
            format!("starts at {}:{}: {}", start.line.file, start.line.line, start.sentence)
        });
        vec![finding(test, Detail::Divergence(divergence), sentence, replays)]
    }
}

impl InterventionConfig {
    /// The world in which a value is forced, with these seeds where they are known.
    fn world(&self, setting: &str, seeds: Option<&Vec<Factor>>) -> Option<World> {
        let forced = self.kind.set(setting).ok()?;
        Some(World::of(seeds.into_iter().flatten().cloned().chain([forced]).collect()))
    }

    /// With the failing value where it would pass, and with the passing value where it would fail.
    fn worlds(&self, proof: &ForcedValue) -> Option<[World; 2]> {
        let (fails, passes) = self.seeds.as_ref().map_or((None, None), |(fails, passes)| (Some(fails), Some(passes)));
        Some([self.world(&proof.setting(true), passes)?, self.world(&proof.setting(false), fails)?])
    }

    fn replays(&self, test: &TestId, proof: &ForcedValue) -> Vec<Replay> {
        let Some(worlds) = self.worlds(proof) else { return Vec::new() };
        let shows = [Shows::AlwaysFails, Shows::Passes];
        let replay = |(under, shows)| Replay { under, shows, ..Replay::fails(vec![test.clone()]) };
        worlds.into_iter().zip(shows).map(replay).collect()
    }
}

/// So many equal outcomes that chance alone rarely gives them, where it gives one with this rate.
pub(crate) fn runs_against_chance(rate: f64) -> u32 {
    match rate {
        0.0 => TIMES,
        rate => ((BY_CHANCE.ln() / rate.ln()).ceil() as u32).max(TIMES),
    }
}

struct InterventionTrial {
    scheduler: Scheduler,
    test: TestId,
    config: InterventionConfig,
    locations: Vec<Location>,
    /// How often the test fails without an intervention.
    rate: f64,
    result: Rc<RefCell<InterventionResult>>,
}

impl InterventionTrial {
    async fn run(self) {
        let Some([to_fail, to_pass]) = self.times() else { return };
        for (at, location) in self.locations.iter().enumerate() {
            if self.scheduler.out_of_time() {
                return;
            }
            let Some(ChosenValues { name, failing, passing }) = chosen_values(location) else { continue };
            let forced =
                ForcedValue { line: location.line.clone(), name, failing, failed: to_fail, passing, passed: to_pass };
            let Some(worlds) = self.config.worlds(&forced) else { continue };
            match self.decides(&worlds, [to_fail, to_pass]).await {
                Some(true) => {
                    self.result.borrow_mut().proof = Some((at, forced));
                    return;
                }
                Some(false) => {
                    let ForcedValue { name, failing, passing, .. } = &forced;
                    let place = format!("{}:{}", location.line.file, location.line.line);
                    let seen = format!("{name} at {place} does not decide: forcing {failing} or {passing} showed that");
                    self.result.borrow_mut().rejected.push((at, seen));
                }
                None => {}
            }
        }
    }

    /// Runs in each direction. None: too many would be needed.
    fn times(&self) -> Option<[u32; 2]> {
        if self.config.seeds.is_some() {
            return Some([TIMES; 2]);
        }
        let times = [runs_against_chance(self.rate), runs_against_chance(1.0 - self.rate)];
        times.iter().all(|times| *times <= MOST_TIMES).then_some(times)
    }

    /// Whether the outcome follows the forced values every time. None: that could not be tried.
    async fn decides(&self, worlds: &[World; 2], times: [u32; 2]) -> Option<bool> {
        for round in 0..times[0].max(times[1]) {
            for (at, fails) in [(0, true), (1, false)] {
                if round < times[at] && self.fails(&worlds[at]).await? != fails {
                    return Some(false);
                }
            }
        }
        Some(true)
    }

    /// Whether the test fails in this world, in a way that was seen before. None: it did not run.
    async fn fails(&self, world: &World) -> Option<bool> {
        let request = SessionRequest {
            under: Some(world.clone()),
            // Seeds apply to processes.
            new_process: self.config.seeds.is_some(),
            ..SessionRequest::new(Purpose::Factor, vec![self.test.clone()])
        };
        let result = self.scheduler.run_one(request).await;
        let last = result.last()?;
        let is_known = |kind: &String| last.failure.as_ref().is_some_and(|failure| failure.kind == *kind);
        match last.outcome {
            Outcome::Skipped => None,
            outcome if outcome.is_pass() => Some(false),
            // Another failure is one that the intervention causes: neither direction.
            outcome if outcome.is_failure() && self.config.failures.iter().any(is_known) => Some(true),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{attempt, ended, failure, listed};
    use unflake_model::{
        Cause, Confidence, DivergenceKind, FactorDeclaration, SourceLine, ValueSplit, declare_factors,
    };

    static FORCE: FactorDeclaration =
        FactorDeclaration { name: "forced-value", title: "forced value", ..FactorDeclaration::EMPTY };

    fn location(line: u32, name: &str) -> Location {
        Location {
            line: SourceLine { file: "a.py".into(), line, function: "f".into() },
            how: DivergenceKind::Value,
            failing: 5,
            passing: 0,
            chance: 0.001,
            sentence: format!("{name} decides"),
            value: Some(ValueSplit { name: name.to_owned(), failing: vec!["9".into()], passing: vec!["1".into()] }),
            rejected: false,
        }
    }

    /// `outcome`: by the setting of the forced value; the kind of failure, or None for a pass.
    fn tried(failed: u32, outcome: &dyn Fn(&str) -> Option<&'static str>) -> (Vec<Finding>, u32) {
        declare_factors([&FORCE]);
        let divergence = Divergence {
            kind: Cause::Randomness,
            because: String::new(),
            locations: vec![location(3, "herring"), location(7, "drawn")],
            shows: None,
            runs: 50,
            failed,
            timed_out: 0,
            points: Vec::new(),
            unknown: Vec::new(),
            proof: None,
        };
        let located = finding(&"t".into(), Detail::Divergence(divergence), String::new(), Vec::new());
        let mut intervention = Intervention::new(InterventionConfig {
            located,
            kind: FactorKind::named("forced-value").unwrap(),
            seeds: None,
            failures: vec!["AssertionError".to_owned()],
            fresh_by: Isolation::Fork,
            seconds: 1e6,
        });
        intervention.observe(&listed(&["t"], false), Recordings::EMPTY);
        let mut runs = 0;
        loop {
            let sessions = intervention.next_sessions(Recordings::EMPTY);
            if sessions.is_empty() {
                return (intervention.findings(Recordings::EMPTY), runs);
            }
            for session in sessions {
                runs += 1;
                let world = session.under.clone().unwrap();
                let mut made = attempt(&session, &"t".into(), Outcome::Passed);
                if let Some(kind) = outcome(world.factors[0].setting()) {
                    (made.outcome, made.failure) = (Outcome::Failed, Some(failure(kind)));
                }
                intervention.observe(&Event::AttemptEnded(made), Recordings::EMPTY);
                intervention.observe(&ended(&session), Recordings::EMPTY);
            }
        }
    }

    #[test]
    fn the_value_that_decides_is_proven_and_another_rejected() {
        let (found, runs) = tried(20, &|setting| (setting == "a.py:7:drawn=9").then_some("AssertionError"));
        let [finding] = &found[..] else { panic!("{found:?}") };
        assert_eq!(finding.confidence(), Some(Confidence::Proven));
        let Detail::Divergence(divergence) = &finding.detail else { panic!() };
        assert_eq!((divergence.locations[0].line.line, divergence.locations[1].rejected), (7, true));
        let proof = divergence.proof.as_ref().unwrap();
        assert_eq!((proof.failed, proof.passed), (6, 10), "as many as chance alone rarely gives");
        assert_eq!(finding.replays[0].under.options(), ["--forced-value=a.py:7:drawn=9"]);
        assert_eq!(runs, 1 + 16);
    }

    #[test]
    fn another_failure_proves_nothing() {
        let (found, _) = tried(20, &|setting| setting.ends_with("=9").then_some("TypeError"));
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn a_value_that_does_not_decide_is_only_possible() {
        let (found, _) = tried(20, &|_| None);
        assert_eq!(found[0].confidence(), Some(Confidence::Possible));
    }

    #[test]
    fn a_rare_failure_needs_too_many_runs() {
        let (found, runs) = tried(2, &|setting| (setting == "a.py:7:drawn=9").then_some("AssertionError"));
        assert_eq!((found.len(), runs), (0, 0));
    }
}
