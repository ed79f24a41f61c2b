//! Varying layers on a terminal.

use insta::assert_snapshot;
use proptest::prelude::*;
use unflake_model::{
    ConfigurationMeasure, Detail, Difference, Finding, Gap, Layer, LayerDifference, LayerMeasure, Measurement, Outcome,
    Rate, Reproduction, SeenIn, Shows, SuppressedNoise, Unit, Variance,
};
use unflake_report::{RunReport, TerminalStyle};

use crate::safety::{any_style, check};
use crate::samples::{ASCII, COLD, NARROW, RETRY, Sample, TOTAL, WIDE, attempt, hostile, written};

fn spread(groups: &[u32], range: u32) -> Variance {
    let runs: u32 = groups.iter().sum();
    let share = |size: &u32| f64::from(*size) / f64::from(runs);
    let entropy = groups.iter().map(share).map(|p| p * (1.0 / p).ln()).sum();
    Variance { runs, entropy, range, groups: groups.to_vec() }
}

fn difference(file: &str, line: Option<u32>, what: &str, seen: &[(&str, u32)]) -> Difference {
    let unit = Unit { file: (!file.is_empty()).then(|| file.to_owned()), line, what: what.to_owned() };
    let value = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let seen = seen.iter().map(|(text, runs)| SeenIn { value: value(text), runs: *runs }).collect();
    Difference { unit, last: None, seen, support: None }
}

fn found(test: &str, kind: Layer, spread: Variance, units: Vec<Difference>) -> Finding {
    let failures = (kind == Layer::Verdict).then_some(Rate { seen: 3, of: 10, low: 0.108, high: 0.603 });
    let detail = Detail::Layer(LayerDifference { kind, spread, units, failures, configuration: None });
    let reproduce = vec![Reproduction { command: format!("pytest {test}"), shows: Shows::Passes }];
    Finding {
        test: test.into(),
        detail,
        sentence: "differs from run to run".to_owned(),
        reproduce,
        replays: Vec::new(),
    }
}

fn layer(layer: Layer, differing: u32, suite: Option<Variance>, entropy: f64, range: f64, wrong: u32) -> LayerMeasure {
    let false_positives = Rate { seen: wrong, of: 27, low: 0.0, high: 0.2 };
    LayerMeasure { layer, tests: 3, differing, suite, entropy, range, units: 40.0, false_positives }
}

fn measured() -> (Sample, Measurement) {
    let lines = Difference { last: Some(33), ..difference("shop/cart.py", Some(31), "", &[("", 1)]) };
    let held = difference("shop/cart.py", None, "Cart.add, beginning: n >= 1", &[("", 9)]);
    let held = Difference { support: Some(40), ..held };
    let saw = difference("tests/test_cart.py", Some(12), "cart.total in cart.total >= 3", &[("3", 9), ("4", 1)]);
    let printed = difference("", None, "stdout: order of the lines", &[("order 1", 6), ("order 2", 4)]);
    let mut sample = Sample::new(1, "one test failed, in some runs or in all")
        .with(TOTAL, [attempt(TOTAL, Outcome::Passed)])
        .with(RETRY, [attempt(RETRY, Outcome::Failed)])
        .with(COLD, [attempt(COLD, Outcome::Passed)])
        .found(found(
            RETRY,
            Layer::Verdict,
            spread(&[7, 3], 1),
            vec![difference("", None, "verdict", &[("passed", 7), ("failed", 3)])],
        ))
        .found(found(TOTAL, Layer::Assertion, spread(&[9, 1], 1), vec![saw]))
        .found(found(TOTAL, Layer::Code, spread(&[9, 1], 5), vec![lines]))
        .found(found(TOTAL, Layer::Behaviour, spread(&[9, 1], 1), vec![held]))
        .found(found(COLD, Layer::Interface, spread(&[6, 4], 1), vec![printed]));
    sample.notes.push("runs are copies of one process".to_owned());
    let example = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let measured = Measurement {
        runs: 10,
        layers: vec![
            layer(Layer::Verdict, 1, Some(spread(&[7, 3], 1)), 0.20, 0.33, 3),
            layer(Layer::Code, 1, Some(spread(&[9, 1], 3)), 0.11, 1.66, 1),
            layer(Layer::Interface, 1, None, 0.22, 0.33, 4),
        ],
        unseen: vec![Layer::Behaviour],
        gaps: vec![
            Gap { layer: Layer::Behaviour, why: "values were seen too few times".to_owned(), attempts: 30 },
            Gap { layer: Layer::Code, why: "a C extension".to_owned(), attempts: 1 },
        ],
        hidden: vec![
            SuppressedNoise {
                rule: "addresses".to_owned(),
                replaced: 40,
                units: 2,
                example: example(&["x", "0x7f0000000001", "0x7f0000000002"]),
            },
            SuppressedNoise { rule: "times".to_owned(), replaced: 3, units: 0, example: example(&["at 12:00:00"]) },
        ],
        configurations: Vec::new(),
    };
    (sample, measured)
}

fn terminal(sample: &Sample, measured: &Measurement, style: &TerminalStyle, quiet: bool) -> String {
    let run = RunReport { measured: Some(measured), ..sample.run() };
    written(|out| unflake_report::measure(&run, style, quiet, out))
}

