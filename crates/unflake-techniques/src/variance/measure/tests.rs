use std::collections::BTreeSet;

use unflake_model::{EnvironmentId, Fact, FactId, Gap, Outcome, SuppressedNoise, Test, Timestamp, Unit};

use super::*;

/// LayerFacts as literals: facts by their words, `unit=value` or a unit alone. One entry for each attempt; None: nothing is known of it.
#[derive(Default)]
struct Literal {
    facts: Vec<String>,
    units: Vec<String>,
    outputs: Vec<Vec<FactId>>,
    attempts: Vec<BTreeMap<Layer, OutputId>>,
}

impl Literal {
    fn attempt(&mut self, layer: Layer, words: Option<&str>) {
        let mut attempt = BTreeMap::new();
        if let Some(words) = words {
            let mut facts: Vec<FactId> = words.split_whitespace().map(|word| self.known(word)).collect();
            facts.sort_unstable();
            let at = self.outputs.iter().position(|one| *one == facts).unwrap_or(self.outputs.len());
            if at == self.outputs.len() {
                self.outputs.push(facts);
            }
            attempt.insert(layer, OutputId(at as u32));
        }
        self.attempts.push(attempt);
    }

    fn known(&mut self, word: &str) -> FactId {
        let at = self.facts.iter().position(|one| one == word).unwrap_or(self.facts.len());
        if at == self.facts.len() {
            self.facts.push(word.to_owned());
        }
        let unit = word.split('=').next().unwrap_or(word);
        if !self.units.iter().any(|one| one == unit) {
            self.units.push(unit.to_owned());
        }
        FactId(at as u32)
    }
}

impl LayerFacts for Literal {
    fn output(&self, attempt: usize, layer: Layer) -> Option<OutputId> {
        self.attempts[attempt].get(&layer).copied()
    }

    fn facts(&self, output: OutputId) -> &[FactId] {
        &self.outputs[output.0 as usize]
    }

    fn fact(&self, fact: FactId) -> Fact {
        let word = &self.facts[fact.0 as usize];
        let (what, value) =
            word.split_once('=').map_or((&**word, None), |(what, value)| (what, Some(value.replace(',', "\n"))));
        let unit = match what.parse() {
            Ok(line) => Unit { file: Some("a.py".to_owned()), line: Some(line), what: String::new() },
            Err(_) => Unit { what: what.to_owned(), ..Unit::default() },
        };
        Fact { unit, value }
    }

    fn unit(&self, fact: FactId) -> u32 {
        let word = &self.facts[fact.0 as usize];
        let unit = word.split('=').next().unwrap_or(word);
        self.units.iter().position(|one| one == unit).unwrap() as u32
    }

    fn is_order(&self, fact: FactId) -> bool {
        self.facts[fact.0 as usize].starts_with("order")
    }

    fn support(&self, _: FactId) -> Option<u32> {
        None
    }

    fn gaps(&self) -> Vec<Gap> {
        Vec::new()
    }

    fn hidden(&self) -> Vec<SuppressedNoise> {
        Vec::new()
    }
}

/// A measurement of tests `a`, `b`, … that have these looks at a layer: one list of runs for each test.
fn measure(layer: Layer, tests: &[&[Option<&str>]]) -> Measure {
    let runs = tests.iter().map(|runs| runs.len()).max().unwrap_or(0);
    let looks = Rc::new(RefCell::new(Literal::default()));
    let measuring = MeasureConfig {
        only: None,
        runs: runs as u32,
        layers: vec![layer],
        fresh_by: Isolation::Fork,
        seconds: f64::INFINITY,
    };
    let mut measure = Measure::new(measuring, looks.clone());
    let names: Vec<TestId> = (0..tests.len()).map(|at| TestId::new(((b'a' + at as u8) as char).to_string())).collect();
    let test = |id: &TestId| Test { id: id.clone(), file: None, line: None, command: Vec::new() };
    measure.hear(&Event::TestsListed { tests: names.iter().map(test).collect(), deselected: 0, isolated: false });
    for run in 0..runs {
        let sessions = measure.ask();
        assert_eq!((sessions.len(), &sessions[0].tests), (1, &names), "one run of all tests at a time");
        for (name, looked) in names.iter().zip(tests).filter(|(_, looked)| run < looked.len()) {
            looks.borrow_mut().attempt(layer, looked[run]);
            let failed = looked[run].is_some_and(|look| look.contains("failed"));
            measure.hear(&Event::AttemptEnded(attempt(name, &sessions[0], failed)));
        }
        measure.hear(&Event::SessionEnded { session: sessions[0].id, left: Vec::new(), why: None });
    }
    assert!(measure.ask().is_empty());
    measure
}

