//! `unflake measure`: selection, noise rules and runners without layers. What it must find is in
//! the specimens of `specimens/variance`.

use e2e::{RunOutput, Sandbox};

const PYTEST: [&str; 3] = ["python", "-m", "pytest"];

fn measure(sandbox: &Sandbox, options: &[&str], command: &[&str]) -> RunOutput {
    sandbox.unflake(["measure"]).json().args(options).arg("--").args(command).finish()
}

const FLAKY: &str = "\
import random

def test_by_chance():
    assert random.random() < 0.5

def test_passes():
    assert True
";

#[test]
fn a_flaky_test_is_reported_with_a_confidence_interval() {
    let sandbox = Sandbox::with_tests(FLAKY);
    let page = sandbox.root().join("page.html");
    let result = measure(&sandbox, &["--runs", "20", "--html", page.to_str().unwrap()], &PYTEST).expect_exit(1);
    let verdict = result.list("findings").iter().find(|finding| finding["kind"] == "verdict").unwrap();
    assert_eq!(verdict["test"], "test_it.py::test_by_chance");
    let failures = &verdict["failures"];
    assert_eq!(failures["of"], 20);
    let share = failures["seen"].as_f64().unwrap() / 20.0;
    assert!(failures["low"].as_f64() < Some(share) && failures["high"].as_f64() > Some(share), "{failures}");
    assert!(result.stdout.contains("FLAKY") && result.stdout.contains("95 % CI"), "{}", result.stdout);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("test_by_chance") && page.contains("How much runs differ"), "{page}");
}

#[test]
fn only_selected_tests_and_layers_are_measured() {
    let sandbox = Sandbox::with_tests(FLAKY);
    let result = measure(&sandbox, &["test_passes", "--layer", "code", "--runs", "3"], &PYTEST).expect_exit(0);
    assert!(result.list("findings").is_empty());
    assert_eq!(result.list("attempts").len(), 3);
    let layers: Vec<_> =
        result.json()["measured"]["layers"].as_array().unwrap().iter().map(|layer| layer["layer"].clone()).collect();
    assert_eq!(layers, ["verdict", "code"]);
    assert!(result.stdout.contains("no differences"), "{}", result.stdout);
}

#[test]
fn invalid_arguments_are_rejected_before_anything_runs() {
    let sandbox = Sandbox::with_tests(FLAKY);
    let printed = |options: &[&str]| measure(&sandbox, options, &PYTEST).expect_exit(2).stderr;
    assert!(printed(&["--layer", "taste"]).contains("there is no `taste`\nhint: choose from verdict, assertion, code"));
    assert!(printed(&["--no-rule", "adresses"]).contains("there is no rule `adresses`: addresses, "));
    assert!(printed(&["--runs", "1"]).contains("one run has nothing to be compared with"));
    assert!(printed(&["test_nobody"]).contains("no test has `test_nobody` in its name"));
}

#[test]
fn a_disabled_noise_rule_lets_noise_through() {
    let sandbox = Sandbox::with_tests("import os\n\ndef test_pid():\n    pid = os.getpid()\n    assert pid > 0\n");
    let with = measure(&sandbox, &["--runs", "3", "--layer", "assertion"], &PYTEST).expect_exit(0);
    assert!(with.list("findings").is_empty(), "{:?}", with.findings());
    assert!(with.stdout.contains("suppressed as noise"), "{}", with.stdout);
    let without =
        measure(&sandbox, &["--runs", "3", "--layer", "assertion", "--no-rule", "pids"], &PYTEST).expect_exit(0);
    assert_eq!(without.findings(), ["test_it.py::test_pid assertion"]);
}

#[test]
fn crashed_attempts_are_part_of_the_measurement() {
    let sandbox = Sandbox::with_tests(
        "import os, random\n\ndef test_dies():\n    if random.random() < 0.5:\n        os.abort()\n\ndef test_after():\n    pass\n",
    );
    let result = measure(&sandbox, &["--runs", "20", "--layer", "code"], &PYTEST).expect_exit(1);
    assert_eq!(result.findings(), ["test_it.py::test_dies code", "test_it.py::test_dies verdict"]);
    assert_eq!(result.list("attempts").len(), 40);
}

const RUST: &str = "pub fn price(n: u128) -> u128 {
    if n % 2 == 0 {
        return n / 2;
    }
    n + 1
}

