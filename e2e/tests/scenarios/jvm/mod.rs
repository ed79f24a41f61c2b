//! `unflake` with Maven, a class path file and Gradle.

mod assertion_filter;
mod build_output;
mod built_agent;
mod class_loaders;
mod factors;
mod faults;
mod instruments;
mod integration_tests;
mod measure;
mod seeds;
mod testng;
mod trace;
mod unspecified_order;
mod versions;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, PoisonError};

use e2e::{Invocation, RunOutput, RunningProcess, Sandbox, repository};
use nix::sys::signal::Signal;
use quick_xml::Reader;
use quick_xml::events::Event;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct MavenModules {
    run: ExpectedFindings,
    nio: ExpectedFindings,
    nio_entire_suite: ExpectedFindings,
    order: ExpectedFindings,
}

#[derive(Deserialize)]
struct ExpectedFindings {
    tests: usize,
    findings: BTreeSet<String>,
}

#[derive(Deserialize)]
struct ClassPathProject {
    run: ExpectedFindings,
    nio: ExpectedFindings,
}

fn maven_modules() -> MavenModules {
    expected("rerun/java/maven_modules")
}

fn expected<T: DeserializeOwned>(specimen: &str) -> T {
    let path = repository().join("specimens").join(specimen).join("specimen.toml");
    toml::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// A sandbox with the Maven project of three modules.
fn maven_project() -> Sandbox {
    Sandbox::specimen("rerun/java/maven_modules")
}

/// Lets two of these tests run at the same time: each starts several JVMs.
pub(crate) fn turn() -> Turn {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    while *running >= 2 {
        running = ENDED.wait(running).unwrap_or_else(PoisonError::into_inner);
    }
    *running += 1;
    Turn
}

static RUNNING: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

pub(crate) struct Turn;

impl Drop for Turn {
    fn drop(&mut self) {
        *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        ENDED.notify_one();
    }
}

fn searching<'a>(sandbox: &'a Sandbox, command: &str, modules: &str) -> Invocation<'a> {
    sandbox.unflake([command]).json().args(["--", "mvn", "-o", "-B", "test", "-pl", modules])
}

/// Each finding as `test kind`, with culprits and state cells.
fn summaries(result: &RunOutput) -> BTreeSet<String> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let summary = |finding: &Value| {
        let culprits = finding["culprits"].as_array().into_iter().flatten().flat_map(|one| one.as_array().unwrap());
        let names: Vec<String> = culprits.map(word).collect();
        let of = if names.is_empty() { String::new() } else { format!(" of {}", names.join(" and ")) };
        let cells = finding["cells"].as_array().into_iter().flatten().map(|cell| word(&cell["path"]));
        let cells = cells.collect::<Vec<_>>().join(", ");
        let of = if cells.is_empty() { of } else { format!(": {cells}") };
        format!("{} {}{of}", word(&finding["test"]), word(&finding["kind"]))
    };
    result.list("findings").iter().map(summary).collect()
}

/// The outcomes in Surefire's reports. Repetitions share one name there, and class-level failures
/// have none.
fn surefire_outcomes(modules: &[PathBuf]) -> BTreeMap<String, BTreeSet<String>> {
    let mut outcomes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let reports = ["target/surefire-reports", "target/failsafe-reports"];
    let folders = modules.iter().flat_map(|module| reports.map(|folder| module.join(folder)));
    let entries = folders.filter(|folder| folder.is_dir()).flat_map(|folder| fs::read_dir(folder).unwrap().flatten());
    for report in entries.map(|entry| entry.path()) {
        if report.extension().is_none_or(|kind| kind != "xml") {
            continue;
        }
        let (mut reader, mut buffer) = (Reader::from_file(&report).unwrap(), Vec::new());
        let mut open: Option<(String, String)> = None;
        loop {
            let event = reader.read_event_into(&mut buffer).unwrap();
            match &event {
                Event::Start(start) | Event::Empty(start) => match start.name().as_ref() {
                    b"testcase" => {
                        let value = |name: &str| {
                            let found = start.attributes().flatten().find(|one| one.key.as_ref() == name.as_bytes());
                            found.unwrap().normalized_value(quick_xml::XmlVersion::Implicit1_0).unwrap().into_owned()
                        };
                        open = Some((format!("{}#{}", value("classname"), value("name")), "passed".to_owned()));
                    }
                    b"failure" | b"error" => open.iter_mut().for_each(|(_, outcome)| *outcome = "failed".to_owned()),
                    b"skipped" => open.iter_mut().for_each(|(_, outcome)| *outcome = "skipped".to_owned()),
                    _ => {}
                },
                Event::Eof => break,
                _ => {}
            }
            let ends = match &event {
                Event::Empty(start) => start.name().as_ref() == b"testcase",
                Event::End(end) => end.name().as_ref() == b"testcase",
                _ => false,
            };
            if ends && let Some((test, outcome)) = open.take() {
                outcomes.entry(test).or_default().insert(outcome);
            }
            buffer.clear();
        }
    }
    outcomes
}

