//! The history of a team, on a server.

use e2e::{Ran, Story, flaky, python, server};

use crate::report;

const PASSWORD: &str = "v3ry-s3cret";

fn whole(ran: &Ran) -> String {
    format!("{}{}", ran.stdout, ran.stderr)
}

#[test]
fn runs_and_reports_of_everybody_are_one_history() {
    let address = server().address();
    let story = flaky().with("report.xml", report(0, &[("test_a", true), ("test_b", false)]));
    let python = python().to_str().unwrap();
    story.running(&format!("--store {address}"), &format!("{python} -m pytest")).end().exits(0);
    story.unflake(["import", "report.xml", "--store", &address]).end().exits(0);
    let here: Vec<_> = std::fs::read_dir(story.project().join(".unflake")).unwrap().flatten().collect();
    assert!(here.iter().all(|entry| entry.file_name() == ".gitignore"), "nothing is kept here: {here:?}");

    // Somebody else, somewhere else, told by a variable.
    let other = Story::new().with("report.xml", report(0, &[("test_a", true), ("test_b", false)]));
    let said = other.unflake(["import", "report.xml"]).env("UNFLAKE_STORE", &address).end().exits(0);
    assert!(said.stdout.contains("known already"), "{}", said.stdout);
    let said = other.unflake(["history", "test_"]).env("UNFLAKE_STORE", &address).end().exits(0).stdout;
    assert!(said.contains("test_it.py::test_flaky") && said.contains("test_b"), "{said}");
    // And by the file of the project.
    let file = Story::new().with("unflake.toml", format!("store = \"{address}\"\n"));
    let said = file.unflake(["score", "--all"]).end().exits(0).stdout;
    assert!(said.contains("test_flaky"), "{said}");
}

#[test]
fn a_history_goes_to_a_server_and_back() {
    let story = Story::new()
        .with("one.xml", report(0, &[("test_a", true), ("test_b", false)]))
        .with("two.xml", report(1, &[("test_a", false)]));
    story.unflake(["import", "one.xml"]).end().exits(0);
    let address = server().address();
    let copy = |from: &str, to: &str| story.unflake(["store", "copy", from, to]).end();
    let said = copy(".unflake", &address).exits(0);
    assert!(said.stdout.starts_with("0 runs and 1 reports are in postgres://"), "{}", said.stdout);
    assert!(said.stdout.contains("all of it new"), "{}", said.stdout);
    assert!(copy(".unflake", &address).exits(0).stdout.contains("nothing was new"));
    story.unflake(["import", "two.xml"]).end().exits(0);
    assert!(copy(".unflake", &address).exits(0).stdout.contains("rows new"));
    copy(&address, "back").exits(0);
    let scores = |store: &str| story.unflake(["score", "--all", "--json", "-", "--store", store]).end().exits(0).stdout;
    assert_eq!(scores("back"), scores(".unflake"));
    assert_eq!(scores(&address), scores(".unflake"));

    // Another history is not mixed with it.
    let other = server().address();
    story.unflake(["import", "two.xml", "--store", &other]).end().exits(0);
    let said = copy(".unflake", &other).exits(70);
    assert!(said.stderr.contains("Two histories do not become one"), "{}", said.stderr);
    let said = copy("nothing-here", &other).exits(2);
    assert!(said.stderr.contains("there is no history in nothing-here"), "{}", said.stderr);
    assert!(!story.project().join("nothing-here").exists());
    let said = story.unflake(["score", "--store", &server().address()]).end().exits(2);
    assert!(said.stderr.contains("there is no history in postgres://"), "{}", said.stderr);
}

/// In no word, in no report, on no way to fail.
#[test]
fn a_password_is_never_told() {
    server().ask(&format!("CREATE USER team PASSWORD '{PASSWORD}'; GRANT CREATE ON DATABASE postgres TO team"));
    let good = server().address_as("team", PASSWORD, "of_team");
    let bad = [
        good.replace("//team", "//nobody"),
        good.replace("/postgres", "/nothing"),
        good.replace(&format!(":{}", server().port()), ":1"),
        good.replace("schema=", "colour="),
        format!("{good}&sslmode=require"),
        good.replace("127.0.0.1", "127.0.0.1:x"),
        good.replace("postgres://", "postgres:/"),
    ];
    let story = flaky().with("report.xml", report(0, &[("test_a", true)]));
    let python = python().to_str().unwrap();
    let pytest = format!("{python} -m pytest");
    let found = story.place().join("all.json");
    for address in bad.iter().chain([&good]) {
        let commands: [&[&str]; 8] = [
            &["import", "report.xml"],
            &["score"],
            &["history"],
            &["settings"],
            &["doctor"],
            &["quarantine"],
            &["store", "copy", ".unflake", address],
            &["store", "copy", address, "copy"],
        ];
        for command in commands {
            let said = whole(&story.unflake(command).env("UNFLAKE_STORE", address).end());
            assert!(!said.contains(PASSWORD), "{command:?}: {said}");
        }
        let options = format!("--store {address} --junit {}", found.display());
        let ran = story.running(&options, &pytest).end();
        assert!(!whole(&ran).contains(PASSWORD), "{}", whole(&ran));
        let json = std::fs::read_to_string(story.place().join("found.json")).unwrap_or_default();
        let junit = std::fs::read_to_string(&found).unwrap_or_default();
        assert!(!json.contains(PASSWORD) && !junit.contains(PASSWORD));
    }
    // The address goes before the variable, and the variable is enough.
    story.unflake(["history", "--store", &good]).env("PGPASSWORD", "another").end().exits(0);
    let without = good.replace(&format!(":{PASSWORD}"), "");
    story.unflake(["history", "--store", &without]).env("PGPASSWORD", PASSWORD).end().exits(0);
}

/// A run is worth more than its place in the history.
#[test]
fn a_run_goes_on_without_a_server_and_says_so() {
    let story = Story::of("def test_one(): pass\n");
    let pytest = format!("{} -m pytest", python().to_str().unwrap());
    let ran = story.running("--store postgres://ann@127.0.0.1:1/ci", &pytest).end().exits(0);
    let said = whole(&ran);
    assert!(said.contains("this run is not kept") && said.contains("cannot be reached"), "{said}");
    let ran = story.running("--store postgres://ann@h/ci?sslmode=require", &pytest).end().exits(2);
    assert!(ran.stderr.contains("this unflake cannot make one"), "{}", ran.stderr);
}
