//! Files that tests write into build directories, projects found from a subdirectory, and tests
//! selected by what changed.

use e2e::Sandbox;

use super::{summaries, turn};

const CREATING_TEST: &str = "package com.acme;\nimport java.io.File;\npublic class CreatingTest {\n  \
    @org.junit.Test public void creates() throws Exception {\n    \
    File folder = new File(CreatingTest.class.getResource(\"/\").toURI());\n    \
    org.junit.Assert.assertTrue(new File(folder, \"left\").createNewFile());\n  }\n}\n";
const OTHER_TEST: &str = "package com.acme;\npublic class OtherTest {\n  @org.junit.Test public void passes() { }\n}\n";
const WORDS: &str = "-o -B test -Pjunit -Djunit=4.8.2 -Dtests=created";

fn project() -> Sandbox {
    let sandbox = Sandbox::specimen("rerun/java/versions").file(".gitignore", "target/\n.unflake/\n");
    sandbox
        .file("src/created/com/acme/CreatingTest.java", CREATING_TEST)
        .file("src/created/com/acme/OtherTest.java", OTHER_TEST)
}

#[test]
fn files_in_build_directories_are_restored() {
    let _turn = turn();
    let sandbox = project();
    let call = sandbox.unflake(["nio", "--no-state"]).json().args(["--", "mvn"]).args(WORDS.split(' '));
    let result = call.finish().expect_exit(1);
    assert_eq!(summaries(&result), ["com.acme.CreatingTest#creates nio".to_owned()].into());
    assert!(!sandbox.project().join("target/test-classes/left").exists());
    let plain = sandbox.command("mvn").args(WORDS.split(' ')).output().unwrap();
    assert!(plain.status.success(), "{}", String::from_utf8_lossy(&plain.stdout));
}

#[test]
fn tests_of_changed_files_are_searched() {
    let _turn = turn();
    let sandbox = project();
    sandbox.commit("one");
    sandbox.write("src/created/com/acme/OtherTest.java", format!("{OTHER_TEST}// Another word.\n"));
    let call = || sandbox.unflake(["nio", "--changed", "--base", "HEAD", "--no-state"]);
    let result = call().json().args(["--", "mvn"]).args(WORDS.split(' ')).finish().expect_exit(0);
    assert_eq!(result.list("attempts").len(), 2, "{:?}", result.attempts());
    sandbox.git(&["checkout", "-q", "."]);
    sandbox.write("notes.txt", "words");
    let result = call().args(["--", "mvn"]).args(WORDS.split(' ')).finish().expect_exit(0);
    assert!(result.stdout.contains("no test is in a changed file"), "{}", result.stdout);
}

#[test]
fn a_project_is_found_from_a_subdirectory() {
    let _turn = turn();
    let sandbox = Sandbox::specimen("divergence/java/zero_or_one");
    let result = sandbox.unflake(["config"]).in_directory("src/test").finish().expect_exit(0);
    let pom = sandbox.project().join("pom.xml");
    assert!(result.stdout.contains(&format!(r#"["mvn", "-f", "{}", "test"]"#, pom.display())), "{}", result.stdout);
}
