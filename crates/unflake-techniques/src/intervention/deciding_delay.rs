//! What a delay that decides says: the line, the wait that is too short, the proof and the commands.

use unflake_model::{
    Cause, Detail, Divergence, DivergenceKind, Failure, Finding, ForcedValue, Location, Replay, Shows, SourceLine,
    World,
};

use crate::divergence::delay_points::DelayPoint;
use crate::finding::finding;
use crate::intervention::forced_delay::{DelayInterventionConfig, same_file};
use crate::intervention::forced_value::TIMES;

/// A line that is delayed each time has a part of the delay.
const PART: u32 = 5;
/// Lines between the last reading of a clock and a limit on it.
const CLOCK_LINES: u32 = 2;

/// Which executions of a line are delayed.
#[derive(Clone, Debug)]
pub(super) struct TriedPoint {
    pub(super) point: DelayPoint,
    /// All of them, or else the first one.
    pub(super) each: bool,
    /// Of the thread that the point names, or else of each one.
    pub(super) of_thread: bool,
}

impl TriedPoint {
    /// The setting of a schedule.
    pub(super) fn setting(&self, milliseconds: u32) -> String {
        let DelayPoint { line, thread, .. } = &self.point;
        let time = if self.each { "" } else { "#1" };
        let thread = if self.of_thread { format!("@{thread}") } else { String::new() };
        format!("{}:{}{time}{thread}={}", line.file, line.line, self.length(milliseconds))
    }

    pub(super) fn length(&self, milliseconds: u32) -> u32 {
        if self.each { milliseconds / PART } else { milliseconds }
    }

    pub(super) fn place(&self) -> String {
        format!("{}:{}", self.point.line.file, self.point.line.line)
    }

    /// The setting of a schedule that has this delay, and a wait that takes longer.
    pub(super) fn with_wait(&self, milliseconds: u32, (wait, more): &(TriedPoint, u32)) -> String {
        format!("{},{}", self.setting(milliseconds), wait.setting(*more))
    }
}

/// A line where a delay decides.
#[derive(Clone, Debug)]
pub(super) struct DecidingDelay {
    pub(super) at: TriedPoint,
    pub(super) milliseconds: u32,
    pub(super) failure: Failure,
    pub(super) failed: u32,
    /// The first line of the same thread where a delay has the same effect.
    pub(super) from: Option<SourceLine>,
    /// Whether the delayed thread is the one that fails.
    pub(super) is_own: bool,
    /// A point where a delay makes it pass, for a test that fails as it is, too.
    pub(super) passing: Option<TriedPoint>,
    pub(super) passed: u32,
    pub(super) runs: u32,
    /// The wait that prevents the failure if it takes longer, and the milliseconds.
    pub(super) longer: Option<(TriedPoint, u32)>,
}

impl DecidingDelay {
    pub(super) fn finding(&self, config: &DelayInterventionConfig) -> Option<Finding> {
        let Self { at, milliseconds, failure, failed, passing, passed, runs, longer, .. } = self;
        let line = longer.as_ref().map_or(at, |(wait, _)| wait).point.line.clone();
        let sentence = self.sentence(config);
        let start = Location {
            line: line.clone(),
            how: DivergenceKind::Order,
            failing: *failed,
            passing: 0,
            chance: 1.0,
            sentence: sentence.clone(),
            value: None,
            rejected: false,
        };
        let raised = failure.file.clone().zip(failure.line);
        let length = at.length(*milliseconds);
        let (failing_text, passing_text) = match (longer, passing) {
            (Some((_, more)), _) => (format!("{length} at {}", at.place()), format!("+{more}")),
            (None, Some(other)) => {
                (length.to_string(), format!("{} at {}", other.length(*milliseconds), other.place()))
            }
            (None, None) => (length.to_string(), "0".to_owned()),
        };
        let (kind, because) = self.cause(config);
        let divergence = Divergence {
            kind,
            because,
            locations: vec![start],
            shows: raised.map(|(file, line)| SourceLine { file, line, function: String::new() }),
            runs: *runs,
            failed: *failed,
            timed_out: 0,
            points: Vec::new(),
            unknown: Vec::new(),
            proof: Some(ForcedValue {
                line: line.clone(),
                name: ForcedValue::DELAY.to_owned(),
                failing: failing_text,
                failed: *failed,
                passing: passing_text,
                passed: if longer.is_some() { TIMES } else { *passed },
            }),
        };
        let under = |setting: &str| Some(World::of(vec![config.kind.set(setting).ok()?]));
        let test = &config.test;
        let replay = |under, shows| Replay { under, shows, ..Replay::fails(vec![test.clone()]) };
        let mut replays = vec![replay(under(&at.setting(*milliseconds))?, Shows::AlwaysFails)];
        match (longer, passing) {
            (Some(wait), _) => replays.push(replay(under(&at.with_wait(*milliseconds, wait))?, Shows::Passes)),
            (None, Some(passing)) => replays.push(replay(under(&passing.setting(*milliseconds))?, Shows::Passes)),
            (None, None) => {}
        }
        let sentence = format!("starts at {}:{}: {sentence}", line.file, line.line);
        Some(finding(test, Detail::Divergence(divergence), sentence, replays))
    }

