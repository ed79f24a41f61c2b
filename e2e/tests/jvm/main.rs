//! What people do with `mvn test`, and with unflake around it.
//!
//! The specimen is compiled once and kept between runs as long as it stays the same; so is what unflake compiles for itself.

mod filter;
mod lines;
mod loaders;
mod looks;
mod worlds;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use e2e::{Call, Ran, Story, built, repository};
use nix::sys::signal::Signal;
use quick_xml::events::Event;
use quick_xml::{Reader, XmlVersion};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Specimen {
    run: Expected,
    nio: Expected,
    nio_entire_suite: Expected,
    order: Expected,
}

#[derive(Deserialize)]
struct Expected {
    tests: usize,
    findings: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Leaks {
    nio: Expected,
}

/// Of a project without modules.
#[derive(Deserialize)]
struct Plain {
    run: Expected,
    nio: Expected,
}

fn specimen() -> Specimen {
    expected("jvm-maven")
}

fn expected<T: DeserializeOwned>(name: &str) -> T {
    let path = repository().join("specimens").join(name).join("specimen.toml");
    toml::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Compiled once for all.
fn story() -> Story {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    Story::copy_of(BUILT.get_or_init(|| compiled("jvm-maven")))
}

fn compiled(specimen: &str) -> PathBuf {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    built(specimen, &[words("mvn -o -q -B test-compile"), words("mkdir build")])
}

/// Maven and its JVMs take every core: two stories beside each other would only take longer, each of them.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A place for what unflake compiles, which stays.
fn cached(call: Call<'_>) -> Call<'_> {
    call.env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("jvm-cache"))
}

fn searching<'a>(story: &'a Story, command: &str, modules: &str) -> Call<'a> {
    let found = story.place().join("found.json");
    let call = story.unflake([command, "--json"]).arg(found).args(["--", "mvn", "-o", "-B", "test", "-pl", modules]);
    cached(call)
}

fn brief(ran: &Ran) -> BTreeSet<String> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let told = |finding: &Value| {
        let culprits = finding["culprits"].as_array().into_iter().flatten().flat_map(|one| one.as_array().unwrap());
        let names: Vec<String> = culprits.map(word).collect();
        let of = if names.is_empty() { String::new() } else { format!(" of {}", names.join(" and ")) };
        let cells = finding["cells"].as_array().into_iter().flatten().map(|cell| word(&cell["path"]));
        let cells = cells.collect::<Vec<_>>().join(", ");
        let of = if cells.is_empty() { of } else { format!(": {cells}") };
        format!("{} {}{of}", word(&finding["test"]), word(&finding["kind"]))
    };
    ran.list("findings").iter().map(told).collect()
}

