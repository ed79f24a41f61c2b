//! Tests of `archive`.

use std::io::Write;

use unflake_model::{Isolation, Outcome, Purpose, SessionId, Timestamp};

use super::*;

fn attempt(test: &str, outcome: Outcome, stdout: &str) -> Attempt {
    Attempt {
        test: test.into(),
        session: SessionId(1),
        purpose: Purpose::Look,
        environment: EnvironmentId(1),
        origin: Isolation::Fork,
        world: None,
        position: 0,
        run: 0,
        outcome,
        started: Timestamp(0),
        seconds: 0.1,
        load: None,
        failure: None,
        stdout: stdout.to_owned(),
        stderr: String::new(),
    }
}

/// An archive of these runs of one test; each run is a text of lines after the first.
fn archive(off: &[&str], runs: &[&str]) -> LayerArchive {
    let off: Vec<String> = off.iter().map(|name| (*name).to_owned()).collect();
    let mut archive = LayerArchive::new(&Layer::ALL, Rules::without(&off, &[]).unwrap());
    for run in runs {
        let (mut file, path) = tempfile::NamedTempFile::new().unwrap().keep().unwrap();
        write!(file, "[\"format\", 1]\n[\"file\", 0, \"shop/cart.py\"]\n{run}").unwrap();
        archive.take(&Event::LayersRecorded { test: "t".into(), environment: EnvironmentId(1), file: path.clone() });
        archive.take(&Event::AttemptEnded(attempt("t", Outcome::Passed, "")));
        assert!(!path.exists());
    }
    archive
}

fn facts_of(archive: &LayerArchive, run: usize, layer: Layer) -> Vec<String> {
    let output = archive.output(run, layer).unwrap();
    let facts = archive.facts(output).iter().map(|fact| archive.fact(*fact)).map(|fact| {
        let place = fact.unit.line.map_or(String::new(), |line| format!("{line}: "));
        format!("{place}{}{}", fact.unit.what, fact.value.map_or(String::new(), |value| format!(" = {value}")))
    });
    facts.collect()
}

const SITE: &str = "[\"site\", 0, 0, \"test_total\", \"cart.total == 3\", 0, 12]\n";

#[test]
fn assertion_values_are_facts() {
    let saw = |values: &[&str]| {
        let one = |value: &&str| format!("[\"assert\", 0, \"held\", [[\"cart.total\", \"{value}\"]]]\n");
        format!("{SITE}{}", values.iter().map(one).collect::<String>())
    };
    let archive = archive(&[], &[&saw(&["3"]), &saw(&["3"]), &saw(&["3", "3", "4"])]);
    assert_eq!(
        facts_of(&archive, 0, Layer::Assertion),
        ["12: cart.total == 3 = held", "12: cart.total in cart.total == 3 = 3"]
    );
    assert_eq!(facts_of(&archive, 2, Layer::Assertion)[1], "12: cart.total in cart.total == 3 = 3 (2 times), 4");
    assert_eq!(archive.output(0, Layer::Assertion), archive.output(1, Layer::Assertion));
    let units = |run| {
        archive
            .facts(archive.output(run, Layer::Assertion).unwrap())
            .iter()
            .map(|fact| archive.unit(*fact))
            .collect::<Vec<_>>()
    };
    assert_eq!(units(0), units(2), "other values of the same units");
}

#[test]
fn noise_is_hidden_and_reported() {
    let saw = |at: &str| format!("{SITE}[\"assert\", 0, \"held\", [[\"repr(cart)\", \"<Cart at {at}>\"]]]\n");
    let runs = [saw("0x7f0000000001"), saw("0x7f0000000002")];
    let runs = runs.each_ref().map(|run| &**run);
    let normal = archive(&[], &runs);
    assert_eq!(normal.output(0, Layer::Assertion), normal.output(1, Layer::Assertion));
    let hidden = &normal.hidden()[0];
    assert_eq!((&*hidden.rule, hidden.units), ("addresses", 1));
    assert_eq!(hidden.example[0], "shop/cart.py:12 repr(cart) in cart.total == 3");
    let raw = archive(&["addresses"], &runs);
    assert_ne!(raw.output(0, Layer::Assertion), raw.output(1, Layer::Assertion));
    assert!(raw.hidden().is_empty());
}

