//! Tests of `dependency_learning`.

use unflake_model::{Attempt, Dependencies, Outcome};

use super::*;
use crate::simulation;

use Granularity::{File, Function};
use Outcome::{Failed, Passed, Skipped};

/// The sessions of both rounds. `suite`: as `file:line:name`. `results`: of the first round, with what
/// is unknown.
fn rounds(granularity: Granularity, suite: &[&str], results: &[(&str, Outcome, &[&str])]) -> [Vec<Vec<String>>; 2] {
    let mut learning = DependencyLearning::new(granularity);
    let tests = suite.iter().map(|text| {
        let mut parts = text.split(':');
        let (file, line) = (parts.next().unwrap(), parts.next().unwrap());
        let file = (!file.is_empty()).then(|| file.into());
        Test { id: parts.next().unwrap().into(), file, line: line.parse().ok(), command: Vec::new() }
    });
    let listed = Event::TestsListed { tests: tests.collect(), deselected: 0, isolated: false, seconds: 0.0 };
    learning.observe(&listed, Recordings::EMPTY);
    let first = learning.next_sessions(Recordings::EMPTY);
    for session in &first {
        for (position, test) in (0..).zip(&session.tests) {
            let Some((_, outcome, unknown)) = results.iter().find(|(name, ..)| *name == test.as_str()) else {
                continue;
            };
            let unknown = unknown.iter().map(ToString::to_string).collect();
            let on = Box::new(Dependencies { after: position, unknown, ..Dependencies::default() });
            let recorded = Event::DependenciesRecorded { session: session.id, test: test.clone(), on };
            learning.observe(&recorded, Recordings::EMPTY);
            let attempt = Attempt { position, ..simulation::attempt(session, test, *outcome) };
            learning.observe(&Event::AttemptEnded(attempt), Recordings::EMPTY);
        }
    }
    let second = learning.next_sessions(Recordings::EMPTY);
    assert!(learning.next_sessions(Recordings::EMPTY).is_empty());
    let mut numbers: Vec<u32> = first.iter().chain(&second).map(|session| session.id.0).collect();
    numbers.dedup();
    assert_eq!(numbers.len(), first.len() + second.len(), "each session has a number of its own");
    [first, second].map(|sessions| {
        let names = |session: &Session| session.tests.iter().map(ToString::to_string).collect();
        sessions.iter().map(names).collect()
    })
}

const SUITE: [&str; 5] = ["a:1:f[1]", "a:1:f[2]", "a:5:g", "b:1:h", ":1:i"];

#[test]
fn tests_of_a_file_share_a_fork_and_by_function_those_of_a_line() {
    assert_eq!(rounds(File, &SUITE, &[])[0], [vec!["f[1]", "f[2]", "g"], vec!["h"], vec!["i"]]);
    assert_eq!(rounds(Function, &SUITE, &[])[0], [vec!["f[1]", "f[2]"], vec!["g"], vec!["h"], vec!["i"]]);
    assert_eq!(rounds(Function, &["a::f", "a::g"], &[])[0], [["f"], ["g"]]);
}

#[test]
fn tests_with_dependencies_that_may_be_hidden_run_again_alone() {
    let check = |results: [(&str, Outcome, &[&str]); 3], expected: &[&str]| {
        let [_, second] = rounds(File, &SUITE, &results);
        assert_eq!(second.concat(), expected);
        assert!(second.iter().all(|tests| tests.len() == 1));
    };
    check([("f[1]", Passed, &[]), ("f[2]", Passed, &[]), ("g", Passed, &[])], &[]);
    check([("f[1]", Passed, &[]), ("f[2]", Passed, &["hidden"]), ("g", Passed, &["hidden"])], &["f[2]", "g"]);
    check([("f[1]", Passed, &[]), ("f[2]", Passed, &["hidden"]), ("g", Passed, &[])], &["f[2]"]);
    // Those before it may have made it fail.
    check([("f[1]", Failed, &[]), ("f[2]", Failed, &[]), ("g", Skipped, &[])], &["f[2]"]);
}

#[test]
fn tests_without_recorded_dependencies_run_again_alone() {
    let [_, second] = rounds(File, &SUITE, &[("f[1]", Passed, &[])]);
    assert_eq!(second, [["f[2]"], ["g"]]);
}
