//! A history on a PostgreSQL server that a team shares.

use e2e::{RunOutput, Sandbox, flaky, python, server};

use super::report;

const PASSWORD: &str = "v3ry-s3cret";

fn whole(result: &RunOutput) -> String {
    format!("{}{}", result.stdout, result.stderr)
}

#[test]
fn runs_and_imports_of_several_users_share_one_history() {
    let address = server().address();
    let sandbox = flaky().file("report.xml", report(0, &[("test_a", true), ("test_b", false)]));
    let python = python().to_str().unwrap();
    sandbox.run_invocation(&format!("--store {address}"), &format!("{python} -m pytest")).finish().expect_exit(0);
    sandbox.unflake(["history", "import", "report.xml", "--store", &address]).finish().expect_exit(0);
    let here: Vec<_> = std::fs::read_dir(sandbox.project().join(".unflake")).unwrap().flatten().collect();
    assert!(here.iter().all(|entry| entry.file_name() == ".gitignore"), "nothing is stored here: {here:?}");

    // Another project, with the server in an environment variable.
    let other = Sandbox::new().file("report.xml", report(0, &[("test_a", true), ("test_b", false)]));
    let printed =
        other.unflake(["history", "import", "report.xml"]).env("UNFLAKE_STORE", &address).finish().expect_exit(0);
    assert!(printed.stdout.contains("already imported"), "{}", printed.stdout);
    let printed =
        other.unflake(["history", "show", "test_"]).env("UNFLAKE_STORE", &address).finish().expect_exit(0).stdout;
    assert!(printed.contains("test_it.py::test_flaky") && printed.contains("test_b"), "{printed}");
    // The server in the configuration file.
    let file = Sandbox::new().file("unflake.toml", format!("store = \"{address}\"\n"));
    let printed = file.unflake(["history", "score", "--all"]).finish().expect_exit(0).stdout;
    assert!(printed.contains("test_flaky"), "{printed}");
}

#[test]
fn a_history_is_copied_to_a_server_and_back() {
    let sandbox = Sandbox::new()
        .file("one.xml", report(0, &[("test_a", true), ("test_b", false)]))
        .file("two.xml", report(1, &[("test_a", false)]));
    sandbox.unflake(["history", "import", "one.xml"]).finish().expect_exit(0);
    let address = server().address();
    let copy = |from: &str, to: &str| sandbox.unflake(["history", "copy", from, to]).finish();
    let printed = copy(".unflake", &address).expect_exit(0);
    assert!(printed.stdout.starts_with("0 runs and 1 reports are in postgres://"), "{}", printed.stdout);
    assert!(printed.stdout.contains("all of it new"), "{}", printed.stdout);
    assert!(copy(".unflake", &address).expect_exit(0).stdout.contains("nothing was new"));
    sandbox.unflake(["history", "import", "two.xml"]).finish().expect_exit(0);
    assert!(copy(".unflake", &address).expect_exit(0).stdout.contains("rows new"));
    copy(&address, "back").expect_exit(0);
    let scores = |store: &str| {
        sandbox.unflake(["history", "score", "--all", "--json", "-", "--store", store]).finish().expect_exit(0).stdout
    };
    assert_eq!(scores("back"), scores(".unflake"));
    assert_eq!(scores(&address), scores(".unflake"));

    // Two different histories are not merged.
    let other = server().address();
    sandbox.unflake(["history", "import", "two.xml", "--store", &other]).finish().expect_exit(0);
    let printed = copy(".unflake", &other).expect_exit(70);
    assert!(printed.stderr.contains("Two histories do not become one"), "{}", printed.stderr);
    let printed = copy("nothing-here", &other).expect_exit(2);
    assert!(printed.stderr.contains("there is no history in nothing-here"), "{}", printed.stderr);
    assert!(!sandbox.project().join("nothing-here").exists());
    let printed = sandbox.unflake(["history", "score", "--store", &server().address()]).finish().expect_exit(2);
    assert!(printed.stderr.contains("there is no history in postgres://"), "{}", printed.stderr);
}

