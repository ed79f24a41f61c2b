//! Tests of `ladder`.

use unflake_model::{Death, EnvironmentId, Failure, Outcome, Phase, VerdictKind};

use super::*;
use crate::simulation::{self, ended, failure, listed};

/// Drives the ladder with scripted outcomes: those of each test in the order of its attempts; the
/// last one repeats.
struct ScriptedSuite {
    ladder: Ladder,
    outcomes: Vec<(TestId, Vec<Outcome>)>,
    /// If every process starts over with the first outcome: attempts per test and process.
    tried: Option<HashMap<(TestId, EnvironmentId), usize>>,
    requested: Vec<String>,
    next_environment: u32,
}

use Outcome::{Crashed, Error, Failed, Passed, Skipped, TimedOut};

impl ScriptedSuite {
    fn new(rungs: Rungs, outcomes: &[(&str, &[Outcome])]) -> Self {
        let mut ladder = Ladder::new(rungs, NeverExcuse::default());
        let outcomes: Vec<_> = outcomes.iter().map(|(test, all)| (TestId::from(*test), all.to_vec())).collect();
        let ids: Vec<&str> = outcomes.iter().map(|(id, _)| id.as_str()).collect();
        ladder.observe(&listed(&ids, false), Recordings::EMPTY);
        Self { ladder, outcomes, tried: None, requested: Vec::new(), next_environment: 1 }
    }

    /// The same script in every process, whatever happened in others.
    fn in_every_process(rungs: Rungs, outcomes: &[(&str, &[Outcome])]) -> Self {
        Self { tried: Some(HashMap::new()), ..Self::new(rungs, outcomes) }
    }

    fn outcome(&mut self, test: &TestId, environment: EnvironmentId) -> Outcome {
        let all = &mut self.outcomes.iter_mut().find(|(id, _)| id == test).unwrap().1;
        if let Some(tried) = &mut self.tried {
            let times = tried.entry((test.clone(), environment)).or_default();
            *times += 1;
            return all[(*times - 1).min(all.len() - 1)];
        }
        if all.len() > 1 { all.remove(0) } else { all[0] }
    }

    fn observe(&mut self, event: &Event) {
        self.ladder.observe(event, Recordings::EMPTY);
    }

    /// Records a requested session; equal ones in a row are counted.
    fn request(&mut self, session: String) {
        let times = |line: &String| line.strip_prefix(&session).map(|rest| rest.trim_start_matches(" ×").parse());
        match self.requested.last_mut().and_then(|last| Some((times(last)?.unwrap_or(1), last))) {
            Some((times, last)) => *last = format!("{session} ×{}", times + 1),
            None => self.requested.push(session),
        }
    }

    /// Runs one batch of sessions. False if the ladder requests none.
    fn batch(&mut self) -> bool {
        let sessions = self.ladder.next_sessions(Recordings::EMPTY);
        for session in &sessions {
            let tests: Vec<&str> = session.tests.iter().map(TestId::as_str).collect();
            self.request(format!("{} {} +{}", session.purpose.word(), tests.join(" "), session.again));
            let environment = match session.place {
                Placement::Live => EnvironmentId(0),
                Placement::Fresh(_) => EnvironmentId(self.next_environment),
            };
            self.next_environment += 1;
            let mut position = 0;
            for test in &session.tests {
                for run in 0..=session.again {
                    let outcome = self.outcome(test, environment);
                    self.observe(&Event::AttemptEnded(attempt(session, test, environment, position, run, outcome)));
                    position += 1;
                    if !outcome.is_failure() {
                        break;
                    }
                }
            }
            self.observe(&ended(session));
        }
        !sessions.is_empty()
    }

    fn run(mut self) -> Self {
        while self.batch() {}
        self
    }

    /// Findings as `test kind rung: sentence`.
    fn found(&self) -> Vec<String> {
        let line = |finding: Finding| {
            let verdict = finding.verdict().unwrap().clone();
            let kind = serde_json::to_value(verdict.kind).unwrap();
            let rung = verdict.rung.map_or("-".into(), |rung| serde_json::to_value(rung).unwrap());
            let text = |value: serde_json::Value| value.as_str().unwrap().to_owned();
            format!("{} {} {}: {}", finding.test, text(kind), text(rung), finding.sentence)
        };
        self.ladder.findings(Recordings::EMPTY).into_iter().map(line).collect()
    }
}