fn attempt(test: &TestId, session: &Session, failed: bool) -> Attempt {
    Attempt {
        test: test.clone(),
        session: session.id,
        purpose: session.purpose,
        environment: EnvironmentId(session.id.0),
        origin: Isolation::Fork,
        position: 0,
        run: 0,
        outcome: if failed { Outcome::Failed } else { Outcome::Passed },
        started: Timestamp(0),
        seconds: 1.0,
        failure: None,
        stdout: String::new(),
        stderr: String::new(),
    }
}

fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// Tables 3.1 and 3.2 of the dissertation and formula 4.1, through the whole measurement.
#[test]
fn the_tables_of_the_dissertation() {
    let some = |runs: [&'static str; 4]| runs.map(Some);
    let table = [
        some(["2 3", "2 3", "2 3", "2 3"]),
        some(["1 2 4", "1 2 4 5", "1 2 4 5", "1 2 4 5"]),
        some(["2 5", "2 5", "1 2 4 5", "1 2 4 5"]),
        some(["2 3 4", "2 3 4", "2 4", "2 3 4 6"]),
    ];
    let measure = measure(Layer::Code, &table.each_ref().map(|runs| &runs[..]));
    let measured = measure.measured();
    let layer = &measured.layers[0];
    let suite = layer.suite.as_ref().unwrap();
    assert_eq!((suite.runs, suite.range, &suite.groups[..]), (4, 1, &[3, 1][..]));
    assert_eq!(rounded(suite.entropy), 0.56);
    assert_eq!((rounded(layer.entropy), layer.range), (0.57, 1.25));
    assert_eq!((layer.tests, layer.differing), (4, 3));
    assert_eq!((layer.false_positives.seen, layer.false_positives.of), (7, 12));
    let findings = measure.findings();
    let told: Vec<_> = findings
        .iter()
        .map(|finding| {
            let Detail::Layer(found) = &finding.detail else { panic!() };
            (finding.test.as_str(), rounded(found.spread.entropy), found.spread.range, found.spread.groups.clone())
        })
        .collect();
    assert_eq!(told, [("b", 0.56, 1, vec![3, 1]), ("c", 0.69, 2, vec![2, 2]), ("d", 1.04, 2, vec![2, 1, 1])]);
    assert_eq!(findings[0].sentence, "differs from run to run at the layer code: a.py:5 ran in 3 of 4 runs");
}

#[test]
fn differences_that_cancel_leave_the_suite_below_its_tests_and_others_above() {
    let suite_and_average = |tests: &[&[Option<&str>]]| {
        let layer = measure(Layer::Code, tests).measured().layers.remove(0);
        (rounded(layer.suite.unwrap().entropy), rounded(layer.entropy))
    };
    // What one leaves out the other runs.
    let cancel: [&[Option<&str>]; 2] = [&[Some("1 2"), Some("1")], &[Some("1"), Some("1 2")]];
    assert_eq!(suite_and_average(&cancel), (0.0, 0.69));
    // Each has a line of its own, by its own chance.
    let add: [&[Option<&str>]; 2] =
        [&[Some("1 2"), Some("1 2"), Some("1"), Some("1")], &[Some("1 3"), Some("1"), Some("1 3"), Some("1")]];
    assert_eq!(suite_and_average(&add), (1.39, 0.69));
}

#[test]
fn what_was_not_seen_is_not_zero() {
    let unseen = measure(Layer::Code, &[&[None, None]]).measured();
    assert_eq!((unseen.layers.len(), &unseen.unseen[..]), (0, &[Layer::Code][..]));
    // Of one test one run is missing: it has two, and the suite has two.
    let some = measure(Layer::Code, &[&[Some("1"), None, Some("1 2")], &[Some("1"), Some("1"), Some("1")]]).measured();
    let layer = &some.layers[0];
    assert_eq!((layer.tests, layer.suite.as_ref().unwrap().runs), (2, 2));
    assert_eq!((layer.false_positives.seen, layer.false_positives.of), (1, 3));
    let once = measure(Layer::Code, &[&[Some("1")]]).measured();
    assert_eq!((once.layers[0].tests, &once.layers[0].suite), (0, &None));
}

#[test]
fn values_are_told_with_their_runs() {
    let runs = [Some("verdict=passed"), Some("verdict=failed"), Some("verdict=passed")];
    let found = measure(Layer::Verdict, &[&runs]).findings().remove(0);
    assert!(found.sentence.ends_with("verdict: passed (2 runs), failed (1 run)"), "{}", found.sentence);
    let Detail::Layer(LayerDifference { failures: Some(failures), spread, .. }) = found.detail else { panic!() };
    assert_eq!((failures.seen, failures.of, spread.range), (1, 3, 1));
    assert!(failures.low < 0.1 && failures.high > 0.7);
}

#[test]
fn lines_that_go_together_are_told_together() {
    let runs = [Some("1 2 3 4 9"), Some("1 9"), Some("1 2 3 9")];
    let found = measure(Layer::Code, &[&runs]).findings().remove(0);
    let Detail::Layer(found) = found.detail else { panic!() };
    let places: Vec<_> = found.units.iter().map(|unit| (unit.place(), unit.seen[0].runs)).collect();
    assert_eq!(places, [("a.py:2-3".to_owned(), 2), ("a.py:4".to_owned(), 1)]);
    assert_eq!(found.spread.range, 3);
}

#[test]
fn an_order_counts_where_nothing_else_differs() {
    let range = |runs: &[Option<&str>]| {
        let found = measure(Layer::Interface, &[runs]).findings().remove(0);
        let Detail::Layer(found) = found.detail else { panic!() };
        (found.spread.range, found.units.iter().map(|unit| unit.unit.what.clone()).collect::<BTreeSet<_>>())
    };
    assert_eq!(range(&[Some("x y order=1"), Some("x y order=2")]), (1, BTreeSet::from(["order".to_owned()])));
    assert_eq!(range(&[Some("x y order=1"), Some("x order=2")]), (1, BTreeSet::from(["y".to_owned()])));
}

#[test]
fn of_another_order_the_first_line_that_is_elsewhere_is_told() {
    // A comma stands for the end of a line.
    let runs = [Some("x order=a,b,c"), Some("x order=a,c,b"), Some("x order=a,b,c"), Some("x order=a,b,d")];
    let found = measure(Layer::Interface, &[&runs]).findings().remove(0);
    assert!(found.sentence.ends_with("order: b is line 2 (3 runs), c is line 2 (1 run)"), "{}", found.sentence);
}

#[test]
fn a_name_that_fits_no_test_is_not_run() {
    let measuring = MeasureConfig {
        only: Some(vec!["x".to_owned()]),
        runs: 2,
        layers: Vec::new(),
        fresh_by: Isolation::Fork,
        seconds: 1.0,
    };
    let mut measure = Measure::new(measuring, Rc::new(RefCell::new(Literal::default())));
    let test = Test { id: "a".into(), file: None, line: None, command: Vec::new() };
    measure.hear(&Event::TestsListed { tests: vec![test], deselected: 0, isolated: false });
    assert!(measure.ask().is_empty());
    assert_eq!(measure.nobody(), ["x"]);
}
