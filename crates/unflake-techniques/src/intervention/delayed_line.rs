//! Names the line of a proven schedule with a single delay, and why a delay there decides.
//!
//! A schedule that fails every time and passes without it is a proof already. What it lacks is the cause:
//! a wait that is too short, a limit on time, or the order of two threads. A few traces show that.

use unflake_model::{
    Confidence, Detail, Divergence, DivergenceKind, Failure, Finding, ForcedValue, Influence, Location, SourceLine,
};

use crate::divergence::delay_points::DelayPoint;
use crate::finding::finding;
use crate::intervention::deciding_delay::cause_of_delay;
use crate::intervention::forced_delay::{own_thread, same_file};

/// What traces and failing runs of the test show.
#[derive(Clone, Debug)]
pub(crate) struct ObservedDelays {
    /// The lines that wait for a time.
    pub(crate) waits: Vec<SourceLine>,
    /// The lines of each thread.
    pub(crate) points: Vec<DelayPoint>,
    /// How it fails with the schedule.
    pub(crate) failure: Failure,
}

/// Whether a finding proves a schedule with a single delay.
pub fn is_single_delay(finding: &Finding) -> bool {
    single_delay(finding).is_some()
}

/// The finding about the line in place of the one about the schedule. None: it is about something else.
pub(crate) fn delayed_line(schedule: &Finding, seen: &ObservedDelays) -> Option<Finding> {
    let (influence, delay) = single_delay(schedule)?;
    let at_line = |point: &&DelayPoint| point.line.line == delay.line && same_file(&point.line.file, delay.file);
    let threads: Vec<&str> = seen.points.iter().filter(at_line).map(|point| &*point.thread).collect();
    let own = own_thread(&seen.points, std::slice::from_ref(&seen.failure));
    // Where several threads execute the line, which of them is late matters.
    let is_own = !threads.is_empty() && threads.iter().all(|thread| *thread == own);
    let (kind, because) = cause_of_delay(&seen.waits, &seen.points, &seen.failure, is_own);
    let known = seen.points.iter().find(at_line).map(|point| point.line.clone());
    let line = known.unwrap_or(SourceLine { file: delay.file.to_owned(), line: delay.line, function: String::new() });
    let what = match is_own {
        true => "the test fails when it is slower here",
        false => "it matters when this thread comes here",
    };
    let of_thread = delay.thread.map_or(String::new(), |thread| format!(" of the thread {thread}"));
    let sentence = format!("{what}: a delay{of_thread} makes it fail");
    let (failed, passed) = (influence.rate.seen, influence.baseline.of);
    let start = Location {
        line: line.clone(),
        how: DivergenceKind::Order,
        failing: failed,
        passing: 0,
        chance: 1.0,
        sentence: sentence.clone(),
        value: None,
        rejected: false,
    };
    let raised = seen.failure.file.clone().zip(seen.failure.line);
    let divergence = Divergence {
        kind,
        because,
        locations: vec![start],
        shows: raised.map(|(file, line)| SourceLine { file, line, function: String::new() }),
        runs: influence.runs,
        failed,
        timed_out: 0,
        points: Vec::new(),
        unknown: Vec::new(),
        proof: Some(ForcedValue {
            line: line.clone(),
            name: ForcedValue::DELAY.to_owned(),
            failing: delay.length.unwrap_or_default().to_owned(),
            failed,
            passing: "0".to_owned(),
            passed,
        }),
    };
    let sentence = format!("starts at {}:{}: {sentence}", line.file, line.line);
    Some(finding(&schedule.test, Detail::Divergence(divergence), sentence, schedule.replays.clone()))
}

/// `FILE:LINE#TIME@THREAD=MILLISECONDS`, with any of the last three.
struct SingleDelay<'a> {
    file: &'a str,
    line: u32,
    thread: Option<&'a str>,
    length: Option<&'a str>,
}

