//! No instrument of the agent for JVMs changes an outcome: each runs over tests that are hard to observe.

use std::path::Path;
use std::process::Command;

use e2e::repository;

use super::faults::{jars, java_files, run};
use super::turn;

#[test]
fn awkward_tests_have_the_same_outcomes_under_every_instrument() {
    let _turn = turn();
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    let sources = repository().join("agents/jvm");
    let jars = jars();
    let class_path = |more: &[&Path]| {
        let paths = more.iter().map(|path| path.to_path_buf()).chain(jars.iter().cloned());
        std::env::join_paths(paths).unwrap()
    };
    let [agent, tests] = ["agent", "tests"].map(|name| place.join(name));
    let mut of_agent = Vec::new();
    java_files(&sources.join("agent"), &mut of_agent);
    of_agent.push(sources.join("tests/unflake/jvm/InstrumentsTest.java"));
    // As unflake compiles it for a project without TestNG.
    of_agent.retain(|path| !path.starts_with(sources.join("agent/unflake/jvm/testng")));
    run(Command::new("javac").args(["-nowarn", "-cp"]).arg(class_path(&[])).arg("-d").arg(&agent).args(of_agent));
    let (jar, manifest) = (place.join("agent.jar"), sources.join("agent/MANIFEST.MF"));
    run(Command::new("jar").arg("cfm").args([&jar, &manifest]).arg("-C").arg(&agent).arg("."));
    let awkward = sources.join("tests/com/acme/AwkwardTest.java");
    run(Command::new("javac").args(["-g", "-cp"]).arg(class_path(&[])).arg("-d").arg(&tests).arg(awkward));
    let mut java = Command::new("java");
    java.arg("-cp").arg(class_path(&[&agent])).arg("unflake.jvm.InstrumentsTest").arg(&jar).arg(sources.join("tests"));
    let printed = run(java.arg(class_path(&[&agent, &tests])).arg("com.acme.AwkwardTest"));
    assert!(printed.contains("11 instruments, 0 differences"), "{printed}");
}
