//! Tests of Maven's Failsafe: they run where nothing is started for them, like those of Surefire.

use e2e::Sandbox;

use super::{first_outcomes, surefire_outcomes, turn};

const BUILD: &str = "mvn -o -B verify -Dtests=integration -Djunit=4.13.2";

#[test]
fn integration_tests_have_the_outcomes_of_plain_maven() {
    let _turn = turn();
    let plain = Sandbox::specimen("rerun/java/versions");
    let words = |profiles: &str| format!("{BUILD} -P{profiles}");
    plain.command("mvn").args(words("junit,integration").split(' ').skip(1)).output().unwrap();
    let expected = surefire_outcomes(&[plain.project()]);
    assert_eq!(expected.len(), 3, "{expected:?}");

    let sandbox = Sandbox::specimen("rerun/java/versions");
    let result = sandbox.run("--fresh 1", &words("junit,integration")).expect_exit(1);
    assert_eq!(result.findings(), ["com.acme.TillIT#fails real"]);
    assert_eq!(first_outcomes(&result), expected, "{}", result.remarks());
    assert!(!sandbox.project().join("target/failsafe-reports/failsafe-summary.xml").exists());
}

#[test]
fn integration_tests_that_need_a_server_are_left_out_with_a_note() {
    let _turn = turn();
    let sandbox = Sandbox::specimen("rerun/java/versions");
    let result = sandbox.run("", &format!("{BUILD} -Pjunit,integration,prepared")).expect_exit(0);
    assert_eq!(result.list("tests").len(), 1);
    assert!(result.remarks().contains("integration tests of Failsafe are not run: what is started before them"));
}