#[test]
fn tests_that_vary_like_noise_come_last() {
    let ids = difference("", None, "stdout: id", &[("a", 1), ("b", 1), ("c", 1)]);
    let number = difference("", None, "stdout: n", &[("3", 2), ("4", 1)]);
    let sample = Sample::new(0, "every test passed in every run")
        .with(TOTAL, [attempt(TOTAL, Outcome::Passed)])
        .with(RETRY, [attempt(RETRY, Outcome::Passed)])
        .found(found(TOTAL, Layer::Assertion, spread(&[1, 1, 1], 1), vec![ids]))
        .found(found(RETRY, Layer::Interface, spread(&[2, 1], 1), vec![number]));
    let text = terminal(&sample, &Measurement { runs: 3, ..Measurement::default() }, &WIDE, true);
    let position = |test: &str| text.find(test).unwrap_or_else(|| panic!("{text}"));
    assert!(position(RETRY) < position(TOTAL), "{text}");
}

#[test]
fn tests_with_one_cause_are_one_entry() {
    let mut sample = Sample::new(0, "every test passed in every run");
    for (test, line) in [(TOTAL, 31), (RETRY, 31), (COLD, 40)] {
        let ran = difference("shop/cart.py", Some(line), "", &[("", 3)]);
        let finding = found(test, Layer::Code, spread(&[3, 1], 1), vec![ran]);
        sample = sample.with(test, [attempt(test, Outcome::Passed)]).found(finding);
    }
    let text = terminal(&sample, &Measurement { runs: 4, ..Measurement::default() }, &WIDE, true);
    assert_eq!(text.matches("VARIES").count(), 2, "{text}");
    assert!(text.contains(&format!("also in    {RETRY}\n")), "{text}");
}

#[test]
fn passing_tests_that_vary_come_first() {
    let (sample, measured) = measured();
    assert_snapshot!(terminal(&sample, &measured, &WIDE, false));
}

#[test]
fn the_same_narrow() {
    let (sample, measured) = measured();
    assert_snapshot!(terminal(&sample, &measured, &NARROW, false));
}

#[test]
fn the_same_quiet_and_in_ascii() {
    let (sample, measured) = measured();
    assert!(terminal(&sample, &measured, &ASCII, false).is_ascii());
    assert_snapshot!(terminal(&sample, &measured, &ASCII, true));
}

#[test]
fn identical_runs() {
    let sample = Sample::new(0, "all runs are alike").with(TOTAL, [attempt(TOTAL, Outcome::Passed)]);
    let layers = vec![LayerMeasure { tests: 1, ..layer(Layer::Code, 0, Some(spread(&[10], 0)), 0.0, 0.0, 0) }];
    let measured = Measurement { runs: 10, layers, unseen: vec![Layer::Interface], ..Measurement::default() };
    assert_snapshot!(terminal(&sample, &measured, &WIDE, false));
}

#[test]
fn the_page() {
    let (sample, measured) = measured();
    let run = RunReport { measured: Some(&measured), ..sample.run() };
    let page = written(|out| unflake_report::measure_page(&run, out));
    let from = page.find("<main>").unwrap();
    assert_snapshot!(
        page[from..].replace("</section>", "</section>\n").replace("</tr>", "</tr>\n").replace("</li>", "</li>\n")
    );
}

proptest! {
    #[test]
    fn text_of_tests_is_escaped(text in hostile(), style in any_style(), quiet in any::<bool>()) {
        let (mut sample, mut measured) = measured();
        let unit = difference(&text, Some(1), &text, &[(&text, 4), ("x", 6)]);
        sample.findings.push(found(&text, Layer::Assertion, spread(&[6, 4], 1), vec![unit]));
        measured.hidden[0].example = vec![text.clone(), text.clone(), text.clone()];
        measured.gaps[0].why = text.clone();
        check(&terminal(&sample, &measured, &style, quiet));
        let run = RunReport { measured: Some(&measured), ..sample.run() };
        let page = written(|out| unflake_report::measure_page(&run, out));
        prop_assert!(!page.contains("<script"), "{page}");
    }
}

fn configurations() -> Measurement {
    let of = |name: &str, entropy: f64, groups: &[u32]| ConfigurationMeasure {
        name: name.to_owned(),
        settings: vec!["--time-zone=UTC".to_owned()],
        drawn: if entropy > 0.0 { vec!["date".to_owned(), "order".to_owned()] } else { Vec::new() },
        runs: 10,
        layers: vec![
            layer(Layer::Verdict, 0, Some(spread(&[10], 0)), 0.0, 0.0, 0),
            layer(Layer::Code, 1, Some(spread(groups, 3)), entropy, 1.5, 4),
        ],
        missing: None,
    };
    let missing = ConfigurationMeasure {
        name: "other-vendor".to_owned(),
        missing: Some("there is no other runtime".to_owned()),
        ..ConfigurationMeasure::default()
    };
    let configurations = vec![of("best", 0.0, &[10]), of("uncontrolled", 0.004, &[9, 1]), missing];
    Measurement { runs: 10, configurations, ..Measurement::default() }
}

#[test]
fn configurations_are_a_table() {
    let sample = Sample::new(0, "every test passed in every run").with(TOTAL, [attempt(TOTAL, Outcome::Passed)]);
    let text = terminal(&sample, &configurations(), &WIDE, false);
    assert!(text.contains("  configuration   runs   verdict          code\n"), "{text}");
    assert!(text.contains("  best              10     0 / 0         0 / 0\n"), "{text}");
    assert!(text.contains("  uncontrolled      10     0 / 0   0.33 / 0.00\n"), "{text}");
    assert!(text.contains("other-vendor: not run: there is no other runtime"), "{text}");
    let narrow = terminal(&sample, &configurations(), &NARROW, false);
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    let markdown = written(|out| unflake_report::configuration_tables(&configurations(), out));
    assert_snapshot!(markdown);
}
