use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use unflake_model::{
    Attempt, Base, BaseChoice, ChangeKind, Changes, EnvironmentId, Event, Failure, FileChange, Isolation, Phase,
    Purpose, Test, Timestamp, Verdict, VerdictKind,
};

use super::*;
use crate::{Ladder, NeverExcuse, Rungs, Technique};

use Outcome::{Failed, Passed};

/// A suite of `a` and `b`, of which `b` fails. `a` runs `a.py`, `b` runs `b.py`.
struct World {
    changed: &'static str,
    passed: BTreeMap<TestId, Vec<TestId>>,
    verify: AtBase,
    /// How `b` ends here and at the base, in the order of its attempts; the last one repeats.
    here: Vec<Outcome>,
    at_base: Vec<Outcome>,
    unknown: Vec<String>,
    /// The kind of the error at the base.
    error_at_base: &'static str,
}

impl Default for World {
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

struct Played {
    verdict: Verdict,
    sentence: String,
    intersect: Option<Intersect>,
    asked: Vec<String>,
}

impl World {
    fn passed(before: &[&str]) -> Self {
        let before = before.iter().map(|test| TestId::from(*test)).collect();
        Self { passed: [("b".into(), before)].into(), ..Self::default() }
    }

    fn failure(&self, purpose: Purpose) -> Failure {
        let kind = if purpose == Purpose::Base { self.error_at_base } else { "AssertionError" };
        Failure {
            phase: Phase::Call,
            kind: kind.to_owned(),
            message: String::new(),
            trace: String::new(),
            file: None,
            line: Some(7),
        }
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
            new_directories: Default::default(),
            for_all: Vec::new(),
            ignore_case: false,
            unknown: Vec::new(),
        };
        Comparison { changes, passed: self.passed.clone() }
    }

    fn play(mut self) -> Played {
        let rungs = Rungs { intersect: Some(Granularity::File), verify_base: self.verify, ..Rungs::default() };
        let mut ladder = Ladder::new(rungs, NeverExcuse::default());
        let test = |id: &str| Test { id: id.into(), file: None, line: None, command: Vec::new() };
        ladder.hear(&Event::TestsListed { tests: vec![test("a"), test("b")], deselected: 0, isolated: false });
        let (mut environment, mut asked, mut told) = (0, Vec::new(), false);
        let mut positions: HashMap<u32, u32> = HashMap::new();
        let next = |outcomes: &mut Vec<Outcome>| if outcomes.len() > 1 { outcomes.remove(0) } else { outcomes[0] };
        loop {
            let sessions = ladder.ask();
            if sessions.is_empty() {
                break;
            }
            for session in &sessions {
                asked.push(format!("{} {}", session.purpose.word(), session.tests.len()));
                if session.place != unflake_model::Placement::Live {
                    environment += 1;
                }
                let here = if session.place == unflake_model::Placement::Live { 0 } else { environment };
                for test in &session.tests {
                    for run in 0..=session.again {
                        let outcome = match (test.as_str(), session.purpose) {
                            ("a", _) => Passed,
                            (_, Purpose::Base) => next(&mut self.at_base),
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
                            ladder.hear(&Event::DependenciesRecorded {
                                session: session.id,
                                test: test.clone(),
                                on: Box::new(on),
                            });
                        }
                        ladder.hear(&Event::AttemptEnded(Attempt {
                            test: test.clone(),
                            session: session.id,
                            purpose: session.purpose,
                            environment: EnvironmentId(here),
                            origin: Isolation::Fork,
                            position: *position,
                            run,
                            outcome,
                            started: Timestamp(0),
                            seconds: 0.0,
                            failure: outcome.is_failure().then(|| self.failure(session.purpose)),
                            stdout: String::new(),
                            stderr: String::new(),
                        }));
                        *position += 1;
                        if !outcome.is_failure() {
                            break;
                        }
                    }
                }
                ladder.hear(&Event::SessionEnded { session: session.id, left: Vec::new(), why: None });
            }
            if !told && sessions.iter().any(|one| one.depends.is_some()) {
                told = true;
                ladder.hear(&Event::ChangesCompared(Box::new(Ok(self.compared()))));
            }
        }
        let findings = ladder.findings();
        let intersect = findings.iter().find_map(|finding| match &finding.detail {
            Detail::Intersect(detail) => Some(detail.clone()),
            _ => None,
        });
        let (verdict, sentence) = (findings[0].verdict().unwrap().clone(), findings[0].sentence.clone());
        Played { verdict, sentence, intersect, asked }
    }
}

