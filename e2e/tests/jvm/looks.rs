//! What tests in a JVM look like: what their assertions see, and what shows on the screen.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::{cached, compiled, turn};
use e2e::Story;

/// A screen that nobody sees. It chooses its own number, and ends with this value.
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
fn a_green_test_whose_window_differs_from_run_to_run_is_told() {
    let _turn = turn();
    let screen = Screen::new();
    let story = Story::copy_of(&compiled("jvm-windows"));
    let call = story.unflake(["measure", "--runs", "6", "--layer", "interface", "--json"]);
    let call = call.arg(story.place().join("found.json")).env("DISPLAY", &screen.1);
    let ran = cached(call.args(["--", "mvn", "-o", "-B", "test"])).end().exits(0);
    let text = &ran.stdout;
    assert!(text.contains("JLabel text=Today: "), "{text}");
    // All but the first close their windows in a tear-down, each in another way.
    let classes = ["TillTest", "TidyTillTest", "ExtendedTillTest", "ClassicTillTest", "RuledTillTest"];
    for test in
        classes.map(|class| format!("{class}#offersChange")).into_iter().chain(["OldTillTest#testOffersChange".into()])
    {
        assert!(text.contains(&format!("VARIES com.acme.{test}\n")), "{test}\n{text}");
    }
    assert!(!text.contains("#teaIsCharged"), "{text}");
}

#[test]
fn green_tests_whose_assertions_see_something_else_each_time_are_told() {
    let _turn = turn();
    let story = Story::copy_of(&compiled("jvm-assertions"));
    let call = story.unflake(["measure", "--runs", "4", "--layer", "assertion", "--json"]);
    let call = call.arg(story.place().join("found.json"));
    let ran = cached(call.args(["--", "mvn", "-o", "-B", "test"])).end().exits(0);
    let text = &ran.stdout;
    for test in ["discountIsSmall", "discountIsSmallByMatcher", "discountIsSmallByWords"] {
        assert!(text.contains(&format!("VARIES com.acme.PricesTest#{test}\n")), "{text}");
    }
    assert!(text.contains("PricesTest.java:26 actual in assertThat(discount, lessThan(1000)): "), "{text}");
    assert!(!text.contains("pricesStay"), "{text}");
}
