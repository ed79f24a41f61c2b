//! No instrument of the agent for JVMs changes an outcome: each runs over tests that are hard to observe.

use std::process::Command;

use super::built_agent::{BuiltAgent, run, sources};
use super::turn;

#[test]
fn awkward_tests_have_the_same_outcomes_under_every_instrument() {
    let _turn = turn();
    let agent = BuiltAgent::with("unflake/jvm/InstrumentsTest.java");
    let tests = agent.compiled(&[sources().join("tests/com/acme/AwkwardTest.java")]);
    let mut java = Command::new("java");
    java.arg("-cp").arg(agent.class_path(&[&agent.classes]));
    java.arg("unflake.jvm.InstrumentsTest").arg(&agent.jar).arg(sources().join("tests"));
    let printed = run(java.arg(agent.class_path(&[&agent.classes, &tests])).arg("com.acme.AwkwardTest"));
    assert!(printed.contains("11 instruments, 0 differences"), "{printed}");
}