fn attempt(
    session: &Session,
    test: &TestId,
    environment: EnvironmentId,
    position: u32,
    run: u32,
    outcome: Outcome,
) -> Attempt {
    let origin = if session.place == Placement::Live { Isolation::Process } else { Isolation::Fork };
    Attempt { environment, origin, position, run, seconds: 0.1, ..simulation::attempt(session, test, outcome) }
}

fn check(outcomes: &[Outcome], requested: &[&str], found: &str) {
    let suite = ScriptedSuite::new(Rungs::default(), &[("a", &[Passed]), ("t", outcomes)]).run();
    assert_eq!(suite.requested, requested);
    assert_eq!(suite.found(), [found]);
}

#[test]
fn a_passing_suite_runs_once_without_findings() {
    let suite = ScriptedSuite::new(Rungs::default(), &[("a", &[Passed]), ("b", &[Skipped])]).run();
    assert_eq!(suite.requested, ["suite a b +1"]);
    assert!(suite.found().is_empty());
}

#[test]
fn an_immediate_pass_is_independent_flakiness() {
    check(
        &[Failed, Passed],
        &["suite a t +1", "fresh t +1"],
        "t flaky-independent immediate: random: 1 of 3 attempts failed, passed in an immediate retry",
    );
}

#[test]
fn a_pass_at_the_end_is_bursty() {
    check(
        &[Failed, Failed, Passed],
        &["suite a t +1", "at-end t +0", "fresh t +2"],
        "t flaky-bursty at-end: bursty: 2 of 4 attempts failed, passed at the end of the suite",
    );
}

#[test]
fn a_pass_only_when_fresh_is_state_dependent() {
    check(
        &[Failed, Failed, Failed, Passed],
        &["suite a t +1", "at-end t +0", "fresh t +0", "other-seeds t +1 ×6"],
        "t flaky-state-dependent fresh: order-dependent: 3 of 10 attempts failed, passed only in a fresh environment; 1 test ran before it",
    );
}

#[test]
fn what_differs_between_processes_and_not_within_is_seed_dependent() {
    check(
        &[Failed, Failed, Failed, Failed, Passed],
        &["suite a t +1", "at-end t +0", "fresh t +0", "other-seeds t +1 ×2"],
        "t flaky-seed-dependent other-seeds: seed-dependent: 4 of 6 attempts failed, in 1 of 3 new processes with other seeds and addresses",
    );
    check(
        &[Failed, Failed, Failed, Passed, Failed, Failed, Passed],
        &["suite a t +1", "at-end t +0", "fresh t +0", "other-seeds t +1 ×2"],
        "t flaky-seed-dependent fresh: seed-dependent: 5 of 7 attempts failed, in 1 of 3 new processes with other seeds and addresses",
    );
}

#[test]
fn what_differs_within_a_process_is_random() {
    check(
        &[Failed, Failed, Failed, Failed, Failed, Passed],
        &["suite a t +1", "at-end t +0", "fresh t +0", "other-seeds t +1 ×2", "fresh t +1"],
        "t flaky-independent other-seeds: random: 5 of 8 attempts failed, in 2 of 4 new processes",
    );
}

#[test]
fn a_test_that_never_passes_is_real() {
    check(
        &[Failed],
        &["suite a t +1", "at-end t +0", "fresh t +0", "other-seeds t +1 ×8"],
        "t real -: failed 20 of 20 attempts, including 8 new processes with other seeds",
    );
    check(
        &[Error],
        &["suite a t +1", "at-end t +0", "fresh t +0", "other-seeds t +1 ×8"],
        "t real -: had an error in set-up or tear-down in 20 of 20 attempts, including 8 new processes with other seeds",
    );
    check(
        &[TimedOut, Failed],
        &["suite a t +1", "at-end t +0", "fresh t +0", "other-seeds t +1"],
        "t real -: timed out first, 6 of 6 attempts did not pass, including a new process with other seeds",
    );
}

