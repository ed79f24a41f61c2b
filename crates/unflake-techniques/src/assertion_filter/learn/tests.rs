use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

use unflake_model::{AssertionKey, Attempt, EnvironmentId, Outcome, Timestamp};

use super::*;

const TEST: &str = "t.py::test_a";

fn spot(expression: &str) -> AssertionKey {
    AssertionKey {
        file: "t.py".to_owned(),
        function: "test_a".to_owned(),
        expression: expression.to_owned(),
        ordinal: 0,
    }
}

fn learning(runs: u32, at_once: usize, tests: &[&str]) -> FilterLearnConfig {
    let tests = tests.iter().map(|test| (*test).to_owned()).collect();
    FilterLearnConfig { tests, runs, fresh_by: Isolation::Process, at_once }
}

/// A world with one test of two assertions; the first fails in every other run, and the second is reached only if that is let go or holds.
struct World {
    next: Rc<RefCell<Vec<AssertionRecord>>>,
    runs: u32,
    may_fail: Vec<Assertion>,
    places: Vec<Placement>,
    most_at_once: usize,
}

fn learn(learning: FilterLearnConfig) -> (Vec<AssertionSample>, World, Vec<String>) {
    let next: Rc<RefCell<Vec<AssertionRecord>>> = Rc::default();
    let mut world = World { next: next.clone(), runs: 0, may_fail: Vec::new(), places: Vec::new(), most_at_once: 0 };
    let mut learn = FilterLearn::new(learning, Box::new(move |_| next.borrow().clone()));
    let test = |id: &str| Test { id: id.into(), file: Some("t.py".into()), line: None, command: Vec::new() };
    let tests = vec![test(TEST), test("t.py::test_b")];
    learn.hear(&Event::TestsListed { tests, deselected: 0, isolated: false });
    let site = |expression: &str| AssertionSite { spot: spot(expression), line: 1, body: "b1".to_owned() };
    assert!(learn.let_fail(&[site("first"), site("second")], &HashMap::new()).is_empty());
    loop {
        let sessions = learn.ask();
        if sessions.is_empty() {
            return (learn.samples(), world, learn.unknown);
        }
        world.may_fail = learn.may_fail_now().unwrap_or(world.may_fail);
        world.most_at_once = world.most_at_once.max(sessions.len());
        for session in sessions {
            world.places.push(session.place);
            for test in &session.tests {
                world.attempt(&mut learn, &session, test);
            }
        }
    }
}

impl World {
    fn attempt(&mut self, learn: &mut FilterLearn<'_>, session: &Session, test: &TestId) {
        let saw = |expression: &str, how: AssertionOutcome, values: &str| {
            let failing = if how.is_failure() { vec![values.to_owned()] } else { Vec::new() };
            AssertionRecord { spot: spot(expression), line: 1, how, values: values.to_owned(), failing }
        };
        let mut seen = Vec::new();
        if test.as_str() == TEST {
            self.runs += 1;
            let let_go = self.may_fail.iter().any(|one| one.spot.expression == "first");
            let how = match self.runs % 2 {
                1 => AssertionOutcome::Held,
                _ if let_go => AssertionOutcome::Filtered,
                _ => AssertionOutcome::Failed,
            };
            seen.push(saw("first", how, if how == AssertionOutcome::Held { "x = 1" } else { "x = 2" }));
            if how != AssertionOutcome::Failed {
                seen.push(saw("second", AssertionOutcome::Held, "y = 1"));
            }
        }
        *self.next.borrow_mut() = seen;
        let environment = EnvironmentId(session.id.0);
        let attempt = Attempt {
            test: test.clone(),
            session: session.id,
            purpose: session.purpose,
            environment,
            origin: Isolation::Process,
            position: 0,
            run: 0,
            outcome: Outcome::Passed,
            started: Timestamp(0),
            seconds: 0.0,
            failure: None,
            stdout: String::new(),
            stderr: String::new(),
        };
        learn.hear(&Event::LayersRecorded { test: test.clone(), environment, file: PathBuf::new() });
        learn.hear(&Event::AttemptEnded(attempt));
    }
}

#[test]
fn runs_come_one_after_the_other_the_first_in_the_user_s_own_process() {
    let (_, world, _) = learn(learning(10, 1, &[]));
    assert_eq!((world.runs, world.most_at_once, world.places.len()), (10, 1, 10));
    assert_eq!(world.places[0], Placement::Live);
    assert!(world.places[1..].iter().all(|place| *place == Placement::Fresh(Isolation::Process)));
    assert_eq!(learn(learning(10, 4, &[])).1.most_at_once, 4);
}

#[test]
fn what_comes_after_an_assertion_that_varies_is_seen_as_often_once_that_is_known() {
    let (samples, ..) = learn(learning(10, 1, &[]));
    let of = |expression: &str| samples.iter().find(|sample| sample.assertion.spot.expression == expression).unwrap();
    let times: Vec<(AssertionOutcome, u32)> = of("first").groups.iter().map(|group| (group.how, group.times)).collect();
    // Let go or not, it failed.
    assert_eq!(times, [(AssertionOutcome::Held, 5), (AssertionOutcome::Failed, 5)]);
    // Only the second run ended before it.
    assert_eq!(of("second").groups.iter().map(|group| group.times).sum::<u32>(), 9);
    assert_eq!(of("second").body, "b1");
}

#[test]
fn names_choose_tests() {
    let (samples, world, unknown) = learn(learning(3, 1, &["test_b", "nowhere"]));
    assert_eq!((samples.len(), world.runs, unknown), (0, 0, vec!["nowhere".to_owned()]));
}