#[test]
fn a_disjoint_change_and_a_pass_alone_at_the_base_excuse_a_failure() {
    let played = World::passed(&[]).play();
    assert_eq!(played.verdict.kind, VerdictKind::UnaffectedByChange);
    assert_eq!(
        played.sentence,
        "cannot come from your change: it does not touch the one file that this test ran or read; the test passed at the \
         base (0123456789, where this parted from main)"
    );
    assert_eq!(played.asked, ["suite 2", "at-end 1", "fresh 1"]);
    let intersect = played.intersect.unwrap();
    assert_eq!((intersect.kind, intersect.base_passed), (IntersectKind::Unaffected, Some(true)));
    assert_eq!(intersect.considered, ["c.py"]);
}

#[test]
fn a_pass_after_others_counts_if_those_are_unaffected_too() {
    let played = World::passed(&["a"]).play();
    assert_eq!(played.asked, ["suite 2", "at-end 1", "fresh 1", "again 2"]);
    assert_eq!(played.verdict.kind, VerdictKind::UnaffectedByChange);
    let touched = World { changed: "a.py", ..World::passed(&["a"]) }.play();
    assert_eq!(touched.verdict.kind, VerdictKind::Real, "a may have set up what b needs");
    assert_eq!(touched.intersect.unwrap().kind, IntersectKind::Unaffected);
    let others = World::passed(&["z"]).play();
    assert_eq!(others.verdict.kind, VerdictKind::Real, "other tests had run before it there");
    assert_eq!(others.asked.last().unwrap(), "fresh 1");
}

#[test]
fn where_those_before_it_changed_the_same_tests_are_run_with_the_files_of_the_base() {
    let world = |at_base: Outcome| World {
        changed: "a.py",
        verify: AtBase::Needed,
        at_base: vec![at_base],
        ..World::passed(&["a"])
    };
    let fails_there = world(Failed).play();
    assert_eq!(fails_there.asked[3..], ["again 2", "base 2"]);
    assert_eq!(fails_there.verdict.kind, VerdictKind::UnaffectedByChange);
    assert!(fails_there.sentence.contains("it fails now too (0123456789"), "{}", fails_there.sentence);
    let passes_there = world(Passed).play();
    assert_eq!(passes_there.verdict.kind, VerdictKind::Real);
    let otherwise = World { error_at_base: "ImportError", ..world(Failed) }.play();
    assert_eq!(otherwise.verdict.kind, VerdictKind::Real, "something may be missing in that tree");
}

#[test]
fn without_a_known_pass_it_says_just_that_nothing_is_touched() {
    let played = World::default().play();
    assert_eq!(played.verdict.kind, VerdictKind::Real);
    assert_eq!(played.intersect.unwrap().base_passed, None);
}

#[test]
fn what_the_change_touches_is_real_whatever_is_known() {
    let played = World { changed: "b.py", ..World::passed(&[]) }.play();
    assert_eq!(played.verdict.kind, VerdictKind::Real);
    assert_eq!(played.intersect.unwrap().touched[0].path, "b.py");
    let unseen = World { unknown: vec!["git was started".to_owned()], ..World::passed(&[]) }.play();
    assert_eq!((unseen.verdict.kind, unseen.intersect.unwrap().kind), (VerdictKind::Real, IntersectKind::Unknown));
}

#[test]
fn a_pass_at_the_base_that_is_seen_now_must_go_with_a_change_of_mind_here() {
    let failed = [Failed; 4];
    let passes_here = World { here: [&failed[..], &[Passed]].concat(), ..World::verified(&[Passed]) }.play();
    assert_eq!(passes_here.asked[3..], ["base 1", "base 1", "base 1", "fresh 1", "fresh 1"]);
    assert_eq!(passes_here.verdict.kind, VerdictKind::UnaffectedByChange, "{}", passes_here.sentence);
    let never_here = World::verified(&[Passed]).play();
    assert_eq!(never_here.verdict.kind, VerdictKind::Real);
    assert!(never_here.intersect.unwrap().unknown[0].contains("something ties it to the change"));
    let varies_there = World::verified(&[Passed, Failed, Passed]).play();
    assert_eq!(varies_there.verdict.kind, VerdictKind::UnaffectedByChange);
    let fails_there = World::verified(&[Failed]).play();
    assert_eq!(
        (fails_there.verdict.kind, fails_there.intersect.unwrap().base_passed),
        (VerdictKind::Real, Some(false))
    );
}