/// The outcomes of the first attempts in unflake's report.
fn first_outcomes(result: &RunOutput) -> BTreeMap<String, BTreeSet<String>> {
    let mut seen = BTreeSet::new();
    let mut outcomes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for attempt in result.list("attempts") {
        let test = attempt["test"].as_str().unwrap().to_owned();
        let outcome = attempt["outcome"].as_str().unwrap_or("crashed");
        if seen.insert(test.clone()) {
            let outcome = if outcome == "error" { "failed" } else { outcome };
            let name =
                test.strip_suffix("again[1]").or(test.strip_suffix("again[2]")).map(|class| format!("{class}again"));
            outcomes.entry(name.unwrap_or(test)).or_default().insert(outcome.to_owned());
        }
    }
    outcomes
}

#[test]
fn outcomes_match_plain_maven() {
    let _turn = turn();
    let expected = maven_modules().run;
    let sandbox = maven_project();
    let result = searching(&sandbox, "run", "thesis,forms").finish().expect_exit(1);
    assert_eq!(summaries(&result), expected.findings, "{}", result.remarks());
    assert_eq!(result.list("tests").len(), expected.tests);
    let failed = result.list("attempts").iter().find(|attempt| attempt["test"] == "com.acme.FormsTest#fails").unwrap();
    assert_eq!(failed["failure"]["file"], "forms/src/test/java/com/acme/FormsTest.java", "{failed}");

    let unmodified = maven_project();
    unmodified.command("mvn").args(["-o", "-q", "-B", "test", "-fae", "-pl", "thesis,forms"]).output().unwrap();
    let modules = ["thesis", "forms"].map(|name| unmodified.project().join(name));
    let (mut plain, mut found) = (surefire_outcomes(&modules), first_outcomes(&result));
    // Surefire reports these for the class only.
    plain.retain(|test, _| !test.contains("Broken"));
    found.retain(|test, _| !test.contains("Broken"));
    assert_eq!(found, plain);
}

#[test]
fn non_idempotent_tests_are_found() {
    let _turn = turn();
    let expected = maven_modules().nio;
    let sandbox = maven_project();
    let result = searching(&sandbox, "nio", "idempotence").finish().expect_exit(1);
    assert_eq!(summaries(&result), expected.findings, "{}", result.remarks());
    assert_eq!(result.list("tests").len(), expected.tests);
    assert_eq!(class_loaders::of_origin(&result, "in-process").len(), expected.tests);
    let in_jvms = class_loaders::names(&["noWhere", "renames", "retries", "size", "stops", "trustStore"]);
    assert_eq!(class_loaders::of_origin(&result, "process"), in_jvms);
    // Files that tests change are restored.
    assert!(sandbox.project().join("idempotence/data/report.txt").is_file());
}

#[test]
fn the_entire_suite_mode_misses_the_tests_of_the_paper() {
    let _turn = turn();
    let expected = maven_modules().nio_entire_suite;
    let sandbox = maven_project();
    let call = sandbox.unflake(["nio", "--no-state", "--mode", "entire-suite", "--for", "0"]).json();
    let result = call.args("-- mvn -o -B test -pl idempotence".split(' ')).finish().expect_exit(1);
    assert_eq!(summaries(&result), expected.findings, "{}", result.remarks());
    assert_eq!(result.list("tests").len(), expected.tests);
    // In one JVM: fails twice after a test that leaves an object, passes twice after one that
    // clears the database.
    let attempts = result.attempts();
    let first_two = |test: &str| {
        let of_it = attempts.iter().filter_map(|attempt| attempt.strip_prefix(test)?.split(' ').nth(1));
        of_it.take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(first_two("com.acme.ThreadLocalTest#size"), ["failed", "failed"]);
    assert_eq!(first_two("com.acme.DatabaseTest#noWhere"), ["passed", "passed"]);
    assert_eq!(first_two("com.acme.CounterTest#retries"), ["passed", "failed"]);
}

#[test]
fn a_victim_and_its_polluter_are_found() {
    let _turn = turn();
    let expected = maven_modules().order;
    let sandbox = maven_project();
    let result = searching(&sandbox, "order", "thesis").finish();
    let found = summaries(&result);
    assert!(found.is_superset(&expected.findings), "{found:?} {}", result.remarks());
}

/// Starts one test class of the module `forms`.
fn start<'a>(sandbox: &'a Sandbox, test: &str) -> RunningProcess<'a> {
    sandbox.run_invocation("", &format!("mvn -o -B test -pl forms -Dtest={test}")).start()
}

