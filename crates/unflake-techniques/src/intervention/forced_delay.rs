//! Delays one thread of the test at one line, until a line is found where that decides the outcome:
//! delayed there the test fails every time, and otherwise it passes every time.
//!
//! A race that never fails by itself and a limit on time both depend on who comes first. A single
//! delay that is longer than any pause of a busy machine shows where, and names a line, which a
//! schedule with many short delays does not. A test that sometimes fails as it is must pass every
//! time when another line is delayed: then the order decides, and not chance.
//!
//! Where the test fails because something waits for a time and not for what it needs, a longer wait there
//! prevents the failure that the delay causes. That wait is the line to change.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use unflake_model::{
    Event, FactorKind, Failure, Finding, Isolation, Outcome, Purpose, Session, SourceLine, TestId, World,
};

use crate::divergence::delay_points::DelayPoint;
use crate::intervention::deciding_delay::{DecidingDelay, TriedPoint};
use crate::intervention::forced_value::{MOST_TIMES, TIMES, runs_against_chance};
use crate::search::scheduler::{Scheduler, SearchTask, SessionRequest, SessionResult};
use crate::stats::failure_rate::FailureCount;
use crate::{Recordings, Technique};

/// Points that are tried, and how many at once: most of their time is sleep.
const MOST_POINTS: usize = 160;
const AT_ONCE: usize = 6;
/// A line that a thread executes at most so often is delayed each time, too, for a part of the time: a
/// thread may come in time at first and late at last.
const OFTEN: u32 = 40;
/// Threads in which one line is tried.
const THREADS: usize = 2;
/// Milliseconds of the delays that search, longest first: where one makes nothing fail, the next is
/// tried at the lines of the test's own file.
const DELAYS: [u32; 2] = [500, 2000];
/// The shortest delay that is looked for, and runs with each.
const SHORTEST: u32 = 15;
const TRIES: u32 = 2;
/// Failing points are run again until chance leaves at most this share of them, in so many rounds.
const FALSE_SHARE: f64 = 0.02;
const MOST_ROUNDS: u32 = 6;
/// Candidates that are confirmed, and points that may make a test pass.
const CANDIDATES: usize = 3;
const PASSING: usize = 4;
/// Waits that may be too short, how many times the delay they take longer, and milliseconds at most.
const WAITS: usize = 6;
const LONGER: u32 = 2;
const LONGEST_WAIT: u32 = 5000;
/// Lines are watched and nothing is delayed.
const CONTROL: &str = "off";

#[derive(Clone, Debug)]
pub struct DelayInterventionConfig {
    pub test: TestId,
    /// Where threads can be delayed, by thread in the order of execution.
    pub points: Vec<DelayPoint>,
    /// The lines that wait for a time.
    pub waits: Vec<SourceLine>,
    /// The factor that delays threads.
    pub kind: FactorKind,
    /// The failures that were seen without an intervention: others are effects of the delay.
    pub failures: Vec<Failure>,
    /// Failures and runs without an intervention.
    pub alone: (u32, u32),
    /// Whether schedules name threads as the points do. Else every thread is delayed at a line.
    pub names_threads: bool,
    /// Both sides of a trial share what forks share.
    pub fresh_by: Isolation,
    pub seconds: f64,
}

pub struct DelayIntervention {
    config: DelayInterventionConfig,
    task: SearchTask,
    result: Rc<RefCell<Option<DecidingDelay>>>,
}

impl DelayIntervention {
    pub fn new(config: DelayInterventionConfig) -> Self {
        Self { config, task: SearchTask::default(), result: Rc::default() }
    }
}