#[test]
fn executed_lines_are_facts() {
    let archive = archive(
        &[],
        &[
            "[\"lines\", 0, [[1, 2], [4, 4]]]\n",
            "[\"lines\", 0, [[1, 1]]]\n[\"lines\", 0, [[2, 2], [4, 4]]]\n",
            "[\"lines\", 0, [[1, 1]]]\n",
        ],
    );
    assert_eq!(facts_of(&archive, 0, Layer::Code), ["1: ", "2: ", "4: "]);
    assert_eq!(archive.output(0, Layer::Code), archive.output(1, Layer::Code));
    assert_ne!(archive.output(0, Layer::Code), archive.output(2, Layer::Code));
}

#[test]
fn invariants_are_facts() {
    let point = "[\"point\", 0, 0, \"Cart.add\", \"enter\", [\"n\"]]\n";
    let rows = |of: &dyn Fn(u32) -> u32| {
        format!("{point}{}", (0..12).map(|at| format!("[\"row\", 0, [{}]]\n", of(at))).collect::<String>())
    };
    let archive = archive(&[], &[&rows(&|at| 1 + at % 2), &rows(&|at| at % 3), point]);
    assert_eq!(facts_of(&archive, 0, Layer::Behaviour), ["Cart.add, beginning: n is one of 1, 2"]);
    let fact = archive.facts(archive.output(0, Layer::Behaviour).unwrap())[0];
    assert_eq!(archive.support(fact), Some(12));
    assert!(facts_of(&archive, 2, Layer::Behaviour).is_empty());
    assert_eq!(archive.gaps().len(), 0);
}

#[test]
fn pages_and_output_are_facts() {
    let page = |lines: &str| {
        format!(
            "[\"step\", \"click\", \"http://127.0.0.1:43211/\", [{lines}], \"\"]\n[\"out\", \"stdout\", \"a\\nb\\n\"]\n"
        )
    };
    let archive = archive(&[], &[&page("\"- x\", \"- y\""), &page("\"- y\", \"- x\""), &page("\"- x\"")]);
    assert_eq!(
        facts_of(&archive, 2, Layer::Interface),
        ["step 1, click: address = http://127.0.0.1:<port>/", "step 1, click: - x", "stdout: a", "stdout: b"]
            .map(str::to_owned)
            .into_iter()
            .chain(facts_of(&archive, 2, Layer::Interface).into_iter().filter(|one| one.contains("order of")))
            .collect::<Vec<_>>()
    );
    let [one, other] = [0, 1].map(|run| archive.facts(archive.output(run, Layer::Interface).unwrap()).to_vec());
    let differ: Vec<_> = one.iter().chain(&other).filter(|fact| one.contains(fact) != other.contains(fact)).collect();
    assert!(!differ.is_empty() && differ.iter().all(|fact| archive.is_order(**fact)));
}

#[test]
fn unreadable_files_are_gaps() {
    let archive = archive(&[], &["[\"lines\", 0, [[1, 2]]]\nhello\n"]);
    assert_eq!(archive.output(0, Layer::Code), None);
    let gap = &archive.gaps()[0];
    assert_eq!((&*gap.why, gap.attempts), ("the agent's report is invalid: line 4 is not a JSON array", 1));
    assert_eq!(archive.gaps().len(), Layer::ALL.len() - 1);
}

#[test]
fn output_is_available_without_an_agent() {
    let mut archive = LayerArchive::new(&Layer::ALL, Rules::without(&[], &[]).unwrap());
    archive.take(&Event::AttemptEnded(attempt("t", Outcome::Failed, "hello\n")));
    assert_eq!(facts_of(&archive, 0, Layer::Verdict), ["verdict = failed"]);
    assert_eq!(facts_of(&archive, 0, Layer::Interface), ["stdout: hello"]);
    assert_eq!(archive.output(0, Layer::Code), None);
    archive.take(&Event::AttemptEnded(attempt("t", Outcome::Passed, "")));
    assert_eq!(archive.output(1, Layer::Interface), None, "a runner may keep back what passing tests print");
}