#[test]
fn a_skipped_rerun_proves_nothing() {
    check(
        &[Failed, Skipped],
        &["suite a t +1", "at-end t +0", "fresh t +0", "other-seeds t +1 ×8"],
        "t not-decided -: failed 1 of 12 attempts",
    );
}

#[test]
fn a_crash_is_never_excused() {
    check(
        &[Crashed(Death::Signal(11)), Passed],
        &["suite a t +1"],
        "t real immediate: crashed (killed by SIGSEGV) in 1 of 2 attempts; a crash is never excused by a later pass",
    );
}

#[test]
fn a_sanitizer_report_is_never_excused() {
    let mut suite = ScriptedSuite::new(Rungs::default(), &[("t", &[Passed])]);
    let session = suite.ladder.next_sessions(Recordings::EMPTY).remove(0);
    let mut first = attempt(&session, &"t".into(), EnvironmentId(0), 0, 0, Failed);
    first.stderr = "==1==ERROR: AddressSanitizer: heap-use-after-free".to_owned();
    suite.observe(&Event::AttemptEnded(first));
    suite.observe(&Event::AttemptEnded(attempt(&session, &"t".into(), EnvironmentId(0), 1, 1, Passed)));
    let finding = suite.ladder.findings(Recordings::EMPTY).remove(0);
    assert_eq!(finding.verdict().unwrap().kind, VerdictKind::Real);
    assert!(finding.sentence.contains("is never excused by a later pass"), "{}", finding.sentence);
}

#[test]
fn an_error_in_a_shared_tear_down_is_never_excused() {
    let mut suite = ScriptedSuite::new(Rungs::default(), &[("t", &[Passed])]);
    let session = suite.ladder.next_sessions(Recordings::EMPTY).remove(0);
    let mut first = attempt(&session, &"t".into(), EnvironmentId(0), 0, 0, Error);
    first.failure = Some(Failure { phase: Phase::SharedTearDown, ..failure("OSError") });
    suite.observe(&Event::AttemptEnded(first));
    suite.observe(&Event::AttemptEnded(attempt(&session, &"t".into(), EnvironmentId(0), 1, 1, Passed)));
    assert_eq!(suite.ladder.findings(Recordings::EMPTY)[0].verdict().unwrap().kind, VerdictKind::Real);
}

#[test]
fn the_number_of_attempts_is_configurable() {
    let rungs = Rungs { immediate: 2, at_end: 3, fresh: 2, ..Rungs::default() };
    let suite = ScriptedSuite::new(rungs, &[("t", &[Failed])]).run();
    assert_eq!(suite.requested, ["suite t +2", "at-end t +2", "fresh t +0 ×2", "other-seeds t +1 ×8"]);
    assert_eq!(suite.found(), ["t real -: failed 24 of 24 attempts, including 8 new processes with other seeds"]);

    let none = Rungs { immediate: 0, at_end: 0, fresh: 0, ..Rungs::default() };
    let suite = ScriptedSuite::new(none, &[("t", &[Failed])]).run();
    assert_eq!(suite.requested, ["suite t +0"]);
    assert_eq!(suite.found(), ["t not-decided -: failed its only attempt; fresh environments are off (--fresh 0)"]);
}

#[test]
fn fresh_attempts_end_with_the_first_pass() {
    let rungs = Rungs { immediate: 0, at_end: 0, fresh: 5, ..Rungs::default() };
    let suite = ScriptedSuite::new(rungs, &[("t", &[Failed, Failed, Passed]), ("u", &[Failed, Passed])]).run();
    assert_eq!(suite.requested, ["suite t u +0", "fresh t +0", "fresh u +0", "fresh t +0", "other-seeds u +1 ×6"]);
}

/// `failing` of `tests` fail.
fn failing_suite(tests: usize, failing: usize) -> ScriptedSuite {
    let names: Vec<String> = (0..tests).map(|number| format!("t{number}")).collect();
    let outcomes: Vec<(&str, &[Outcome])> = names
        .iter()
        .enumerate()
        .map(|(at, name)| (name.as_str(), if at < failing { &[Failed][..] } else { &[Passed][..] }))
        .collect();
    ScriptedSuite::new(Rungs::default(), &outcomes).run()
}