impl Technique for DelayIntervention {
    fn observe(&mut self, event: &Event, _: Recordings<'_>) {
        if let Event::TestsListed { seconds, .. } = event {
            // A thread of unknown origin has no name.
            let can_be_named = |point: &&DelayPoint| point.thread.starts_with("main") && !point.thread.contains(' ');
            let points = self.config.points.iter().filter(|point| !self.config.names_threads || can_be_named(point));
            let of_thread = self.config.names_threads;
            let first = points.clone().map(|point| TriedPoint { point: point.clone(), each: false, of_thread });
            let often = points.filter(|point| (2..=OFTEN).contains(&point.times));
            let each = often.map(|point| TriedPoint { point: point.clone(), each: true, of_thread });
            let points: Vec<TriedPoint> = first.chain(each).collect();
            let scheduler = Scheduler::new(self.config.fresh_by, self.config.seconds - seconds);
            let trial = DelayTrial { scheduler: scheduler.clone(), config: self.config.clone(), points };
            let result = self.result.clone();
            self.task.start(scheduler, async move {
                *result.borrow_mut() = trial.run().await;
            });
        }
        self.task.observe(event);
    }

    fn next_sessions(&mut self, _: Recordings<'_>) -> Vec<Session> {
        self.task.next_sessions()
    }

    fn findings(&self, _: Recordings<'_>) -> Vec<Finding> {
        self.result.borrow().iter().filter_map(|found| found.finding(&self.config)).collect()
    }
}

/// The thread in which the test fails, or else the one that executes most lines of tests: a test harness
/// is in another one.
pub(crate) fn own_thread(points: &[DelayPoint], failures: &[Failure]) -> String {
    let places: Vec<(&str, u32)> =
        failures.iter().filter_map(|seen| Some((seen.file.as_deref()?, seen.line?))).collect();
    let is_there = |point: &&DelayPoint| {
        places.iter().any(|(file, line)| *line == point.line.line && same_file(file, &point.line.file))
    };
    if let Some(point) = points.iter().find(is_there) {
        return point.thread.clone();
    }
    let mut threads: Vec<(&str, usize)> = Vec::new();
    for DelayPoint { line, thread, .. } in points {
        let lines = usize::from(is_test_file(&line.file));
        match threads.iter_mut().find(|(other, _)| other == thread) {
            Some((_, count)) => *count += lines,
            None => threads.push((thread, lines)),
        }
    }
    // Of several the first one, which started the others.
    let most = threads.iter().rev().max_by_key(|(_, lines)| *lines);
    most.map_or(String::new(), |(thread, _)| (*thread).to_owned())
}

/// How the test ended with a delay.
#[derive(Clone, Debug)]
enum Delayed {
    Fails(Failure),
    Passes,
}

struct DelayTrial {
    scheduler: Scheduler,
    config: DelayInterventionConfig,
    points: Vec<TriedPoint>,
}

impl DelayTrial {
    async fn run(self) -> Option<DecidingDelay> {
        let (failed, runs) = self.config.alone;
        if runs > 0 && failed == runs {
            // Every delay would seem to decide.
            return None;
        }
        let own = own_thread(&self.config.points, &self.config.failures);
        let points = self.ordered(&own);
        for milliseconds in DELAYS {
            let is_first = milliseconds == DELAYS[0];
            let tried: Vec<usize> = match is_first {
                true => points.iter().copied().take(MOST_POINTS).collect(),
                false => points.iter().copied().filter(|at| self.is_near(*at)).take(MOST_POINTS / 4).collect(),
            };
            let (nearest, others): (Vec<usize>, Vec<usize>) =
                tried.into_iter().partition(|at| self.is_near(*at) && self.points[*at].point.thread == own);
            let (nearest, nearest_each): (Vec<usize>, Vec<usize>) =
                nearest.into_iter().partition(|at| !self.points[*at].each);
            let mut ended = Vec::new();
            // The lines of the test itself often suffice.
            for some in [nearest, nearest_each, others] {
                ended.extend(self.repeated(self.probe(&some, milliseconds).await, milliseconds).await);
                for candidate in self.candidates(&ended, &own).into_iter().take(CANDIDATES) {
                    if let Some(found) = self.confirmed(candidate, &ended, milliseconds, &own).await {
                        let longer = self.longer_wait(&found).await;
                        return Some(DecidingDelay { longer, ..found });
                    }
                }
            }
            if self.scheduler.out_of_time() {
                break;
            }
        }
        None
    }