#[test]
fn a_test_that_ends_its_jvm_is_a_crash_and_nothing_outlives_unflake() {
    let _turn = turn();
    let body = "package com.acme;\nimport org.junit.jupiter.api.Test;\nclass EndTest {\n  \
                @Test void a() { }\n  @Test void b() { System.exit(0); }\n  @Test void c() { }\n}\n";
    let sandbox = maven_project().file("forms/src/test/java/com/acme/EndTest.java", body);
    let result = start(&sandbox, "EndTest").finish().expect_exit(1);
    assert_eq!(result.findings(), ["com.acme.EndTest#b real"]);
    let attempts = result.attempts();
    assert!(attempts.iter().any(|attempt| attempt.starts_with("com.acme.EndTest#c passed suite")), "{attempts:?}");

    let body = "package com.acme;\nimport org.junit.jupiter.api.Test;\nclass HangTest {\n  @Test void hangs() throws Exception {\n    \
                java.nio.file.Files.write(java.nio.file.Paths.get(\"../here\"), new byte[] {'x'});\n    Thread.sleep(1000000);\n  }\n}\n";
    let sandbox = sandbox.file("forms/src/test/java/com/acme/HangTest.java", body);
    let running = start(&sandbox, "HangTest");
    running.wait_for("here");
    running.signal(Signal::SIGINT);
    running.finish().expect_exit(130);
}

#[test]
fn affected_tests_follow_from_learned_dependencies() {
    let _turn = turn();
    let sandbox = maven_project().file(".gitignore", "target/\nbuild/\n.unflake/\n");
    sandbox.commit("one");
    let call = |words: &str| sandbox.unflake(words.split(' ')).finish().expect_exit(0);
    call("affected --learn --base HEAD -- mvn -o -B test -pl thesis,idempotence");
    // Some of these tests change files of the project.
    sandbox.git(&["checkout", "-q", "."]);
    sandbox.git(&["clean", "-fdq"]);
    let add = |path: &str, text: &str| {
        let path = sandbox.project().join(path);
        fs::write(&path, fs::read_to_string(&path).unwrap() + text).unwrap();
    };
    add("thesis/src/main/java/com/acme/ProtocolSignature.java", "// Another word.\n");
    add("idempotence/data/search/rows.txt", "fay\n");
    let result = call("affected --base HEAD -- mvn -o -B test -pl thesis,idempotence");
    let mut affected: Vec<&str> = result.stdout.lines().collect();
    affected.sort_unstable();
    let expected = [
        // This one and the last fail when they are learned, so what they depend on is not known.
        "AuditLogsTest#auditAllowed",
        "DatabaseTest#clears",
        "DatabaseTest#noWhere",
        "RpcCompatibilityTest#version2ClientVersion1Server",
        "RpcCompatibilityTest#version2ClientVersion2Server",
        "ThreadLocalTest#size",
    ];
    assert_eq!(affected, expected.map(|test| format!("com.acme.{test}")), "{}", result.stderr);

    let words =
        "-- mvn -o -B test -pl thesis,forms -Dtest=FormsTest,StatusTest -Dsurefire.failIfNoSpecifiedTests=false";
    let result = sandbox.unflake(["run", "--base", "HEAD"]).json().args(words.split(' ')).finish().expect_exit(1);
    assert!(summaries(&result).contains("com.acme.FormsTest#fails unaffected"), "{:?}", summaries(&result));
}

/// Runs `unflake run` and `unflake nio` on a project without Maven.
fn check_verdicts(sandbox: &Sandbox, words: &str) {
    let expected: ClassPathProject = expected("rerun/java/class_path");
    // The home of the sandbox has no Maven repository.
    let repository = std::env::home_dir().unwrap().join(".m2/repository");
    let call = |command: &str| {
        let call = sandbox.unflake([command]).json().args(words.split(' '));
        call.env("REPOSITORY", &repository).finish().expect_exit(1)
    };
    let result = call("run");
    assert_eq!(summaries(&result), expected.run.findings, "{}", result.remarks());
    assert_eq!(result.list("tests").len(), expected.run.tests);
    assert_eq!(result.list("tests")[0]["file"], "test/com/acme/TillTest.java");
    let result = call("nio");
    assert_eq!(summaries(&result), expected.nio.findings, "{}", result.remarks());
}