#[test]
fn varies() {
    let runs = std::fs::read_to_string(\"../runs\").unwrap_or_default().len();
    std::fs::write(\"../runs\", \"x\".repeat(runs + 1)).unwrap();
    println!(\"run {runs}\");
    price(runs as u128);
}

#[test]
fn stays() {
    println!(\"always\");
    assert_eq!(price(1), 2);
}
";

/// The names in a list of the measurement.
fn words(list: &serde_json::Value, name: &str) -> Vec<String> {
    let word = |one: &serde_json::Value| if name.is_empty() { one.clone() } else { one[name].clone() };
    list.as_array().unwrap().iter().map(|one| word(one).as_str().unwrap().to_owned()).collect()
}

#[test]
fn native_tests_have_lines_and_output() {
    let sandbox = Sandbox::new()
        .file("Cargo.toml", "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
        .file("src/lib.rs", RUST);
    let result = measure(&sandbox, &["--runs", "4"], &["cargo", "test", "--lib"]).expect_exit(0);
    let measured = &result.json()["measured"];
    assert_eq!(words(&measured["layers"], "layer"), ["verdict", "code", "interface"], "{}", result.stdout);
    assert_eq!(words(&measured["unseen"], ""), ["assertion", "branch", "behaviour"]);
    assert!(result.stdout.contains("not recorded: branch: the runner does not record it"), "{}", result.stdout);
    assert_eq!(result.findings(), ["shop varies code", "shop varies interface"]);
    let units = result.list("findings")[0]["units"].as_array().unwrap();
    let lines: Vec<_> = units.iter().map(|unit| (unit["line"].as_u64().unwrap(), &unit["seen"][0]["runs"])).collect();
    assert_eq!(lines, [(3, &2.into()), (5, &2.into())], "{units:?}");
    // A pass prints, too.
    assert!(result.stdout.contains("stdout: run 0: there in 1 of 4 runs"), "{}", result.stdout);
}

/// Both tests are seen, although plain sessions run them in one process.
#[test]
fn lines_of_googletest_programs_are_recorded() {
    let sandbox = Sandbox::specimen("schedule/cpp/lazy_catalogue");
    for words in [&["-S", ".", "-B", "build"][..], &["--build", "build"]] {
        let built = sandbox.command("cmake").args(words).output().expect("e2e/setup.py installs cmake");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    }
    let result = measure(&sandbox, &["--layer", "code", "--runs", "2"], &["build/catalogue_test"]);
    let layers = result.json()["measured"]["layers"].as_array().unwrap();
    let code = layers.iter().find(|layer| layer["layer"] == "code").unwrap_or_else(|| panic!("{}", result.stdout));
    assert_eq!((&code["tests"], &code["suite"]["runs"]), (&2.into(), &2.into()), "{}", result.stdout);
    assert!(!result.stdout.contains("incomplete: code"), "{}", result.stdout);
}

#[test]
fn lines_that_cannot_be_seen_leave_the_other_layers() {
    // Nothing says how it was built.
    let program = "#!/bin/sh\nif [ \"$1\" = --gtest_list_tests ]; then printf 'Shop.\\n  Sells\\n'; exit; fi\n\
                   echo 'Note: Google Test filter = *'\necho '[ RUN      ] Shop.Sells'\necho hello\n\
                   echo '[       OK ] Shop.Sells (0 ms)'\n";
    let sandbox = Sandbox::new().file("shop_test", program);
    let path = sandbox.project().join("shop_test");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let result = measure(&sandbox, &["--runs", "2"], &["./shop_test"]).expect_exit(0);
    let measured = &result.json()["measured"];
    assert_eq!(words(&measured["layers"], "layer"), ["verdict", "interface"], "{}{}", result.stdout, result.stderr);
    assert!(result.stdout.contains("not recorded: code: "), "{}", result.stdout);
}

/// What each configuration is, and that runs that nothing controls are independent.
#[test]
fn configurations_are_compared_in_a_table() {
    let sandbox = Sandbox::with_tests(
        "import datetime, random\n\ndef test_drawn():\n    drawn = random.random()\n    assert drawn >= 0\n\n\
         def test_hash():\n    value = hash('a')\n    assert value is not None\n\n\
         def test_year():\n    year = datetime.date.today().year\n    assert year > 2000\n",
    );
    let table = sandbox.root().join("table.md");
    let options = ["--layer", "assertion", "--runs", "4", "--table", table.to_str().unwrap(), "--seed", "7"];
    let named = ["best", "uncontrolled", "no-init", "other-vendor"].map(|name| ["--configuration", name]).concat();
    let options: Vec<&str> = options.iter().copied().chain(named).collect();
    let result = measure(&sandbox, &options, &PYTEST).expect_exit(0);
    let of = |name: &str| {
        let all = result.json()["measured"]["configurations"].as_array().unwrap();
        all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{all:?}")).clone()
    };
    let entropy = |name: &str| of(name)["layers"][1]["suite"]["entropy"].as_f64().unwrap();
    assert_eq!((entropy("best"), entropy("no-init")), (0.0, 0.0), "{}", result.stdout);
    assert!((entropy("uncontrolled") - 4_f64.ln()).abs() < 1e-9, "no two runs are alike: {}", result.stdout);
    assert!(words(&of("best")["settings"], "").contains(&"--state=fresh".to_owned()));
    assert_eq!(words(&of("uncontrolled")["drawn"], ""), ["date", "seed", "order"]);
    assert!(of("other-vendor")["missing"].is_string() && of("other-vendor")["layers"].as_array().unwrap().is_empty());
    let attempts = result.list("attempts").iter().filter(|one| one["origin"] == "process").count();
    assert_eq!(attempts, 3 * 4 * 3, "each run has processes of its own");
    let text = std::fs::read_to_string(&table).unwrap();
    assert!(text.contains("| configuration | runs | verdict | assertion |\n"), "{text}");
    assert!(text.contains("| best | 4 | 0 | 0 |") && text.contains("| uncontrolled | 4 | 0 | 1.39 |"), "{text}");
    assert!(text.contains("- other-vendor: not run: "), "{text}");
    assert!(result.stdout.contains("--seed 7 draws the same circumstances again"), "{}", result.stdout);
    let again = measure(&sandbox, &options, &PYTEST).expect_exit(0);
    let worlds = |result: &RunOutput| -> Vec<String> {
        let uncontrolled = |one: &&serde_json::Value| one["session"].as_u64().unwrap() % 3 == 2;
        let attempts = result.list("attempts").iter().filter(uncontrolled);
        attempts.map(|one| format!("{} {}", one["world"], one["test"])).collect()
    };
    assert_eq!(worlds(&result), worlds(&again));
}

#[test]
fn unknown_configurations_are_rejected() {
    let sandbox = Sandbox::with_tests(FLAKY);
    let result = measure(&sandbox, &["--configuration", "bset"], &PYTEST).expect_exit(2);
    assert!(result.stderr.contains("there is no `bset`"), "{}", result.stderr);
    assert!(result.stderr.contains("best"), "{}", result.stderr);
}