#[test]
fn too_many_failures_are_not_rerun_later() {
    let suite = failing_suite(20, 12);
    assert_eq!(suite.requested.len(), 1 + 12);
    assert_eq!(
        suite.found()[0],
        "t0 real -: failed 3 of 3 attempts, including a new process with other seeds; 12 of 20 tests failed, so each ran in one new process only"
    );
}

#[test]
fn fewer_than_ten_failures_are_never_too_many() {
    assert!(failing_suite(9, 9).requested.contains(&"fresh t8 +0".to_owned()));
    assert!(!failing_suite(10, 10).requested.contains(&"fresh t8 +0".to_owned()));
}

#[test]
fn from_ten_failures_on_the_share_decides() {
    assert!(failing_suite(1001, 10).requested.contains(&"fresh t8 +0".to_owned()));
    assert!(!failing_suite(1000, 10).requested.contains(&"fresh t8 +0".to_owned()));
}

#[test]
fn an_interrupted_run_reports_what_it_knows() {
    let mut suite = ScriptedSuite::new(Rungs::default(), &[("t", &[Failed])]);
    suite.batch();
    assert_eq!(suite.found(), ["t not-decided -: failed 2 of 2 attempts; the run ended before its retries"]);
}

#[test]
fn an_impossible_attempt_is_reported() {
    let mut suite = ScriptedSuite::new(Rungs::default(), &[("t", &[Failed])]);
    suite.batch();
    suite.batch();
    for sessions in [1, 2] {
        let requested = suite.ladder.next_sessions(Recordings::EMPTY);
        assert_eq!(requested.len(), sessions);
        for session in requested {
            let (left, why) = (session.tests, Some("the runner did not list it again".to_owned()));
            suite.observe(&Event::SessionEnded { session: session.id, left, why });
        }
    }
    assert!(suite.ladder.next_sessions(Recordings::EMPTY).is_empty());
    assert_eq!(
        suite.found(),
        ["t not-decided -: failed 3 of 3 attempts; it could not run again: the runner did not list it again"]
    );
}

#[test]
fn a_rerun_in_a_new_process_is_reported() {
    let mut suite = ScriptedSuite::new(Rungs::default(), &[("t", &[Passed])]);
    let session = suite.ladder.next_sessions(Recordings::EMPTY).remove(0);
    suite.observe(&Event::AttemptEnded(attempt(&session, &"t".into(), EnvironmentId(0), 7, 0, TimedOut)));
    suite.observe(&Event::AttemptEnded(attempt(&session, &"t".into(), EnvironmentId(2), 0, 1, Passed)));
    assert_eq!(
        suite.found(),
        [
            "t flaky-independent immediate: random: 1 of 2 attempts failed, the first timed out, passed in an immediate retry in a new process"
        ]
    );
}

#[test]
fn the_first_test_cannot_be_polluted_by_another() {
    let suite = ScriptedSuite::new(Rungs::default(), &[("t", &[Failed, Failed, Failed, Passed])]).run();
    let expected = "order-dependent: 3 of 10 attempts failed, passed only in a fresh environment; no test ran before it, so loading other files may cause it";
    assert_eq!(suite.found(), [format!("t flaky-state-dependent fresh: {expected}")]);
}

// -- Confirming a pass
// ------------------------------------------------------------------------------------------------

const FIRST_TIME: &str = "(4 of 4) and passes in a retry there: check one-time initialization";

fn only(suite: &ScriptedSuite) -> Finding {
    let mut findings = suite.ladder.findings(Recordings::EMPTY);
    assert_eq!(findings.len(), 1);
    findings.remove(0)
}

#[test]
fn failing_first_and_passing_later_in_every_process_is_real() {
    let suite = ScriptedSuite::in_every_process(Rungs::default(), &[("a", &[Passed]), ("t", &[Failed, Passed])]).run();
    assert_eq!(suite.requested, ["suite a t +1", "fresh t +1 ×3"]);
    assert_eq!(suite.found(), [format!("t real immediate: fails the first time in every process {FIRST_TIME}")]);
    let finding = only(&suite);
    let evidence = &finding.verdict().unwrap().evidence;
    assert_eq!((evidence.attempts, evidence.failed, evidence.confirmed), (8, 4, Some(false)));
    assert_eq!(finding.replays[0].tests, ["t".into()], "alone it fails too");
}

