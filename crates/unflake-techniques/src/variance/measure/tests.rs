//! Tests of `measure`.

use std::collections::BTreeSet;

use unflake_model::{Fact, FactId, Gap, Outcome, SuppressedNoise, Unit, World};

use super::*;
use crate::simulation::{attempt, ended, listed};

/// Layers as literals: facts as words, `unit=value` or a unit alone, one entry per attempt; `None`
/// for an attempt without a recording.
#[derive(Default)]
struct LayerLiterals {
    facts: Vec<String>,
    units: Vec<String>,
    outputs: Vec<Vec<FactId>>,
    attempts: Vec<BTreeMap<Layer, OutputId>>,
}

impl LayerLiterals {
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

impl LayerFacts for LayerLiterals {
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

struct Measured {
    measurement: Measurement,
    findings: Vec<Finding>,
}

/// Measures tests `a`, `b`, … with these recordings at a layer: one list of runs per test.
fn measure(layer: Layer, tests: &[&[Option<&str>]]) -> Measured {
    let runs = tests.iter().map(|runs| runs.len()).max().unwrap_or(0);
    let mut layers = LayerLiterals::default();
    let config = MeasureConfig {
        only: None,
        runs: runs as u32,
        configurations: Vec::new(),
        layers: vec![layer],
        fresh_by: Isolation::Fork,
        seconds: f64::INFINITY,
    };
    let mut measure = Measure::new(config);
    let names: Vec<TestId> = ["a", "b", "c", "d"][..tests.len()].iter().map(|id| TestId::from(*id)).collect();
    let ids: Vec<&str> = names.iter().map(TestId::as_str).collect();
    measure.observe(&listed(&ids, false), Recordings::EMPTY);
    for run in 0..runs {
        let sessions = measure.next_sessions(Recordings::EMPTY);
        assert_eq!((sessions.len(), &sessions[0].tests), (1, &names), "one run of all tests at a time");
        for (name, recorded) in names.iter().zip(tests).filter(|(_, recorded)| run < recorded.len()) {
            layers.attempt(layer, recorded[run]);
            let failed = recorded[run].is_some_and(|facts| facts.contains("failed"));
            let outcome = if failed { Outcome::Failed } else { Outcome::Passed };
            let attempt = Attempt { seconds: 1.0, ..attempt(&sessions[0], name, outcome) };
            measure.observe(&Event::AttemptEnded(attempt), Recordings::EMPTY);
        }
        measure.observe(&ended(&sessions[0]), Recordings::EMPTY);
    }
    assert!(measure.next_sessions(Recordings::EMPTY).is_empty());
    let recordings = Recordings { layers: &layers, ..Recordings::EMPTY };
    Measured { measurement: measure.measured(recordings), findings: measure.findings(recordings) }
}

fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// Tables 3.1 and 3.2 of the dissertation and formula 4.1, through the whole measurement.
#[test]
fn the_tables_of_the_dissertation_are_reproduced() {
    let some = |runs: [&'static str; 4]| runs.map(Some);
    let table = [
        some(["2 3", "2 3", "2 3", "2 3"]),
        some(["1 2 4", "1 2 4 5", "1 2 4 5", "1 2 4 5"]),
        some(["2 5", "2 5", "1 2 4 5", "1 2 4 5"]),
        some(["2 3 4", "2 3 4", "2 4", "2 3 4 6"]),
    ];
    let measured = measure(Layer::Code, &table.each_ref().map(|runs| &runs[..]));
    let layer = &measured.measurement.layers[0];
    let suite = layer.suite.as_ref().unwrap();
    assert_eq!((suite.runs, suite.range, &suite.groups[..]), (4, 1, &[3, 1][..]));
    assert_eq!(rounded(suite.entropy), 0.56);
    assert_eq!((rounded(layer.entropy), layer.range), (0.57, 1.25));
    assert_eq!((layer.tests, layer.differing, layer.units), (4, 3, 3.5));
    assert_eq!((layer.false_positives.seen, layer.false_positives.of), (7, 12));
    let findings = measured.findings;
    let summary: Vec<_> = findings
        .iter()
        .map(|finding| {
            let Detail::Layer(found) = &finding.detail else { panic!() };
            (finding.test.as_str(), rounded(found.spread.entropy), found.spread.range, found.spread.groups.clone())
        })
        .collect();
    assert_eq!(summary, [("b", 0.56, 1, vec![3, 1]), ("c", 0.69, 2, vec![2, 2]), ("d", 1.04, 2, vec![2, 1, 1])]);
    assert_eq!(findings[0].sentence, "differs from run to run at the layer code: a.py:5 ran in 3 of 4 runs");
}

#[test]
fn suite_variance_can_be_below_or_above_that_of_its_tests() {
    let suite_and_average = |tests: &[&[Option<&str>]]| {
        let layer = measure(Layer::Code, tests).measurement.layers.remove(0);
        (rounded(layer.suite.unwrap().entropy), rounded(layer.entropy))
    };
    // Lines that one test leaves out the other runs.
    let cancel: [&[Option<&str>]; 2] = [&[Some("1 2"), Some("1")], &[Some("1"), Some("1 2")]];
    assert_eq!(suite_and_average(&cancel), (0.0, 0.69));
    // Each test has a line of its own that varies independently.
    let add: [&[Option<&str>]; 2] =
        [&[Some("1 2"), Some("1 2"), Some("1"), Some("1")], &[Some("1 3"), Some("1"), Some("1 3"), Some("1")]];
    assert_eq!(suite_and_average(&add), (1.39, 0.69));
}

#[test]
fn missing_recordings_are_not_zero_variance() {
    let unseen = measure(Layer::Code, &[&[None, None]]).measurement;
    assert_eq!((unseen.layers.len(), &unseen.unseen[..]), (0, &[Layer::Code][..]));
    // One run of one test is missing: two remain for it and for the suite.
    let some = measure(Layer::Code, &[&[Some("1"), None, Some("1 2")], &[Some("1"), Some("1"), Some("1")]]).measurement;
    let layer = &some.layers[0];
    assert_eq!((layer.tests, layer.suite.as_ref().unwrap().runs), (2, 2));
    assert_eq!((layer.false_positives.seen, layer.false_positives.of), (1, 3));
    let once = measure(Layer::Code, &[&[Some("1")]]).measurement;
    assert_eq!((once.layers[0].tests, &once.layers[0].suite), (0, &None));
}

#[test]
fn values_are_reported_with_their_runs() {
    let runs = [Some("verdict=passed"), Some("verdict=failed"), Some("verdict=passed")];
    let found = measure(Layer::Verdict, &[&runs]).findings.remove(0);
    assert!(found.sentence.ends_with("verdict: passed (2 runs), failed (1 run)"), "{}", found.sentence);
    let Detail::Layer(LayerDifference { failures: Some(failures), spread, .. }) = found.detail else { panic!() };
    assert_eq!((failures.seen, failures.of, spread.range), (1, 3, 1));
    assert!(failures.low < 0.1 && failures.high > 0.7);
}

#[test]
fn a_unit_with_another_value_in_every_run_comes_last() {
    let runs = [Some("id=a n=3"), Some("id=b n=3"), Some("id=c n=4")];
    let found = measure(Layer::Interface, &[&runs]).findings.remove(0);
    let Detail::Layer(LayerDifference { units, .. }) = found.detail else { panic!() };
    assert_eq!(units.iter().map(|unit| unit.unit.what.as_str()).collect::<Vec<_>>(), ["n", "id"]);
}

#[test]
fn adjacent_lines_that_vary_together_are_merged() {
    let runs = [Some("1 2 3 4 9"), Some("1 9"), Some("1 2 3 9")];
    let found = measure(Layer::Code, &[&runs]).findings.remove(0);
    let Detail::Layer(found) = found.detail else { panic!() };
    let places: Vec<_> = found.units.iter().map(|unit| (unit.place(), unit.seen[0].runs)).collect();
    assert_eq!(places, [("a.py:2-3".to_owned(), 2), ("a.py:4".to_owned(), 1)]);
    assert_eq!(found.spread.range, 3);
}

#[test]
fn an_order_counts_only_if_nothing_else_differs() {
    let range = |runs: &[Option<&str>]| {
        let found = measure(Layer::Interface, &[runs]).findings.remove(0);
        let Detail::Layer(found) = found.detail else { panic!() };
        (found.spread.range, found.units.iter().map(|unit| unit.unit.what.clone()).collect::<BTreeSet<_>>())
    };
    assert_eq!(range(&[Some("x y order=1"), Some("x y order=2")]), (1, BTreeSet::from(["order".to_owned()])));
    assert_eq!(range(&[Some("x y order=1"), Some("x order=2")]), (1, BTreeSet::from(["y".to_owned()])));
}

#[test]
fn the_first_line_of_a_different_order_is_reported() {
    // A comma stands for a line break.
    let runs = [Some("x order=a,b,c"), Some("x order=a,c,b"), Some("x order=a,b,c"), Some("x order=a,b,d")];
    let found = measure(Layer::Interface, &[&runs]).findings.remove(0);
    assert!(found.sentence.ends_with("order: b is line 2 (3 runs), c is line 2 (1 run)"), "{}", found.sentence);
}

#[test]
fn unmatched_names_prevent_the_run() {
    let config = MeasureConfig {
        only: Some(vec!["x".to_owned()]),
        runs: 2,
        configurations: Vec::new(),
        layers: Vec::new(),
        fresh_by: Isolation::Fork,
        seconds: 1.0,
    };
    let mut measure = Measure::new(config);
    measure.observe(&listed(&["a"], false), Recordings::EMPTY);
    assert!(measure.next_sessions(Recordings::EMPTY).is_empty());
    assert_eq!(measure.unmatched_names(), ["x"]);
}

/// Whatever keeps one from running leaves the others.
#[test]
fn a_configuration_that_cannot_run_ends_alone() {
    let runs = vec![RunCircumstances::default(); 3];
    let configuration = |name: &str| RunConfiguration { name: name.to_owned(), runs: runs.clone(), missing: None };
    let config = MeasureConfig {
        only: None,
        runs: 3,
        configurations: vec![configuration("one"), configuration("other")],
        layers: vec![Layer::Code],
        fresh_by: Isolation::Fork,
        seconds: f64::INFINITY,
    };
    let (mut measure, mut layers) = (Measure::new(config), LayerLiterals::default());
    measure.observe(&listed(&["a"], false), Recordings::EMPTY);
    let mut sessions = 0;
    while let Some(session) = measure.next_sessions(Recordings::EMPTY).pop() {
        sessions += 1;
        if session.id.0 % 2 == 0 {
            let (left, why) = (session.tests.clone(), Some("no module pytest".to_owned()));
            measure.observe(&Event::SessionEnded { session: session.id, left, why }, Recordings::EMPTY);
            continue;
        }
        layers.attempt(Layer::Code, Some("1"));
        let attempt = attempt(&session, &session.tests[0], Outcome::Passed);
        measure.observe(&Event::AttemptEnded(attempt), Recordings::EMPTY);
    }
    assert_eq!(sessions, 4, "three of one and one of the other");
    let measured = measure.measured(Recordings { layers: &layers, ..Recordings::EMPTY });
    assert_eq!((measured.configurations[0].runs, measured.configurations[1].runs), (3, 0));
    assert_eq!(measured.configurations[1].missing.as_deref(), Some("no module pytest"));
}

/// Configurations take turns, each run has its world and order, and one that cannot be run has none.
#[test]
fn configurations_are_measured_in_turns() {
    let world = |seed| World { seed: Some(seed), ..World::default() };
    let run = |seed| RunCircumstances { world: Some(world(seed)), order: Some(seed) };
    let configuration = |name: &str, runs: Vec<RunCircumstances>| RunConfiguration {
        name: name.to_owned(),
        missing: runs.is_empty().then(|| "not here".to_owned()),
        runs,
    };
    let config = MeasureConfig {
        only: None,
        runs: 2,
        configurations: vec![
            configuration("best", vec![RunCircumstances { world: Some(world(0)), order: None }; 2]),
            configuration("gone", Vec::new()),
            configuration("uncontrolled", vec![run(3), run(4)]),
        ],
        layers: vec![Layer::Code],
        fresh_by: Isolation::Fork,
        seconds: f64::INFINITY,
    };
    let names = ["a", "b", "c", "d", "e", "f"];
    let (mut measure, mut layers) = (Measure::new(config), LayerLiterals::default());
    measure.observe(&listed(&names, false), Recordings::EMPTY);
    let (mut seen, mut orders) = (Vec::new(), Vec::new());
    while let Some(session) = measure.next_sessions(Recordings::EMPTY).pop() {
        assert_eq!(session.place, Placement::Fresh(Isolation::Process));
        let seed = session.under.as_ref().and_then(|world| world.seed).unwrap();
        seen.push(seed);
        orders.push(session.tests.clone());
        for test in &session.tests {
            layers.attempt(Layer::Code, Some(if seed == 4 && test.as_str() == "a" { "1 2" } else { "1" }));
            let attempt = attempt(&session, test, Outcome::Passed);
            measure.observe(&Event::AttemptEnded(attempt), Recordings::EMPTY);
        }
    }
    assert_eq!(seen, [0, 3, 0, 4]);
    assert!(orders[0] == orders[2] && orders[1] != orders[0] && orders[3] != orders[1], "{orders:?}");
    let recordings = Recordings { layers: &layers, ..Recordings::EMPTY };
    let measured = measure.measured(recordings);
    assert!(measured.layers.is_empty());
    let of = |at: usize| &measured.configurations[at];
    assert_eq!((of(0).runs, of(1).runs, of(2).runs), (2, 0, 2));
    assert_eq!((of(0).layers[0].differing, of(2).layers[0].differing), (0, 1));
    assert!((of(2).layers[0].entropy - 2_f64.ln() / 6.0).abs() < 1e-9);
    assert_eq!(
        (of(0).settings.clone(), of(2).drawn.clone()),
        (vec!["--seed=0".to_owned()], vec!["seed".into(), "order".into()])
    );
    assert_eq!(of(1).missing.as_deref(), Some("not here"));
    let found = measure.findings(recordings);
    let detail = |finding: &Finding| match &finding.detail {
        Detail::Layer(layer) => layer.configuration.clone(),
        _ => None,
    };
    assert_eq!(found.iter().map(detail).collect::<Vec<_>>(), [Some("uncontrolled".to_owned())]);
}