    /// Whether a point is in a file of tests, or in one where the test fails.
    fn is_near(&self, at: usize) -> bool {
        let file = &self.points[at].point.line.file;
        let fails = |failure: &Failure| failure.file.as_ref().is_some_and(|other| same_file(other, file));
        is_test_file(file) || self.config.failures.iter().any(fails)
    }

    /// The points in the order in which they are tried: the test's own lines, then other threads.
    fn ordered(&self, own: &str) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.points.len()).collect();
        order.sort_by_key(|at| {
            let is_own = self.points[*at].point.thread == own;
            (self.points[*at].each, !self.is_near(*at), is_own != self.is_near(*at))
        });
        // Of threads that run the same lines a few are enough.
        let threads = if self.config.names_threads { THREADS } else { 1 };
        let mut times: HashMap<(&SourceLine, bool), usize> = HashMap::new();
        order.retain(|at| {
            let TriedPoint { point, each, .. } = &self.points[*at];
            let time = times.entry((&point.line, *each)).or_default();
            *time += 1;
            *time <= threads
        });
        order
    }

    /// One run for each point.
    async fn probe(&self, points: &[usize], milliseconds: u32) -> Vec<(usize, Delayed)> {
        let mut ended = Vec::new();
        for some in points.chunks(AT_ONCE) {
            if self.scheduler.out_of_time() {
                break;
            }
            let settings: Vec<String> = some.iter().map(|at| self.points[*at].setting(milliseconds)).collect();
            let results = self.under(&self.scheduler, &settings).await;
            ended.extend(
                some.iter().copied().zip(results).filter_map(|(at, result)| Some((at, self.outcome(&result)?))),
            );
        }
        ended
    }

    /// The same, with more runs of those that failed, where chance alone makes some of them fail.
    async fn repeated(&self, mut ended: Vec<(usize, Delayed)>, milliseconds: u32) -> Vec<(usize, Delayed)> {
        let count = FailureCount::new(self.config.alone.0, self.config.alone.1);
        let rounds = if count.failed == 0 { 0 } else { (FALSE_SHARE.ln() / count.share().ln()).ceil() as u32 };
        for _ in 0..rounds.min(MOST_ROUNDS) {
            let failing: Vec<usize> =
                ended.iter().filter(|(_, outcome)| matches!(outcome, Delayed::Fails(_))).map(|(at, _)| *at).collect();
            let again = self.probe(&failing, milliseconds).await;
            for (at, outcome) in again.into_iter().filter(|(_, outcome)| matches!(outcome, Delayed::Passes)) {
                ended.retain(|(other, _)| *other != at);
                ended.push((at, outcome));
            }
        }
        ended
    }

    /// The last point of each thread at which a delay made the test fail in the same way: up to there
    /// it could still be late. The test's own thread comes first.
    fn candidates(&self, ended: &[(usize, Delayed)], own: &str) -> Vec<(usize, Failure)> {
        let mut last: Vec<(usize, Failure)> = Vec::new();
        let mut sorted: Vec<&(usize, Delayed)> = ended.iter().collect();
        sorted.sort_by_key(|(at, _)| *at);
        for (at, outcome) in sorted {
            let Delayed::Fails(failure) = outcome else { continue };
            let same = |(other, seen): &&mut (usize, Failure)| self.is_row(*other, *at) && is_alike(seen, failure);
            match last.iter_mut().find(same) {
                Some(known) => *known = (*at, failure.clone()),
                None => last.push((*at, failure.clone())),
            }
        }
        last.sort_by_key(|(at, _)| (self.points[*at].each, self.points[*at].point.thread != own));
        last
    }

    /// New runs: the one that chose the point does not count.
    async fn confirmed(
        &self,
        (at, failure): (usize, Failure),
        ended: &[(usize, Delayed)],
        longest: u32,
        own: &str,
    ) -> Option<DecidingDelay> {
        let point = &self.points[at];
        let rate = FailureCount::new(self.config.alone.0, self.config.alone.1);
        let rate = if rate.failed == 0 { 0.0 } else { rate.share() };
        let times = runs_against_chance(rate).min(MOST_TIMES);
        let passes = if rate == 0.0 { TIMES } else { runs_against_chance(1.0 - rate) };
        // So rare a failure cannot be made rarer within a budget: runs without a delay are compared.
        let (rate, passes) = if passes > MOST_TIMES { (0.0, TIMES) } else { (rate, passes) };
        let milliseconds = self.shortest(point, &failure, longest).await?;
        if !self.always(point, milliseconds, times, Some(&failure)).await {
            return None;
        }
        let passing = match rate {
            0.0 => self.control(passes).await.then_some(None)?,
            _ => Some(self.passing(&failure, ended, (milliseconds, passes), own).await?),
        };
        let from = self.first_of_window(at, ended, &failure);
        Some(DecidingDelay {
            at: point.clone(),
            milliseconds,
            failure,
            failed: times,
            from,
            is_own: point.point.thread == own,
            passing,
            passed: passes,
            runs: times + passes,
            longer: None,
        })
    }

    /// The wait that prevents the failure if it takes longer. The delay makes the test fail every time,
    /// so a few passes are no chance.
    async fn longer_wait(&self, found: &DecidingDelay) -> Option<(TriedPoint, u32)> {
        let of_thread = self.config.names_threads;
        let times = if found.at.each { found.at.point.times } else { 1 };
        let more = (LONGER * times * found.at.length(found.milliseconds)).min(LONGEST_WAIT);
        let waits = self.config.waits.iter().filter(|wait| **wait != found.at.point.line);
        let point = |wait: &SourceLine| self.config.points.iter().find(|point| point.line == *wait);
        for point in waits.filter_map(point).take(WAITS) {
            let wait = (TriedPoint { point: point.clone(), each: false, of_thread }, more);
            let setting = found.at.with_wait(found.milliseconds, &wait);
            if self.all(&setting, TIMES, None).await {
                return Some(wait);
            }
        }
        None
    }

    /// The shortest delay, halved each time, with which the test fails. Twice as long is surely enough.
    async fn shortest(&self, point: &TriedPoint, failure: &Failure, longest: u32) -> Option<u32> {
        let mut shortest = longest;
        while point.length(shortest / 2) >= SHORTEST && self.always(point, shortest / 2, TRIES, Some(failure)).await {
            shortest /= 2;
        }
        if self.scheduler.out_of_time() {
            return None;
        }
        Some((shortest * 2).min(longest))
    }

    /// Whether the test passes every time where its lines are watched and nothing is delayed.
    async fn control(&self, times: u32) -> bool {
        let settings = vec![CONTROL.to_owned(); times as usize];
        let results = self.under(&self.scheduler.sequential(), &settings).await;
        let passes = |result: &SessionResult| matches!(self.any_outcome(result), Some(Delayed::Passes));
        results.len() == settings.len() && results.iter().all(passes)
    }

    /// A point where a delay makes the test pass every time. What comes too early just before the failure
    /// comes in time when it is late, so those points come first.
    async fn passing(
        &self,
        failure: &Failure,
        ended: &[(usize, Delayed)],
        (milliseconds, times): (u32, u32),
        own: &str,
    ) -> Option<TriedPoint> {
        let points = &self.points;
        let is_shown = |TriedPoint { point, each, .. }: &TriedPoint| {
            !each
                && point.thread == own
                && Some(point.line.line) == failure.line
                && failure.file.as_ref().is_some_and(|file| same_file(file, &point.line.file))
        };
        let shown = points.iter().position(is_shown).unwrap_or(usize::MAX);
        let mut passing: Vec<usize> =
            ended.iter().filter(|(_, outcome)| matches!(outcome, Delayed::Passes)).map(|(at, _)| *at).collect();
        passing.sort_by_key(|at| (points[*at].point.thread != own, *at > shown, std::cmp::Reverse(*at)));
        if shown != usize::MAX {
            // A single run there may have failed by chance.
            passing.retain(|at| *at != shown);
            passing.insert(0, shown);
        }
        for at in passing.into_iter().take(PASSING) {
            if self.always(&points[at], milliseconds, times, None).await {
                return Some(points[at].clone());
            }
        }
        None
    }

    /// The first point of an unbroken row before this one, in its thread, at which a delay has the same effect.
    fn first_of_window(&self, at: usize, ended: &[(usize, Delayed)], failure: &Failure) -> Option<SourceLine> {
        let mut row: Vec<&(usize, Delayed)> =
            ended.iter().filter(|(other, _)| *other < at && self.is_row(*other, at)).collect();
        row.sort_by_key(|(other, _)| std::cmp::Reverse(*other));
        let same = |outcome: &Delayed| matches!(outcome, Delayed::Fails(other) if is_alike(other, failure));
        let first = row.into_iter().take_while(|(_, outcome)| same(outcome)).last()?;
        Some(self.points[first.0].point.line.clone())
    }

    /// Whether two points are executions of the same kind in one thread.
    fn is_row(&self, one: usize, other: usize) -> bool {
        let [one, other] = [&self.points[one], &self.points[other]];
        (&one.point.thread, one.each) == (&other.point.thread, other.each)
    }

    /// Whether so many runs, one after the other, all fail like this, or all pass.
    async fn always(&self, point: &TriedPoint, milliseconds: u32, times: u32, failure: Option<&Failure>) -> bool {
        self.all(&point.setting(milliseconds), times, failure).await
    }

    async fn all(&self, setting: &str, times: u32, failure: Option<&Failure>) -> bool {
        for _ in 0..times {
            if self.scheduler.out_of_time() {
                return false;
            }
            let results = self.under(&self.scheduler.sequential(), &[setting.to_owned()]).await;
            let is_it = match (results.first().and_then(|result| self.any_outcome(result)), failure) {
                (Some(Delayed::Fails(seen)), Some(failure)) => is_alike(&seen, failure),
                (Some(Delayed::Passes), None) => true,
                _ => false,
            };
            if !is_it {
                return false;
            }
        }
        true
    }

    /// How a run ended. None: not in a way that was seen without an intervention.
    fn outcome(&self, result: &SessionResult) -> Option<Delayed> {
        let seen = &self.config.failures;
        match self.any_outcome(result)? {
            Delayed::Fails(failure) if seen.is_empty() || seen.iter().any(|other| is_alike(other, &failure)) => {
                Some(Delayed::Fails(failure))
            }
            Delayed::Fails(_) => None,
            passes => Some(passes),
        }
    }

    fn any_outcome(&self, result: &SessionResult) -> Option<Delayed> {
        let last = result.last()?;
        match last.outcome {
            Outcome::Skipped | Outcome::TimedOut => None,
            outcome if outcome.is_pass() => Some(Delayed::Passes),
            _ => last.failure.clone().map(Delayed::Fails),
        }
    }

    async fn under(&self, scheduler: &Scheduler, settings: &[String]) -> Vec<SessionResult> {
        let request = |setting: &String| {
            let under = self.config.kind.set(setting).ok().map(|factor| World::of(vec![factor]));
            SessionRequest { under, ..SessionRequest::new(Purpose::Factor, vec![self.config.test.clone()]) }
        };
        scheduler.run(settings.iter().map(request).collect()).await
    }
}

/// Whether two failures have the same type and are raised at the same line. Where that is not known, messages
/// tell, without their numbers.
fn is_alike(one: &Failure, other: &Failure) -> bool {
    let words = |failure: &Failure| failure.message.replace(|letter: char| letter.is_ascii_digit(), "");
    (&one.kind, &one.file, one.line) == (&other.kind, &other.file, other.line)
        && (one.line.is_some() || words(one) == words(other))
}

/// Whether one path is the end of the other.
pub(crate) fn same_file(one: &str, other: &str) -> bool {
    let (long, short) = if one.len() > other.len() { (one, other) } else { (other, one) };
    long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

fn is_test_file(file: &str) -> bool {
    file.to_ascii_lowercase().contains("test")
}

#[cfg(test)]
mod tests;
