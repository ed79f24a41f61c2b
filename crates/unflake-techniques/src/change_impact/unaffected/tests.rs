//! Tests of `unaffected`.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use unflake_model::{
    Attempt, Base, BaseChoice, ChangeKind, Changes, EnvironmentId, Event, Failure, FileChange, Isolation, Purpose,
    Verdict, VerdictKind,
};

use super::*;
use crate::simulation::{attempt, ended, failure, listed};
use crate::{Ladder, NeverExcuse, Recordings, Rungs, Technique};

use Outcome::{Failed, Passed};

/// A suite of `a` and `b`, of which `b` fails. `a` runs `a.py`, `b` runs `b.py`.
struct Scenario {
    changed: &'static str,
    passed: BTreeMap<TestId, Vec<TestId>>,
    verify: AtBase,
    /// Outcomes of `b` here and at the base, in order; the last one repeats.
    here: Vec<Outcome>,
    at_base: Vec<Outcome>,
    unknown: Vec<String>,
    /// Error type at the base.
    error_at_base: &'static str,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            changed: "c.py",
            passed: BTreeMap::new(),
            verify: AtBase::Never,
            here: vec![Failed],
            at_base: Vec::new(),
            unknown: Vec::new(),
            error_at_base: "AssertionError",
        }
    }
}

struct LadderResult {
    verdict: Verdict,
    sentence: String,
    intersect: Option<Intersect>,
    requested: Vec<String>,
}

impl Scenario {
    fn passed(before: &[&str]) -> Self {
        let before = before.iter().map(|test| TestId::from(*test)).collect();
        Self { passed: [("b".into(), before)].into(), ..Self::default() }
    }

    fn failure(&self, purpose: Purpose) -> Failure {
        let kind = if purpose == Purpose::Base { self.error_at_base } else { "AssertionError" };
        Failure { line: Some(7), ..failure(kind) }
    }

    fn verified(at_base: &[Outcome]) -> Self {
        Self { verify: AtBase::Always, at_base: at_base.to_vec(), ..Self::default() }
    }

    fn compared(&self) -> Comparison {
        let change = FileChange { path: self.changed.to_owned(), kind: ChangeKind::Modified, functions: None };
        let changes = Changes {
            base: Base { revision: "0123456789abcdef".to_owned(), chosen: BaseChoice::MergeBase("main".to_owned()) },
            head: None,
            root: PathBuf::from("/p"),
            files: vec![change],
            ignored: Vec::new(),
            caches: Default::default(),
            new_directories: Default::default(),
            for_all: Vec::new(),
            for_directory: Vec::new(),
            by_function: Vec::new(),
            descriptive: Default::default(),
            for_installation: Default::default(),
            ignore_case: false,
            unknown: Vec::new(),
        };
        Comparison { changes, passed: self.passed.clone() }
    }

    fn run(mut self) -> LadderResult {
        let rungs = Rungs { intersect: Some(Granularity::File), verify_base: self.verify, ..Rungs::default() };
        let mut ladder = Ladder::new(rungs, NeverExcuse::default());
        ladder.observe(&listed(&["a", "b"], false), Recordings::EMPTY);
        let (mut environment, mut requested, mut compared) = (0, Vec::new(), false);
        let mut positions: HashMap<u32, u32> = HashMap::new();
        let next = |outcomes: &mut Vec<Outcome>| if outcomes.len() > 1 { outcomes.remove(0) } else { outcomes[0] };
        loop {
            let sessions = ladder.next_sessions(Recordings::EMPTY);
            if sessions.is_empty() {
                break;
            }
            for session in &sessions {
                // New processes with other seeds belong to the verdict and are not recorded here.
                if session.purpose != Purpose::OtherSeeds {
                    requested.push(format!("{} {}", session.purpose.word(), session.tests.len()));
                }
                if session.place != unflake_model::Placement::Live {
                    environment += 1;
                }
                let here = if session.place == unflake_model::Placement::Live { 0 } else { environment };
                for test in &session.tests {
                    for run in 0..=session.again {
                        let outcome = match (test.as_str(), session.purpose) {
                            ("a", _) => Passed,
                            (_, Purpose::Base) => next(&mut self.at_base),
                            (_, Purpose::OtherSeeds) => Failed,
                            _ => next(&mut self.here),
                        };
                        let position = positions.entry(here).or_default();
                        if session.depends.is_some() {
                            let on = Dependencies {
                                root: PathBuf::from("/p"),
                                executed: [(format!("{test}.py"), None)].into(),
                                after: *position,
                                unknown: self.unknown.clone(),
                                ..Dependencies::default()
                            };
                            let (session, test, on) = (session.id, test.clone(), Box::new(on));
                            ladder.observe(&Event::DependenciesRecorded { session, test, on }, Recordings::EMPTY);
                        }
                        let attempt = Attempt {
                            environment: EnvironmentId(here),
                            origin: Isolation::Fork,
                            position: *position,
                            run,
                            failure: outcome.is_failure().then(|| self.failure(session.purpose)),
                            ..attempt(session, test, outcome)
                        };
                        ladder.observe(&Event::AttemptEnded(attempt), Recordings::EMPTY);
                        *position += 1;
                        if !outcome.is_failure() {
                            break;
                        }
                    }
                }
                ladder.observe(&ended(session), Recordings::EMPTY);
            }
            if !compared && sessions.iter().any(|one| one.depends.is_some()) {
                compared = true;
                ladder.observe(&Event::ChangesCompared(Box::new(Ok(self.compared()))), Recordings::EMPTY);
            }
        }
        let findings = ladder.findings(Recordings::EMPTY);
        let intersect = findings.iter().find_map(|finding| match &finding.detail {
            Detail::Intersect(detail) => Some(detail.clone()),
            _ => None,
        });
        let (verdict, sentence) = (findings[0].verdict().unwrap().clone(), findings[0].sentence.clone());
        LadderResult { verdict, sentence, intersect, requested }
    }
}