#[test]
fn a_class_path_file_is_enough_to_run_tests() {
    let _turn = turn();
    let sandbox = Sandbox::specimen("rerun/java/class_path");
    let words = "--classpath-file class-path.txt --test-classes out/test -- ./build.sh";
    check_verdicts(&sandbox, words);
    fs::write(sandbox.project().join("build.sh"), "#!/bin/sh\necho no such symbol >&2; exit 1\n").unwrap();
    let result = sandbox.unflake(["run"]).args(words.split(' ')).finish().expect_exit(4);
    assert!(result.stdout.contains("no such symbol"), "{}", result.stdout);
}

const DICE: &str = "package com.acme;\n\npublic class Dice {\n    public int roll() {\n        \
                    int eyes = 1 + new java.util.Random().nextInt(6);\n        return eyes;\n    }\n}\n";
const DICE_TEST: &str = "package com.acme;\n\npublic class DiceTest {\n    @org.junit.Test\n    public void isLow() {\n        \
                         int eyes = new Dice().roll();\n        org.junit.Assert.assertTrue(eyes < 4);\n    }\n}\n";

/// Runs `unflake locate` on the same project with a flaky test.
fn check_divergence(words: &str) {
    let sandbox = Sandbox::specimen("rerun/java/class_path");
    let sandbox = sandbox.file("src/com/acme/Dice.java", DICE).file("test/com/acme/DiceTest.java", DICE_TEST);
    let repository = std::env::home_dir().unwrap().join(".m2/repository");
    let call = sandbox.unflake(["locate", "isLow", "--runs", "16", "--for", "0"]).json();
    let result = call.args(words.split(' ')).env("REPOSITORY", repository).finish().expect_exit(1);
    let finding = result.finding("com.acme.DiceTest#isLow");
    assert_eq!(finding["kind"], "randomness", "{finding:#} {}", result.remarks());
    let first = &finding["locations"][0];
    assert_eq!((&first["file"], &first["line"]), (&"src/com/acme/Dice.java".into(), &5.into()), "{finding:#}");
}

#[test]
fn a_divergence_is_located_with_a_class_path_file() {
    let _turn = turn();
    check_divergence("--classpath-file class-path.txt --test-classes out/test -- ./build.sh");
}

#[test]
fn gradle_projects_run() {
    let _turn = turn();
    let sandbox = Sandbox::specimen("rerun/java/class_path");
    check_verdicts(&sandbox, "-- gradle --offline test");
    check_divergence("-- gradle --offline test");
}

const WAITING_TEST: &str = "package com.acme;\nimport java.io.File;\npublic class NAMETest {\n  @org.junit.Test public void meets() throws Exception {\n    \
    new File(\"target/NAME\").createNewFile();\n    for (int i = 0; i < 600 && !new File(\"target/OTHER\").exists(); i++) Thread.sleep(100);\n    \
    org.junit.Assert.assertTrue(new File(\"target/OTHER\").exists());\n  }\n}\n";

const TWO_MODULES: &str = "<project><modelVersion>4.0.0</modelVersion><groupId>com.acme</groupId><artifactId>all</artifactId>\
    <version>1</version><packaging>pom</packaging><modules><module>first</module><module>second</module></modules></project>";

/// The two JVMs of a module wait for each other, and those of the second module want the first to
/// be over.
#[test]
fn modules_keep_their_forks_and_follow_each_other() {
    let _turn = turn();
    let from = Sandbox::specimen("rerun/java/versions");
    let pom = fs::read_to_string(from.project().join("pom.xml")).unwrap();
    let number = "new File(\"target/number-\" + System.getProperty(\"number\")).createNewFile();";
    let ends = "Thread.sleep(300); new File(\"target/NAME-over\").createNewFile();";
    let is_over = "org.junit.Assert.assertTrue(new File(\"../first/target/NAME-over\").exists());";
    let mut sandbox = Sandbox::specimen("rerun/java/versions").file("pom.xml", TWO_MODULES);
    for (module, at_start, at_end) in [("first", number, ends), ("second", is_over, number)] {
        let module_pom = pom.replace("<artifactId>versions<", &format!("<artifactId>{module}<"));
        sandbox = sandbox.file(&format!("{module}/pom.xml"), module_pom);
        for (name, other) in [("One", "Two"), ("Two", "One")] {
            let text = WAITING_TEST
                .replacen("    new File", &format!("    {at_start}\n    new File"), 1)
                .replacen("\n  }", &format!("\n    {at_end}\n  }}"), 1)
                .replace("NAME", name)
                .replace("OTHER", other);
            sandbox = sandbox.file(&format!("{module}/src/forks/com/acme/{name}Test.java"), text);
        }
    }
    let words = "-- mvn -o -B test -Pjunit -Djunit=4.8.2 -Dtests=forks -DforkCount=2";
    let call = sandbox.unflake(["run", "--jobs", "2"]).args(words.split(' '));
    call.args(["-DargLine=-Dnumber=no${surefire.forkNumber}. -Dother=1"]).finish().expect_exit(0);
    for made in ["first/target/number-no1.", "first/target/number-no2.", "second/target/number-no2."] {
        assert!(sandbox.project().join(made).is_file(), "{made}");
    }
}