#[test]
fn passing_only_at_the_end_in_every_process_is_real() {
    let suite = ScriptedSuite::in_every_process(Rungs::default(), &[("t", &[Error, Error, Passed])]).run();
    assert_eq!(suite.requested, ["suite t +1", "at-end t +0", "fresh t +2 ×3"]);
    assert_eq!(suite.found(), [format!("t real at-end: fails the first time in every process {FIRST_TIME}")]);

    let rungs = Rungs { immediate: 0, ..Rungs::default() };
    let suite = ScriptedSuite::in_every_process(rungs, &[("t", &[Failed, Passed])]).run();
    assert_eq!(suite.requested, ["suite t +0", "at-end t +0", "fresh t +1 ×3"]);
    assert_eq!(suite.found(), [format!("t real at-end: fails the first time in every process {FIRST_TIME}")]);
}

/// Whatever a test does, if it does the same in every process and fails first, every plain run is
/// red.
#[test]
fn repeatable_first_failures_are_never_excused() {
    for immediate in 0..4 {
        for at_end in 0..4 {
            for pattern in 0..64 {
                let later = (0..6).map(|bit| if pattern >> bit & 1 == 0 { Failed } else { Passed });
                let outcomes: Vec<Outcome> = [Failed].into_iter().chain(later).collect();
                let rungs = Rungs { immediate, at_end, ..Rungs::default() };
                let suite = ScriptedSuite::in_every_process(rungs, &[("t", &outcomes)]).run();
                assert_eq!(
                    only(&suite).verdict().unwrap().kind,
                    VerdictKind::Real,
                    "{immediate} {at_end} {outcomes:?}"
                );
            }
        }
    }
}

#[test]
fn the_first_deviating_process_confirms_the_pass() {
    let [once, twice, thrice] = ["fresh t +1", "fresh t +1 ×2", "fresh t +1 ×3"].map(|fresh| ["suite a t +1", fresh]);
    let passed = |counts: &str| {
        format!("t flaky-independent immediate: random: {counts} attempts failed, passed in an immediate retry")
    };
    check(&[Failed, Passed, Passed], &once, &passed("1 of 3"));
    check(&[Failed, Passed, Failed, Passed, Passed], &twice, &passed("2 of 5"));
    check(&[Failed, Passed, Failed, Passed, Failed, Passed, Passed], &thrice, &passed("3 of 7"));
    let failed_fresh = |counts: &str| passed(counts) + ", failed in a fresh environment";
    check(&[Failed, Passed, Failed], &once, &failed_fresh("3 of 4"));
    check(&[Failed, Passed, Failed, Passed, Failed], &twice, &failed_fresh("4 of 6"));
    let suite = ScriptedSuite::new(Rungs::default(), &[("t", &[Failed, Passed])]).run();
    let evidence = only(&suite).verdict().unwrap().evidence.clone();
    assert_eq!((evidence.attempts, evidence.failed, evidence.confirmed), (3, 1, Some(true)));
    assert_eq!(evidence.fresh, Some(Isolation::Fork));
}

#[test]
fn a_pass_at_the_end_is_confirmed_by_as_many_attempts() {
    check(
        &[Failed, Failed, Passed, Failed],
        &["suite a t +1", "at-end t +0", "fresh t +2"],
        "t flaky-bursty at-end: bursty: 5 of 6 attempts failed, passed at the end of the suite, failed in a fresh environment",
    );
}

#[test]
fn passes_are_confirmed_in_parallel_with_other_fresh_attempts() {
    let always = &[Failed][..];
    let tests =
        [("once", &[Failed, Passed][..]), ("real", always), ("twice", &[Failed, Passed, Failed, Passed, Passed])];
    let mut suite = ScriptedSuite::new(Rungs::default(), &tests);
    let mut batches = Vec::new();
    while suite.batch() {
        batches.push(suite.requested.join(", "));
        suite.requested.clear();
    }
    let others = "other-seeds real +1 ×2";
    let rest = ["fresh real +0, fresh once +1, fresh twice +1", "fresh twice +1", others, others, others, others];
    assert_eq!(batches, [&["suite once real twice +1", "at-end real +0"], &rest[..]].concat());
}