/// A pass is known, and the outcomes at the base now are these.
fn known(before: &[&str], at_base: &[Outcome]) -> Scenario {
    Scenario { verify: AtBase::Needed, at_base: at_base.to_vec(), ..Scenario::passed(before) }
}

#[test]
fn a_disjoint_change_excuses_what_fails_now_with_the_files_with_which_it_passed() {
    let result = known(&[], &[Failed]).run();
    assert_eq!(result.verdict.kind, VerdictKind::UnaffectedByChange);
    assert_eq!(
        result.sentence,
        "cannot come from your change: it does not touch the one file that this test ran or read; with the files of the \
         base the test passed before and fails now (0123456789, merge base with main)"
    );
    assert_eq!(result.requested, ["suite 2", "at-end 1", "fresh 1", "base 1", "base 1", "base 1"]);
    let intersect = result.intersect.unwrap();
    assert_eq!((intersect.kind, intersect.base_passed), (IntersectKind::Unaffected, Some(true)));
    assert_eq!(intersect.considered, ["c.py"]);
}

#[test]
fn a_known_pass_excuses_nothing_that_passes_at_the_base_now() {
    for verify in [AtBase::Needed, AtBase::Always] {
        let result = Scenario { verify, ..known(&[], &[Passed]) }.run();
        assert_eq!(result.verdict.kind, VerdictKind::Real);
        let intersect = result.intersect.unwrap();
        assert_eq!(intersect.kind, IntersectKind::Unknown);
        assert!(intersect.unknown[0].contains("depends on the change in a way"), "{:?}", intersect.unknown);
    }
    let unverified = Scenario { verify: AtBase::Never, ..known(&[], &[Failed]) }.run();
    assert_eq!(unverified.verdict.kind, VerdictKind::Real, "nothing shows that it does not pass there");
    assert_eq!(unverified.requested.last().unwrap(), "fresh 1");
}

#[test]
fn a_pass_after_others_is_compared_with_a_run_after_the_same_tests() {
    let fails_there = known(&["a"], &[Failed]).run();
    assert_eq!(fails_there.requested[3..], ["base 1", "base 1", "base 1", "base 2"]);
    assert_eq!(fails_there.verdict.kind, VerdictKind::UnaffectedByChange);
    assert!(fails_there.sentence.contains("fails now (0123456789"), "{}", fails_there.sentence);
    let needs_others = known(&["a"], &[Failed, Failed, Failed, Passed]).run();
    assert_eq!(needs_others.verdict.kind, VerdictKind::Real, "a may have set up what b needs");
    let passes_alone = known(&["a"], &[Passed]).run();
    assert_eq!(passes_alone.requested[3..], ["base 1", "base 1", "base 1", "fresh 1", "fresh 1"]);
    assert_eq!(passes_alone.verdict.kind, VerdictKind::Real);
    let otherwise = Scenario { error_at_base: "ImportError", ..known(&["a"], &[Failed]) }.run();
    assert_eq!(otherwise.verdict.kind, VerdictKind::Real, "something may be missing in that tree");
}

#[test]
fn without_a_known_pass_a_disjoint_change_excuses_nothing() {
    let result = Scenario::default().run();
    assert_eq!(result.verdict.kind, VerdictKind::Real);
    assert_eq!(result.intersect.unwrap().base_passed, None);
}

#[test]
fn touched_or_unknown_dependencies_are_never_excused() {
    let result = Scenario { changed: "b.py", ..Scenario::passed(&[]) }.run();
    assert_eq!(result.verdict.kind, VerdictKind::Real);
    assert_eq!(result.intersect.unwrap().touched[0].path, "b.py");
    let unseen = Scenario { unknown: vec!["git was started".to_owned()], ..Scenario::passed(&[]) }.run();
    assert_eq!((unseen.verdict.kind, unseen.intersect.unwrap().kind), (VerdictKind::Real, IntersectKind::Unknown));
}

#[test]
fn a_pass_at_the_base_counts_only_if_the_outcome_varies() {
    let failed = [Failed; 4];
    let passes_here = Scenario { here: [&failed[..], &[Passed]].concat(), ..Scenario::verified(&[Passed]) }.run();
    assert_eq!(passes_here.requested[3..], ["base 1", "base 1", "base 1", "fresh 1", "fresh 1"]);
    assert_eq!(passes_here.verdict.kind, VerdictKind::UnaffectedByChange, "{}", passes_here.sentence);
    let never_here = Scenario::verified(&[Passed]).run();
    assert_eq!(never_here.verdict.kind, VerdictKind::Real);
    assert!(never_here.intersect.unwrap().unknown[0].contains("depends on the change in a way"));
    let varies_there = Scenario::verified(&[Passed, Failed, Passed]).run();
    assert_eq!(varies_there.verdict.kind, VerdictKind::UnaffectedByChange);
    let fails_there = Scenario::verified(&[Failed]).run();
    assert_eq!(
        (fails_there.verdict.kind, fails_there.intersect.unwrap().base_passed),
        (VerdictKind::Real, Some(false))
    );
}