/// How each test ended, as Surefire reports it. Repetitions have one name there, and what befalls a class has none.
fn surefire(modules: &[PathBuf]) -> BTreeMap<String, BTreeSet<String>> {
    let mut outcomes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let folders = modules.iter().map(|module| module.join("target/surefire-reports"));
    for report in folders.flat_map(|folder| fs::read_dir(folder).unwrap().flatten()).map(|entry| entry.path()) {
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
                            found.unwrap().normalized_value(XmlVersion::Implicit1_0).unwrap().into_owned()
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

/// The same as unflake saw it the first time.
fn ours(ran: &Ran) -> BTreeMap<String, BTreeSet<String>> {
    let mut seen = BTreeSet::new();
    let mut outcomes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for attempt in ran.list("attempts") {
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
fn tests_end_as_with_maven_alone_and_the_ladder_says_why() {
    let _turn = turn();
    let expected = specimen().run;
    let story = story();
    let ran = searching(&story, "run", "thesis,forms").end().exits(1);
    assert_eq!(brief(&ran), expected.findings, "{}", ran.remarks());
    assert_eq!(ran.list("tests").len(), expected.tests);
    let failed = ran.list("attempts").iter().find(|attempt| attempt["test"] == "com.acme.FormsTest#fails").unwrap();
    assert_eq!(failed["failure"]["file"], "forms/src/test/java/com/acme/FormsTest.java", "{failed}");

    let plain = self::story();
    plain.command("mvn").args(["-o", "-q", "-B", "test", "-fae", "-pl", "thesis,forms"]).output().unwrap();
    let modules = ["thesis", "forms"].map(|name| plain.project().join(name));
    let (mut theirs, mut ours) = (surefire(&modules), ours(&ran));
    // Surefire tells these of the class alone.
    theirs.retain(|test, _| !test.contains("Broken"));
    ours.retain(|test, _| !test.contains("Broken"));
    assert_eq!(ours, theirs);
}

#[test]
fn tests_that_break_when_they_are_run_twice_are_found() {
    let _turn = turn();
    let expected = specimen().nio;
    let story = story();
    let ran = searching(&story, "nio", "idempotence").end().exits(1);
    assert_eq!(brief(&ran), expected.findings, "{}", ran.remarks());
    assert_eq!(ran.list("tests").len(), expected.tests);
    assert_eq!(loaders::of_origin(&ran, "in-process").len(), expected.tests);
    let in_jvms = loaders::names(&["noWhere", "renames", "retries", "size", "stops", "trustStore"]);
    assert_eq!(loaders::of_origin(&ran, "process"), in_jvms);
    // Each of them is as it was found.
    assert!(story.project().join("idempotence/data/report.txt").is_file());
}

/// A JVM for each trial, about a dozen for each kind. A few kinds by default; `UNFLAKE_SPECIMENS=jvm-leaks` takes all.
#[test]
fn every_kind_of_state_is_named_by_the_way_to_it() {
    let _turn = turn();
    let Leaks { nio } = expected("jvm-leaks");
    let all = std::env::var("UNFLAKE_SPECIMENS").is_ok_and(|wanted| wanted == "all" || "jvm-leaks".contains(&wanted));
    let is_of = |finding: &str, test: &str| finding.split(' ').next() == Some(test);
    let mut tests: Vec<&str> = nio.findings.iter().filter_map(|finding| finding.strip_suffix(" nio")).collect();
    tests.retain(|test| all || ["#field", "#set", "#zone"].iter().any(|quick| test.ends_with(quick)));
    let story = Story::copy_of(&compiled("jvm-leaks"));
    // One after the other: on a busy machine a dozen JVMs may take a minute.
    for test in tests {
        let call = story.unflake(["nio", test, "--for", "1h", "--json"]).arg(story.place().join("found.json"));
        let ran = cached(call.args("-- mvn -o -B test".split(' '))).end().exits(1);
        let expected = nio.findings.iter().filter(|finding| is_of(finding, test));
        assert_eq!(brief(&ran), expected.cloned().collect::<BTreeSet<_>>(), "{}", ran.remarks());
        assert_eq!(ran.list("tests").len(), nio.tests);
    }
}

#[test]
fn together_in_one_jvm_they_hide_what_the_paper_says_they_hide() {
    let _turn = turn();
    let expected = specimen().nio_entire_suite;
    let story = story();
    let found = story.place().join("found.json");
    let call = story.unflake(["nio", "--no-state", "--mode", "entire-suite", "--json"]).arg(found);
    let ran = cached(call.args("-- mvn -o -B test -pl idempotence".split(' '))).end().exits(1);
    assert_eq!(brief(&ran), expected.findings, "{}", ran.remarks());
    assert_eq!(ran.list("tests").len(), expected.tests);
    // In company: both times badly after one that leaves an object, both times well after one that clears the database.
    let attempts = ran.attempts();
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
    let expected = specimen().order;
    let story = story();
    let ran = searching(&story, "order", "thesis").end();
    let found = brief(&ran);
    assert!(found.is_superset(&expected.findings), "{found:?} {}", ran.remarks());
}

#[test]
fn a_jvm_that_is_ended_by_a_test_takes_only_that_test_with_it_and_nothing_outlives_unflake() {
    let _turn = turn();
    let body = "package com.acme;\nimport org.junit.jupiter.api.Test;\nclass EndTest {\n  \
                @Test void a() { }\n  @Test void b() { System.exit(0); }\n  @Test void c() { }\n}\n";
    let story = story().with("forms/src/test/java/com/acme/EndTest.java", body);
    let call = |story: &Story, test: &str| {
        let words = format!("mvn -o -B test -pl forms -Dtest={test}");
        (story.place().join("found.json"), words)
    };
    let (found, words) = call(&story, "EndTest");
    let ran = cached(story.unflake(["run", "--json"]).arg(found).arg("--").args(words.split(' '))).end().exits(1);
    assert_eq!(ran.findings(), ["com.acme.EndTest#b real"]);
    let attempts = ran.attempts();
    assert!(attempts.iter().any(|attempt| attempt.starts_with("com.acme.EndTest#c passed suite")), "{attempts:?}");

    let body = "package com.acme;\nimport org.junit.jupiter.api.Test;\nclass HangTest {\n  @Test void hangs() throws Exception {\n    \
                java.nio.file.Files.write(java.nio.file.Paths.get(\"../here\"), new byte[] {'x'});\n    Thread.sleep(1000000);\n  }\n}\n";
    let story = story.with("forms/src/test/java/com/acme/HangTest.java", body);
    let (_, words) = call(&story, "HangTest");
    let running = cached(story.unflake(["run", "--"]).args(words.split(' '))).start();
    running.wait_for("here");
    running.signal(Signal::SIGINT);
    running.end().exits(130);
}

fn git(story: &Story, words: &str) {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
    let done = story.command("git").args(identity).args(words.split(' ')).output().unwrap();
    assert!(done.status.success(), "{words}: {}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn what_tests_depend_on_is_known_and_a_change_is_held_against_it() {
    let _turn = turn();
    let story = story().with(".gitignore", "target/\nbuild/\n.unflake/\n");
    ["init -q .", "add -A", "commit -qm one"].iter().for_each(|words| git(&story, words));
    let call = |words: &str| cached(story.unflake(words.split(' '))).end().exits(0);
    call("affected --learn --base HEAD -- mvn -o -B test -pl thesis,idempotence");
    // Some of these tests change files of the project.
    git(&story, "checkout -q .");
    git(&story, "clean -fdq");
    let add = |path: &str, text: &str| {
        let path = story.project().join(path);
        fs::write(&path, fs::read_to_string(&path).unwrap() + text).unwrap();
    };
    add("thesis/src/main/java/com/acme/ProtocolSignature.java", "// Another word.\n");
    add("idempotence/data/search/rows.txt", "fay\n");
    let ran = call("affected --base HEAD -- mvn -o -B test -pl thesis,idempotence");
    let mut affected: Vec<&str> = ran.stdout.lines().collect();
    affected.sort_unstable();
    let classes = ["DatabaseTest#clears", "DatabaseTest#noWhere", "RpcCompatibilityTest#version2ClientVersion1Server"];
    let expected = classes.iter().chain(&["RpcCompatibilityTest#version2ClientVersion2Server"]);
    assert_eq!(affected, expected.map(|test| format!("com.acme.{test}")).collect::<Vec<_>>(), "{}", ran.stderr);

    let found = story.place().join("found.json");
    let words =
        "-- mvn -o -B test -pl thesis,forms -Dtest=FormsTest,StatusTest -Dsurefire.failIfNoSpecifiedTests=false";
    let ran =
        cached(story.unflake(["run", "--base", "HEAD", "--json"]).arg(found).args(words.split(' '))).end().exits(1);
    assert!(brief(&ran).contains("com.acme.FormsTest#fails unaffected"), "{:?}", brief(&ran));
}

/// A project that a script compiles, or Gradle.
fn plainly_built(story: &Story, words: &str) {
    let expected: Plain = expected("jvm-javac");
    // A story has a home of its own.
    let repository = std::env::home_dir().unwrap().join(".m2/repository");
    let call = |command: &str| {
        let call = story.unflake([command, "--json"]).arg(story.place().join("found.json")).args(words.split(' '));
        cached(call.env("REPOSITORY", &repository)).end().exits(1)
    };
    let ran = call("run");
    assert_eq!(brief(&ran), expected.run.findings, "{}", ran.remarks());
    assert_eq!(ran.list("tests").len(), expected.run.tests);
    assert_eq!(ran.list("tests")[0]["file"], "test/com/acme/TillTest.java");
    let ran = call("nio");
    assert_eq!(brief(&ran), expected.nio.findings, "{}", ran.remarks());
}

#[test]
fn tests_that_any_tool_compiled_are_run_by_their_class_path() {
    let _turn = turn();
    let story = Story::copy_of(&repository().join("specimens/jvm-javac"));
    let words = "--classpath-file class-path.txt --test-classes out/test -- ./build.sh";
    plainly_built(&story, words);
    fs::write(story.project().join("build.sh"), "#!/bin/sh\necho no such symbol >&2; exit 1\n").unwrap();
    let ran = cached(story.unflake(["run"]).args(words.split(' '))).end().exits(4);
    assert!(ran.stdout.contains("no such symbol"), "{}", ran.stdout);
}

const DICE: &str = "package com.acme;\n\npublic class Dice {\n    public int roll() {\n        \
                    int eyes = 1 + new java.util.Random().nextInt(6);\n        return eyes;\n    }\n}\n";
const DICE_TEST: &str = "package com.acme;\n\npublic class DiceTest {\n    @org.junit.Test\n    public void isLow() {\n        \
                         int eyes = new Dice().roll();\n        org.junit.Assert.assertTrue(eyes < 4);\n    }\n}\n";

/// The same kind of project, with a test that fails by chance.
fn located(words: &str) {
    let story = Story::copy_of(&repository().join("specimens/jvm-javac"));
    let story = story.with("src/com/acme/Dice.java", DICE).with("test/com/acme/DiceTest.java", DICE_TEST);
    let repository = std::env::home_dir().unwrap().join(".m2/repository");
    let call = story.unflake(["locate", "isLow", "--runs", "16", "--json"]).arg(story.place().join("found.json"));
    let ran = cached(call.args(words.split(' ')).env("REPOSITORY", repository)).end().exits(1);
    let finding = ran.finding("com.acme.DiceTest#isLow");
    assert_eq!(finding["kind"], "randomness", "{finding:#} {}", ran.remarks());
    let first = &finding["locations"][0];
    assert_eq!((&first["file"], &first["line"]), (&"src/com/acme/Dice.java".into(), &5.into()), "{finding:#}");
}

#[test]
fn where_a_test_starts_to_fail_is_found_by_its_class_path() {
    let _turn = turn();
    located("--classpath-file class-path.txt --test-classes out/test -- ./build.sh");
}

#[test]
#[ignore = "needs a Gradle in PATH"]
fn gradle_hands_its_tests_over() {
    let _turn = turn();
    let story = Story::copy_of(&repository().join("specimens/jvm-javac"));
    plainly_built(&story, "-- gradle --offline test");
    located("-- gradle --offline test");
}