#[test]
fn a_pass_in_a_process_without_a_failure_needs_no_confirmation() {
    for (outcome, sentence) in [
        (
            TimedOut,
            "random: 1 of 2 attempts failed, the first timed out, passed in an immediate retry in a new process",
        ),
        (Failed, "random: 1 of 2 attempts failed, passed in an immediate retry in a new process"),
    ] {
        let mut suite = ScriptedSuite::new(Rungs::default(), &[("t", &[Passed])]);
        let session = suite.ladder.next_sessions(Recordings::EMPTY).remove(0);
        suite.observe(&Event::AttemptEnded(attempt(&session, &"t".into(), EnvironmentId(0), 0, 0, outcome)));
        suite.observe(&Event::AttemptEnded(attempt(&session, &"t".into(), EnvironmentId(1), 0, 1, Passed)));
        suite.observe(&ended(&session));
        assert!(suite.ladder.next_sessions(Recordings::EMPTY).is_empty());
        assert_eq!(suite.found(), [format!("t flaky-independent immediate: {sentence}")]);
        assert_eq!(only(&suite).verdict().unwrap().evidence.confirmed, Some(true));
    }
}

#[test]
fn a_pass_after_a_failure_in_the_second_process_needs_one() {
    let mut suite = ScriptedSuite::new(Rungs { immediate: 2, ..Rungs::default() }, &[("t", &[Passed])]);
    let session = suite.ladder.next_sessions(Recordings::EMPTY).remove(0);
    for (environment, run, outcome) in [(0, 0, TimedOut), (1, 1, Failed), (1, 2, Passed)] {
        let attempt = attempt(&session, &"t".into(), EnvironmentId(environment), 0, run, outcome);
        suite.observe(&Event::AttemptEnded(attempt));
    }
    assert_eq!(suite.ladder.next_sessions(Recordings::EMPTY)[0].again, 1);
}

#[test]
fn a_confirmation_that_times_out_and_passes_elsewhere_confirms() {
    let mut suite = ScriptedSuite::new(Rungs::default(), &[("t", &[Failed, Passed])]);
    suite.batch();
    let session = suite.ladder.next_sessions(Recordings::EMPTY).remove(0);
    suite.observe(&Event::AttemptEnded(attempt(&session, &"t".into(), EnvironmentId(7), 0, 0, TimedOut)));
    suite.observe(&Event::AttemptEnded(attempt(&session, &"t".into(), EnvironmentId(8), 0, 1, Passed)));
    suite.observe(&ended(&session));
    assert!(suite.ladder.next_sessions(Recordings::EMPTY).is_empty());
    assert_eq!(only(&suite).verdict().unwrap().evidence.confirmed, Some(true));
}

#[test]
fn a_crash_during_a_confirmation_is_never_excused() {
    check(
        &[Failed, Passed, Crashed(Death::Signal(11)), Passed],
        &["suite a t +1", "fresh t +1"],
        "t real immediate: failed first, 2 of 4 attempts did not pass; a crash is never excused by a later pass",
    );
}

#[test]
fn never_excused_failures_need_no_confirmation() {
    let suite = ScriptedSuite::new(Rungs::default(), &[("t", &[Crashed(Death::Signal(11)), Passed])]).run();
    assert_eq!(suite.requested, ["suite t +1"]);
    let finding = only(&suite);
    assert_eq!(finding.verdict().unwrap().evidence.confirmed, None);
    assert!(finding.replays[0].tests.is_empty(), "alone it may pass");
    let suite = ScriptedSuite::new(Rungs::default(), &[("t", &[Crashed(Death::Signal(11))])]).run();
    assert_eq!(only(&suite).replays[0].tests, ["t".into()]);
}

const MAY_STILL: &str = "; not confirmed in a fresh process: ";