fn single_delay(finding: &Finding) -> Option<(&Influence, SingleDelay<'_>)> {
    let Detail::Factor(influence) = &finding.detail else { return None };
    let ([factor], Confidence::Proven) = (&influence.setting[..], influence.confidence) else { return None };
    let setting = Some(factor.setting()).filter(|text| factor.kind().at_lines && !text.contains([',', ' ']))?;
    let (point, length) = setting.rsplit_once('=').map_or((setting, None), |(point, length)| (point, Some(length)));
    let (place, thread) = point.split_once('@').map_or((point, None), |(place, thread)| (place, Some(thread)));
    let place = place.split_once('#').map_or(place, |(place, _)| place);
    let (file, line) = place.rsplit_once(':')?;
    // A seed with a rate looks alike.
    let line = line.parse().ok().filter(|_| file.parse::<u64>().is_err())?;
    Some((influence, SingleDelay { file, line, thread, length }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::findings::rate;
    use crate::simulation;
    use crate::stats::failure_rate::FailureCount;
    use unflake_model::{Cause, FactorDeclaration, FactorKind, declare_factors};

    // Not the name of another test's factor: the first declaration of a name stays.
    static SCHEDULE: FactorDeclaration =
        FactorDeclaration { name: "delayed-line", title: "schedule", at_lines: true, ..FactorDeclaration::EMPTY };

    fn schedule(setting: &str) -> Finding {
        declare_factors([&SCHEDULE]);
        let factor = FactorKind::named("delayed-line").unwrap().set(setting).unwrap();
        let influence = Influence {
            kind: "schedule".into(),
            confidence: Confidence::Proven,
            setting: vec![factor],
            fails: true,
            threshold: None,
            rate: rate(FailureCount::new(5, 5)),
            baseline: rate(FailureCount::new(0, 5)),
            p_value: 0.01,
            plan: Vec::new(),
            untried: Vec::new(),
            worst: Vec::new(),
            best: Vec::new(),
            runs: 10,
        };
        finding(&"t.py::t".into(), Detail::Factor(Box::new(influence)), String::new(), Vec::new())
    }

    fn line(text: &str) -> SourceLine {
        let (file, line) = text.split_once(':').unwrap();
        SourceLine { file: file.into(), line: line.parse().unwrap(), function: String::new() }
    }

    fn named(setting: &str, points: &[(&str, &str)], waits: &[&str]) -> Option<(String, Cause)> {
        let point = |(place, thread): &(&str, &str)| DelayPoint {
            line: line(place),
            thread: (*thread).into(),
            times: 1,
            reads_clock: place.ends_with(":8"),
            sleeps: place.ends_with(":7"),
        };
        let failure =
            Failure { file: Some("test_a.py".into()), line: Some(9), ..simulation::failure("AssertionError") };
        let points = points.iter().map(point).collect();
        let waits = waits.iter().map(|place| line(place)).collect();
        let found = delayed_line(&schedule(setting), &ObservedDelays { waits, points, failure })?;
        let Detail::Divergence(divergence) = &found.detail else { panic!("{found:?}") };
        assert_eq!(found.confidence(), Some(Confidence::Proven));
        Some((found.sentence, divergence.kind))
    }

    #[test]
    fn a_delay_of_another_thread_is_a_race() {
        let points = [("test_a.py:9", "main"), ("shop.py:5", "main.0"), ("shop.py:5", "main.1")];
        let found = named("shop.py:5#1@one-2", &points, &[]).unwrap();
        let sentence =
            "starts at shop.py:5: it matters when this thread comes here: a delay of the thread one-2 makes it fail";
        assert_eq!(found, (sentence.to_owned(), Cause::Race));
    }

    #[test]
    fn a_delay_of_the_test_itself_is_a_limit_on_time() {
        let found = named("test_a.py:7=50", &[("test_a.py:7", "main"), ("test_a.py:9", "main")], &[]).unwrap();
        assert_eq!(found.1, Cause::Time);
        assert!(found.0.contains("slower here"), "{}", found.0);
    }

    #[test]
    fn a_wait_of_the_test_before_the_failure_is_too_short() {
        let points =
            [("test_a.py:6", "main"), ("test_a.py:7", "main"), ("test_a.py:9", "main"), ("shop.py:5", "main.0")];
        assert_eq!(named("shop.py:5@work-1", &points, &["test_a.py:7"]).unwrap().1, Cause::AsyncWait);
        // A join without a limit.
        assert_eq!(named("shop.py:5@work-1", &points, &["test_a.py:6"]).unwrap().1, Cause::Race);
    }

    #[test]
    fn a_measured_time_has_a_limit_whatever_waits() {
        let points = [("test_a.py:4", "main"), ("test_a.py:8", "main"), ("test_a.py:9", "main")];
        assert_eq!(named("test_a.py:8#1=50", &points, &["test_a.py:4"]).unwrap().1, Cause::Time);
    }

    #[test]
    fn other_schedules_name_no_line() {
        for setting in ["7", "7:20", "off", "a.py:3,a.py:4", "a.py:3 after a.py:8"] {
            assert!(!is_single_delay(&schedule(setting)), "{setting}");
        }
    }
}