/// Checks every command, every report, and every kind of connection failure.
#[test]
fn a_password_never_appears_in_output() {
    server().ask(&format!("CREATE USER team PASSWORD '{PASSWORD}'; GRANT CREATE ON DATABASE postgres TO team"));
    let good = server().address_as("team", PASSWORD, "of_team");
    let bad = [
        good.replace("//team", "//nobody"),
        good.replace("/postgres", "/nothing"),
        good.replace(&format!(":{}", server().port()), ":1"),
        good.replace("schema=", "colour="),
        format!("{good}&sslmode=verify-full&sslrootcert=/nowhere"),
        format!("{good}&channel_binding=require&sslmode=disable"),
        good.replace("127.0.0.1", "127.0.0.1:x"),
        good.replace("postgres://", "postgres:/"),
    ];
    let sandbox = flaky().file("report.xml", report(0, &[("test_a", true)]));
    let python = python().to_str().unwrap();
    let pytest = format!("{python} -m pytest");
    let found = sandbox.root().join("all.json");
    for address in bad.iter().chain([&good]) {
        let commands: [&[&str]; 8] = [
            &["history", "import", "report.xml"],
            &["history", "score"],
            &["history", "show"],
            &["config"],
            &["doctor"],
            &["quarantine", "list"],
            &["history", "copy", ".unflake", address],
            &["history", "copy", address, "copy"],
        ];
        for command in commands {
            let printed = whole(&sandbox.unflake(command).env("UNFLAKE_STORE", address).finish());
            assert!(!printed.contains(PASSWORD), "{command:?}: {printed}");
        }
        let options = format!("--store {address} --junit {}", found.display());
        let result = sandbox.run_invocation(&options, &pytest).finish();
        assert!(!whole(&result).contains(PASSWORD), "{}", whole(&result));
        let json = std::fs::read_to_string(sandbox.root().join("report.json")).unwrap_or_default();
        let junit = std::fs::read_to_string(&found).unwrap_or_default();
        assert!(!json.contains(PASSWORD) && !junit.contains(PASSWORD));
    }
    // The address takes precedence over the variable, and the variable is enough.
    sandbox.unflake(["history", "show", "--store", &good]).env("PGPASSWORD", "another").finish().expect_exit(0);
    let without = good.replace(&format!(":{PASSWORD}"), "");
    sandbox.unflake(["history", "show", "--store", &without]).env("PGPASSWORD", PASSWORD).finish().expect_exit(0);
}

#[test]
fn a_run_continues_without_its_server() {
    let sandbox = Sandbox::with_tests("def test_one(): pass\n");
    let pytest = format!("{} -m pytest", python().to_str().unwrap());
    let result = sandbox.run_invocation("--store postgres://ann@127.0.0.1:1/ci", &pytest).finish().expect_exit(0);
    let printed = whole(&result);
    assert!(printed.contains("this run is not kept") && printed.contains("cannot be reached"), "{printed}");
    let result = sandbox.run_invocation("--store postgres://ann@h/ci?sslmode=always", &pytest).finish().expect_exit(2);
    assert!(result.stderr.contains("its sslmode is none of disable"), "{}", result.stderr);
}

#[test]
fn old_results_are_removed_and_the_rest_is_exported() {
    let sandbox = Sandbox::new()
        .file("one.xml", report(0, &[("test_a", true), ("test_b, with a comma", false)]).replace("\"2026-", "\"2001-"))
        .file("two.xml", report(1, &[("test_a", false)]));
    let address = server().address();
    for store in [".unflake", &*address] {
        let unflake = |arguments: &[&str]| {
            sandbox.unflake(["history"].iter().chain(arguments).chain(&["--store", store])).finish()
        };
        unflake(&["import", "one.xml"]).expect_exit(0);
        unflake(&["import", "two.xml"]).expect_exit(0);
        let csv = unflake(&["export", "-"]).expect_exit(0).stdout;
        assert_eq!(csv.lines().count(), 4, "{csv}");
        assert!(csv.starts_with("source,source_id,source_started,commit,"), "{csv}");
        assert!(csv.contains("with a comma\","), "{csv}");
        let nothing = unflake(&["prune"]).expect_exit(2);
        assert!(nothing.stderr.contains("--older-than"), "{}", nothing.stderr);
        let wrong = unflake(&["prune", "--older-than", "soon"]).expect_exit(2);
        assert!(wrong.stderr.contains("`soon` is not an age"), "{}", wrong.stderr);
        let dry = unflake(&["prune", "--older-than", "500w", "--dry-run"]).expect_exit(0).stdout;
        assert!(dry.starts_with("would remove 0 runs with 0 attempts, 1 reports"), "{dry}");
        unflake(&["prune", "--older-than", "500w"]).expect_exit(0);
        let csv = unflake(&["export", "-", "--newer-than", "500w"]).expect_exit(0).stdout;
        assert_eq!(csv.lines().count(), 2, "{csv}");
        assert!(!csv.contains("comma"), "{csv}");
    }
}