    fn sentence(&self, config: &DelayInterventionConfig) -> String {
        let Self { at, milliseconds, from, is_own, longer, .. } = self;
        let (point, length) = (&at.point, at.length(*milliseconds));
        let since = match from {
            Some(from) if from.file == point.line.file => format!(", like one anywhere since line {}", from.line),
            Some(from) => format!(", like one anywhere since {}:{}", from.file, from.line),
            None => String::new(),
        };
        let what = match is_own {
            true => "the test fails when it is this much slower here",
            false => "it matters when this thread comes here",
        };
        let alone = match config.alone {
            (0, _) => String::new(),
            (failed, runs) => format!("; as it is, it fails {failed} of {runs} runs"),
        };
        let thread = point.thread.trim_start_matches('?');
        let each = if at.each { " each time" } else { "" };
        if let Some((_, more)) = longer {
            return format!(
                "this wait is too short: a delay of {length} ms{each} of the thread {thread} at {} makes the test fail\
                 {since}, and waiting {more} ms longer here prevents that{alone}",
                at.place()
            );
        }
        format!("{what}: a delay of {length} ms{each} of the thread {thread} makes it fail{since}{alone}")
    }

    fn cause(&self, config: &DelayInterventionConfig) -> (Cause, String) {
        if let Some((wait, _)) = &self.longer {
            return (Cause::AsyncWait, format!("{} waits for a time and not for what it needs", wait.place()));
        }
        cause_of_delay(&config.waits, &config.points, &self.failure, self.is_own)
    }
}

/// Why a delay decides. `is_own`: whether the delayed thread is the one that fails.
pub(crate) fn cause_of_delay(
    waits: &[SourceLine],
    points: &[DelayPoint],
    failure: &Failure,
    is_own: bool,
) -> (Cause, String) {
    if is_own && let Some(clock) = clock_before(points, failure) {
        return (Cause::Time, format!("{}:{} measures a time, which has a limit", clock.file, clock.line));
    }
    // Only of the file that fails: libraries wait with limits, too, and for what they need.
    let place = |line: &SourceLine| format!("{}:{}", line.file, line.line);
    let shown = failure.file.as_deref();
    // The last one before the failure.
    let own = waits.iter().filter(|wait| shown.is_some_and(|shown| same_file(shown, &wait.file)));
    // Where another thread is late, one that is joined without a limit was not.
    let sleeps = |wait: &&SourceLine| points.iter().any(|point| point.sleeps && point.line == **wait);
    let own = own.filter(|wait| is_own || sleeps(wait));
    let end = failure.line.unwrap_or_default();
    let near = own.min_by_key(|wait| (wait.line > end, wait.line.abs_diff(end)));
    let has_threads = points.iter().any(|point| point.thread != points[0].thread);
    match near {
        Some(wait) => (Cause::AsyncWait, format!("{} waits for a time and not for what it needs", place(wait))),
        None if is_own => (Cause::Time, "only a delay of the test itself decides".to_owned()),
        None if has_threads => (Cause::Race, "the order of two threads decides".to_owned()),
        None => (Cause::Time, "only a delay decides".to_owned()),
    }
}

/// The line that reads a clock where the test fails, or shortly before: what fails is then a limit on time.
fn clock_before<'a>(points: &'a [DelayPoint], failure: &Failure) -> Option<&'a SourceLine> {
    let (file, end) = (failure.file.as_deref()?, failure.line?);
    let is_near = |line: &SourceLine| same_file(file, &line.file) && line.line <= end && end - line.line <= CLOCK_LINES;
    points.iter().filter(|point| point.reads_clock && is_near(&point.line)).map(|point| &point.line).next_back()
}
