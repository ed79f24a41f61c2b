//! `unflake measure` on Java tests: assertion values and windows.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::turn;
use e2e::Sandbox;

/// A virtual X server on a free display number, which ends with this value.
struct Screen(Child, String);

impl Screen {
    fn new() -> Self {
        let mut command = Command::new("Xvfb");
        command.args(["-displayfd", "1", "-screen", "0", "800x600x24", "-nolisten", "tcp"]);
        let mut server =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("e2e/setup.py installs Xvfb");
        let mut number = String::new();
        BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut number).unwrap();
        assert!(!number.trim().is_empty(), "Xvfb did not start");
        Self(server, format!(":{}", number.trim()))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn passing_tests_with_varying_windows_are_found() {
    let _turn = turn();
    let screen = Screen::new();
    let sandbox = Sandbox::specimen("variance/java/swing_windows");
    let call = sandbox.unflake(["measure", "--runs", "6", "--layer", "interface"]).json();
    let call = call.env("DISPLAY", &screen.1);
    let result = call.args(["--", "mvn", "-o", "-B", "test"]).finish().expect_exit(0);
    let text = &result.stdout;
    assert!(text.contains("JLabel text=Today: "), "{text}");
    // All but the first close their windows in a teardown, each in another way.
    let classes = ["TillTest", "TidyTillTest", "ExtendedTillTest", "ClassicTillTest", "RuledTillTest"];
    for test in
        classes.map(|class| format!("{class}#offersChange")).into_iter().chain(["OldTillTest#testOffersChange".into()])
    {
        assert!(text.contains(&format!("VARIES   com.acme.{test}\n")), "{test}\n{text}");
    }
    assert!(!text.contains("#teaIsCharged"), "{text}");
}

#[test]
fn passing_tests_with_varying_assertion_values_are_found() {
    let _turn = turn();
    let sandbox = Sandbox::specimen("variance/java/assertions");
    let call = sandbox.unflake(["measure", "--runs", "4", "--layer", "assertion"]).json();
    let result = call.args(["--", "mvn", "-o", "-B", "test"]).finish().expect_exit(0);
    let text = &result.stdout;
    for test in ["discountIsSmall", "discountIsSmallByMatcher", "discountIsSmallByWords"] {
        assert!(text.contains(&format!("VARIES   com.acme.PricesTest#{test}\n")), "{text}");
    }
    assert!(text.contains("PricesTest.java:26 actual in assertThat(discount, lessThan(1000)): "), "{text}");
    assert!(!text.contains("pricesStay"), "{text}");
}

#[test]
fn lines_and_branches_of_java_are_found_that_not_every_run_takes() {
    let _turn = turn();
    let sandbox = Sandbox::specimen("variance/java/assertions")
        .file(
            "src/main/java/com/acme/Shop.java",
            "package com.acme;\npublic class Shop {\n  public static int price(int n) {\n    if (n % 2 == 0) {\n      return n / 2;\n    }\n    return n > 2 ? 7 : 8;\n  }\n}\n",
        )
        .file(
            "src/test/java/com/acme/PricesTest.java",
            "package com.acme;\nimport java.io.File;\nclass PricesTest {\n\
             @org.junit.jupiter.api.Test void varies() throws Exception { Shop.price(new File(\"../done\").createNewFile() ? 1 : 2); }\n\
             @org.junit.jupiter.api.Test void stays() { Shop.price(2); }\n}\n",
        );
    let call = sandbox.unflake(["measure", "--runs", "4", "--layer", "code", "--layer", "branch"]).json();
    let result = call.args(["--", "mvn", "-o", "-B", "test"]).finish().expect_exit(0);
    let test = "com.acme.PricesTest#varies";
    assert_eq!(result.findings(), [format!("{test} branch"), format!("{test} code")], "{}", result.stdout);
    let shop = "src/main/java/com/acme/Shop.java";
    let units = |kind: &str| -> Vec<String> {
        let finding = result.list("findings").iter().find(|one| one["kind"] == kind).unwrap();
        let own = finding["units"].as_array().unwrap().iter().filter(|unit| unit["file"] == shop);
        own.map(|unit| format!("{} {} {}", unit["line"], unit["what"], unit["seen"][0]["runs"])).collect()
    };
    assert_eq!(units("code"), ["5 null 3", "7 null 1"]);
    let ways = ["4 \"branch 1 to line 5\" 3", "4 \"branch 1 to line 7\" 1", "7 \"branch 1, jump\" 1"];
    assert_eq!(units("branch"), ways);
}