#[test]
fn without_fresh_environments_nothing_is_confirmed() {
    let rungs = Rungs { fresh: 0, ..Rungs::default() };
    let suite = ScriptedSuite::in_every_process(rungs, &[("t", &[Failed, Passed])]).run();
    assert_eq!(suite.requested, ["suite t +1"]);
    let why = "fresh environments are off (--fresh 0)";
    assert_eq!(
        suite.found(),
        [format!(
            "t flaky-independent immediate: random: 1 of 2 attempts failed, passed in an immediate retry{MAY_STILL}{why}"
        )]
    );
    let evidence = only(&suite).verdict().unwrap().evidence.clone();
    assert_eq!((evidence.confirmed, evidence.not_rerun.as_deref()), (None, Some(why)));
}

#[test]
fn passes_are_confirmed_however_many_tests_fail() {
    let names: Vec<String> = (0..10).map(|number| format!("t{number}")).collect();
    let mut outcomes: Vec<(&str, &[Outcome])> = names.iter().map(|name| (name.as_str(), &[Failed][..])).collect();
    outcomes.push(("first", &[Failed, Passed]));
    let suite = ScriptedSuite::in_every_process(Rungs::default(), &outcomes).run();
    assert_eq!(suite.requested[1..3], ["fresh first +1 ×3", "other-seeds t0 +0"]);
    let found = suite.found();
    assert!(found[0].ends_with("11 of 11 tests failed, so each ran in one new process only"));
    assert_eq!(found[10], format!("first real immediate: fails the first time in every process {FIRST_TIME}"));
}

#[test]
fn an_interrupted_run_reports_an_unconfirmed_pass() {
    let mut suite = ScriptedSuite::in_every_process(Rungs::default(), &[("t", &[Failed, Passed])]);
    let why = "the run ended before it ran in a fresh environment";
    let expected = |counts: &str| {
        let passed = format!("random: {counts} attempts failed, passed in an immediate retry");
        format!("t flaky-independent immediate: {passed}{MAY_STILL}{why}")
    };
    suite.batch();
    assert_eq!(suite.found()[0], expected("1 of 2"));
    suite.batch();
    assert_eq!(suite.found()[0], expected("2 of 4"));
    // In the middle of a confirmation, a single failure decides nothing yet.
    let session = suite.ladder.next_sessions(Recordings::EMPTY).remove(0);
    suite.observe(&Event::AttemptEnded(attempt(&session, &"t".into(), EnvironmentId(7), 0, 0, Failed)));
    assert_eq!(suite.found()[0], expected("3 of 5"));
}

#[test]
fn an_impossible_confirmation_is_reported_and_not_repeated() {
    let mut suite = ScriptedSuite::new(Rungs::default(), &[("t", &[Failed, Passed])]);
    suite.batch();
    let session = suite.ladder.next_sessions(Recordings::EMPTY).remove(0);
    let (left, why) = (session.tests, Some("the runner did not list it again".to_owned()));
    suite.observe(&Event::SessionEnded { session: session.id, left, why });
    assert!(suite.ladder.next_sessions(Recordings::EMPTY).is_empty());
    let why = "it could not run in a fresh environment: the runner did not list it again";
    assert_eq!(
        suite.found(),
        [format!(
            "t flaky-independent immediate: random: 1 of 2 attempts failed, passed in an immediate retry{MAY_STILL}{why}"
        )]
    );
}

#[test]
fn a_confirmation_without_an_attempt_confirms_nothing() {
    let mut suite = ScriptedSuite::new(Rungs::default(), &[("t", &[Failed, Passed])]);
    suite.batch();
    let session = suite.ladder.next_sessions(Recordings::EMPTY).remove(0);
    assert!(
        suite.ladder.next_sessions(Recordings::EMPTY).is_empty(),
        "one that has no end yet is not requested for once more"
    );
    suite.observe(&ended(&session));
    assert_eq!(only(&suite).verdict().unwrap().evidence.confirmed, None);
    assert!(suite.found()[0].ends_with("it did not run in a fresh environment"), "{:?}", suite.found());
}

#[test]
fn a_skip_confirms_nothing() {
    let why = "it was skipped in a fresh environment";
    check(
        &[Failed, Passed, Skipped],
        &["suite a t +1", "fresh t +1"],
        &format!(
            "t flaky-independent immediate: random: 1 of 3 attempts failed, passed in an immediate retry{MAY_STILL}{why}"
        ),
    );
}