/// Two classes that meet in one JVM.
#[test]
fn classes_run_side_by_side_as_the_pom_says() {
    let _turn = turn();
    let test = |name: &str| {
        format!(
            "package com.acme;\npublic class {name}Test {{\n  static final java.util.concurrent.CyclicBarrier DOOR = new \
             java.util.concurrent.CyclicBarrier(2);\n  @org.junit.Test public void meets() throws Exception {{ \
             OneTest.DOOR.await(60, java.util.concurrent.TimeUnit.SECONDS); }}\n  \
             @org.junit.Test public void fails() {{ throw new Error(); }}\n}}\n"
        )
    };
    let sandbox = Sandbox::specimen("rerun/java/versions")
        .file("src/doors/com/acme/OneTest.java", test("One"))
        .file("src/doors/com/acme/TwoTest.java", test("Two"));
    let words = "-- mvn -o -B test -Pjunit -Djunit=4.13.2 -Dtests=doors -Dparallel=classes -DthreadCount=2";
    let result = sandbox.unflake(["run", "--fresh", "0"]).json().args(words.split(' ')).finish().expect_exit(1);
    let found = first_outcomes(&result);
    let expected = ["One", "Two"].iter().flat_map(|class| {
        [("fails", "failed"), ("meets", "passed")]
            .map(|(test, outcome)| (format!("com.acme.{class}Test#{test}"), BTreeSet::from([outcome.to_owned()])))
    });
    assert_eq!(found, expected.collect(), "{}", result.remarks());
}

/// Two tests that meet, in the JVM that has listed them.
#[test]
fn jupiter_runs_tests_side_by_side_as_its_properties_say() {
    let _turn = turn();
    let meets = "{ DOOR.await(60, java.util.concurrent.TimeUnit.SECONDS); }";
    let test = format!(
        "package com.acme;\nclass DoorTest {{\n  static final java.util.concurrent.CyclicBarrier DOOR = new \
         java.util.concurrent.CyclicBarrier(2);\n  @org.junit.jupiter.api.Test void one() throws Exception {meets}\n  \
         @org.junit.jupiter.api.Test void two() throws Exception {meets}\n}}\n"
    );
    let properties = "enabled=true mode.default=concurrent config.strategy=fixed config.fixed.parallelism=2";
    let properties: String =
        properties.split(' ').map(|one| format!("junit.jupiter.execution.parallel.{one}\n")).collect();
    let sandbox = Sandbox::specimen("rerun/java/versions")
        .file("src/doors/com/acme/DoorTest.java", test)
        .file("src/test/resources/junit-platform.properties", properties);
    let words = "-- mvn -o -B test -Pjupiter -Djunit=5.10.2 -Dtests=doors";
    let result = sandbox.unflake(["run"]).json().args(words.split(' ')).finish().expect_exit(0);
    assert!(first_outcomes(&result).values().all(|outcomes| outcomes.iter().eq(["passed"])), "{}", result.remarks());
}

#[test]
fn classes_run_in_as_many_jvms_as_the_pom_says() {
    let _turn = turn();
    let test = |name: &str, other: &str| WAITING_TEST.replace("NAME", name).replace("OTHER", other);
    let sandbox = Sandbox::specimen("rerun/java/versions")
        .file("src/forks/com/acme/OneTest.java", test("One", "Two"))
        .file("src/forks/com/acme/TwoTest.java", test("Two", "One"));
    let words = "-- mvn -o -B test -Pjunit -Djunit=4.8.2 -Dtests=forks -DforkCount=2";
    sandbox.unflake(["run", "--jobs", "2"]).args(words.split(' ')).finish().expect_exit(0);
}
