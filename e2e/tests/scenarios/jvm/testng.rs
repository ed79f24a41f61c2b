//! Tests of TestNG: configuration, dependencies, order and repetition.

use e2e::Sandbox;
use serde::Deserialize;

use super::{ExpectedFindings, expected, summaries, turn};

const SPECIMEN: &str = "rerun/java/testng";

#[derive(Deserialize)]
struct TestNgProject {
    run: ExpectedFindings,
    order: ExpectedFindings,
    nio: ExpectedFindings,
}

/// Runs a command of unflake on the specimen and compares its findings.
fn check(words: &str, choose: impl Fn(TestNgProject) -> ExpectedFindings) {
    let _turn = turn();
    let expected = choose(expected(SPECIMEN));
    let sandbox = Sandbox::specimen(SPECIMEN);
    let (options, maven) = words.split_once(" -- ").unwrap_or((words, ""));
    let call = sandbox.unflake(options.split(' ')).json().args("-- mvn -o -B test".split(' '));
    let result = call.args(maven.split_whitespace()).finish().expect_exit(1);
    assert_eq!(summaries(&result), expected.findings, "{}", result.remarks());
    assert_eq!(result.list("tests").len(), expected.tests);
}

#[test]
fn tests_without_set_up_fail_and_run_again() {
    check("run", |project| project.run);
}

#[test]
fn a_victim_and_its_polluter_are_found_across_classes() {
    check("order VisitingTest#isEmpty --no-state", |project| project.order);
}

#[test]
fn a_test_repeats_within_the_set_up_of_its_class() {
    check("nio --no-state -- -Dtest=VisitingTest", |project| project.nio);
}
