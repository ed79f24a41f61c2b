//! Sample divergences with their sources.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use unflake_model::{
    Cause, Detail, Divergence, DivergenceKind, DivergencePoint, Feedback, Finding, Location, SourceLine, TestId,
    ValueSplit,
};
use unflake_report::{LocateReport, TerminalStyle, locate, locate_page};

use crate::samples::{hostile as text, written};

#[derive(Clone, Debug)]
pub(crate) struct DivergenceSample {
    pub(crate) finding: Finding,
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) reproduce: Option<String>,
    pub(crate) feedback: Option<Feedback>,
}

impl DivergenceSample {
    fn new(test: &str, reproduce: &str, divergence: Divergence) -> Self {
        let finding = Finding {
            test: TestId::new(test),
            detail: Detail::Divergence(divergence),
            sentence: "starts somewhere".into(),
            reproduce: Vec::new(),
            replays: Vec::new(),
        };
        Self { finding, files: BTreeMap::new(), reproduce: Some(reproduce.into()), feedback: None }
    }

    pub(crate) fn with(mut self, file: &str, from: usize, text: &str) -> Self {
        self.files.insert(file.into(), "\n".repeat(from - 1) + text);
        self
    }

    pub(crate) fn divergence(&mut self) -> &mut Divergence {
        match &mut self.finding.detail {
            Detail::Divergence(divergence) => divergence,
            other => panic!("{other:?}"),
        }
    }

    fn located<T>(&self, show: impl FnOnce(&LocateReport) -> T) -> T {
        let sources = |file: &str| self.files.get(file).map(|text| text.split('\n').map(str::to_owned).collect());
        show(&LocateReport {
            page: Some(".unflake/reports/test_retry.html"),
            reproduce: self.reproduce.as_deref(),
            feedback: self.feedback.as_ref(),
            ..LocateReport::new(&self.finding, &sources, 14.21)
        })
    }

    pub(crate) fn terminal(&self, style: &TerminalStyle, quiet: bool) -> String {
        self.located(|located| written(|out| locate(located, style, quiet, out)))
    }

    pub(crate) fn page(&self) -> String {
        self.located(|located| written(|out| locate_page(located, out)))
    }
}

pub(crate) fn line(file: &str, line: u32, function: &str) -> SourceLine {
    SourceLine { file: file.into(), line, function: function.into() }
}

fn lines(file: &str, function: &str, numbers: impl IntoIterator<Item = u32>) -> Vec<SourceLine> {
    numbers.into_iter().map(|number| line(file, number, function)).collect()
}

fn strings<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}

fn point(
    runs: u32,
    common: u64,
    before: Vec<SourceLine>,
    failing: Vec<SourceLine>,
    passing: Vec<SourceLine>,
) -> DivergencePoint {
    DivergencePoint {
        runs,
        strand: "main".into(),
        common,
        last: before.last().cloned(),
        passing,
        failing,
        before,
        calls: Vec::new(),
        messages: Vec::new(),
        elsewhere: Vec::new(),
    }
}

/// A random number determines the outcome.
pub(crate) fn drawn() -> DivergenceSample {
    let file = "mail/backoff.py";
    let delay = |numbers: &[u32]| lines(file, "Backoff.delay", numbers.iter().copied());
    let start = Location {
        line: line(file, 18, "Backoff.delay"),
        how: DivergenceKind::Value,
        failing: 11,
        passing: 0,
        chance: 3.4e-8,
        sentence: "jitter ≥ 0.93 in all 11 failing runs, never in 39 passing ones".into(),
        value: Some(ValueSplit {
            name: "jitter".into(),
            failing: strings(["0.93 – 0.99"]),
            passing: strings(["0.01 – 0.92"]),
        }),
        rejected: false,
    };
    let parts = Location {
        line: line(file, 20, "Backoff.delay"),
        how: DivergenceKind::Control,
        failing: 11,
        passing: 0,
        chance: 3.4e-8,
        sentence: "line 21 follows in all 11 failing runs, never in 39 passing ones".into(),
        value: None,
        rejected: false,
    };
    let divergence = Divergence {
        kind: Cause::Randomness,
        because: "mail/backoff.py:18 reaches for random.random".into(),
        locations: vec![start, parts],
        shows: Some(line("tests/test_mail.py", 52, "test_retry")),
        runs: 50,
        failed: 11,
        timed_out: 2,
        points: vec![DivergencePoint {
            calls: vec![
                line("tests/test_mail.py", 51, "test_retry"),
                line("mail/send.py", 33, "Mailer.send"),
                line(file, 20, "Backoff.delay"),
            ],
            messages: vec![("GaveUp: no answer within 2 s".into(), 11)],
            ..point(11, 1284, delay(&[17, 18, 19, 20]), delay(&[21]), delay(&[22]))
        }],
        unknown: Vec::new(),
        proof: None,
    };
    DivergenceSample::new("tests/test_mail.py::test_retry", "pytest tests/test_mail.py::test_retry", divergence)
        .with(
            file,
            15,
            "    def delay(self, attempt):\n        \"\"\"Doubles each time.\"\"\"\n        base = 0.1 * 2 ** attempt\n        \
             jitter = random.random()\n        delay = base * (1 + jitter)\n        if delay > self.limit:\n            \
             raise GaveUp(f\"no answer within {self.limit} s\")\n        sleep(delay)\n        return delay\n",
        )
        .with("tests/test_mail.py", 49, "\ndef test_retry(server):\n    mailer = Mailer(server)\n    mailer.send(LETTER)\n")
        .with("mail/send.py", 32, "        for attempt in range(9):\n            self.backoff.delay(attempt)\n")
}

/// The paths differ without a deciding value. One failure in three has another path.
pub(crate) fn two_points() -> DivergenceSample {
    let file = "shop/queue.py";
    let take = |numbers: &[u32]| lines(file, "Queue.take", numbers.iter().copied());
    let location = |line, failing, chance, sentence: &str| Location {
        line,
        how: DivergenceKind::Control,
        failing,
        passing: 1,
        chance,
        sentence: sentence.into(),
        value: None,
        rejected: false,
    };
    let locations = vec![
        location(
            line(file, 41, "Queue.take"),
            6,
            0.004,
            "the wait ends without the item in 6 of 9 failing runs, in 1 of 41 passing ones",
        ),
        location(
            line("shop/worker.py", 12, "run"),
            3,
            0.2,
            "the worker is stopped before it has begun in 3 of 9 failing runs",
        ),
    ];
    let before = take(&[39, 40, 41, 43, 40, 41]);
    let mut first = point(6, 530, before, take(&[42]), take(&[43, 40, 44]));
    first.messages =
        vec![("Empty: the queue is empty".into(), 5), ("AssertionError: assert None == 'a'\nassert None".into(), 1)];
    first.elsewhere = vec![("worker".into(), Some(line("shop/worker.py", 14, "run"))), ("task poll".into(), None)];
    let mut second = point(3, 0, Vec::new(), Vec::new(), lines("shop/worker.py", "run", [12, 13]));
    second.strand = "worker".into();
    second.messages = vec![("RuntimeError: cannot join thread before it is started".into(), 3)];
    let divergence = Divergence {
        kind: Cause::AsyncWait,
        because: "shop/queue.py:41 waits for a time, and another thread does what it waits for".into(),
        locations,
        shows: Some(line("tests/test_queue.py", 9, "test_take")),
        runs: 50,
        failed: 9,
        timed_out: 0,
        points: vec![first, second],
        unknown: strings(["2 of 50 traces are truncated after 10,000,000 lines", "what native code did was not seen"]),
        proof: None,
    };
    DivergenceSample::new("tests/test_queue.py::test_take", "pytest tests/test_queue.py::test_take", divergence)
        .with(
            file,
            38,
            "    def take(self):\n        deadline = now() + self.patience\n        while not self.items:\n            if now() > \
             deadline:\n                raise Empty(\"the queue is empty\")\n            self.wait()\n        return \
             self.items.pop()\n",
        )
        .with("shop/worker.py", 10, "\ndef run(queue, orders):\n    for order in orders:\n        queue.put(order)\n")
}

/// The same lines in another order, in files that no longer exist.
pub(crate) fn another_order() -> DivergenceSample {
    let divergence = Divergence {
        kind: Cause::Race,
        because: "two threads go through src/count.rs:7 and the order of their turns tells failing runs apart".into(),
        locations: vec![Location {
            line: line("src/count.rs", 7, "count::add"),
            how: DivergenceKind::Order,
            failing: 4,
            passing: 0,
            chance: 0.00002,
            sentence: "the second thread comes by before the first has stored in all 4 failing runs".into(),
            value: None,
            rejected: false,
        }],
        shows: None,
        runs: 30,
        failed: 4,
        timed_out: 0,
        points: Vec::new(),
        unknown: Vec::new(),
        proof: None,
    };
    DivergenceSample::new("count::adds_up", "cargo test -- --exact count::adds_up", divergence)
}

/// The deciding line, the divergence point and the failure are far from each other.
pub(crate) fn distant_locations() -> DivergenceSample {
    let file = "shop/rates.py";
    let mut case = drawn();
    case.files = (1..=40).fold(BTreeMap::new(), |mut files, number| {
        *files.entry(file.to_owned()).or_insert_with(String::new) += &format!("\t\tstep({number})\n");
        files
    });
    let divergence = case.divergence();
    divergence.locations[0].line = line(file, 5, "load");
    divergence.locations[0].value = Some(ValueSplit {
        name: "rates".into(),
        failing: strings(["['a', 'b']", "[]", "None", "7"]),
        passing: Vec::new(),
    });
    divergence.kind = Cause::UnorderedCollection;
    divergence.points[0].failing = vec![line("shop/errors.py", 3, "Missing.__init__")];
    divergence.points[0].passing = vec![line(file, 38, "apply")];
    divergence.points[0].before = vec![line(file, 30, "apply")];
    divergence.points[0].last = Some(line(file, 30, "apply"));
    case
}

/// Failing and passing runs cannot be distinguished.
pub(crate) fn unknown() -> DivergenceSample {
    let divergence = Divergence {
        kind: Cause::Unknown,
        because: String::new(),
        locations: Vec::new(),
        shows: Some(line("tests/test_api.py", 30, "test_ping")),
        runs: 50,
        failed: 2,
        timed_out: 0,
        points: Vec::new(),
        unknown: strings(["all runs go through the same 212 lines with the same values"]),
        proof: None,
    };
    let mut case = DivergenceSample::new("tests/test_api.py::test_ping", "", divergence);
    case.reproduce = None;
    case
}

/// All texts are hostile.
pub(crate) fn hostile() -> DivergenceSample {
    let evil = "<script>alert(1)</script>\x1b[31m&\"'";
    let file = format!("a/{evil}.py");
    let at = |number| line(&file, number, evil);
    let location = |number: u32| Location {
        line: at(number),
        how: DivergenceKind::Value,
        failing: 2,
        passing: 1,
        chance: f64::NAN,
        sentence: format!("{evil} ::error::x ##[error]"),
        value: Some(ValueSplit {
            name: evil.into(),
            failing: vec![evil.into(), "x".repeat(10_000)],
            passing: vec!["\u{202e}1".into(), "\n::set-env::".into(), "</td>".into(), "--><!--".into()],
        }),
        rejected: false,
    };
    let mut point = point(2, u64::MAX, vec![at(1), at(u32::MAX)], vec![at(3); 100], vec![at(2), at(5), at(5)]);
    point.strand = evil.into();
    point.calls = vec![at(1)];
    point.messages = (0..30).map(|_| (format!("\n{evil}\n{}", "y".repeat(10_000)), 1)).collect();
    point.elsewhere = vec![(evil.into(), Some(at(4)))];
    let divergence = Divergence {
        kind: Cause::Io,
        because: format!("{evil}\n\n"),
        locations: vec![location(1), location(2), location(3), location(4), location(5), location(6), location(9)],
        shows: Some(at(4)),
        runs: 3,
        failed: 2,
        timed_out: 7,
        points: vec![point.clone(), point],
        unknown: vec![evil.into(); 40],
        proof: None,
    };
    let long = "z".repeat(10_000);
    DivergenceSample::new(evil, evil, divergence).with(
        &file,
        1,
        &format!("{evil}\n\t{long}\n\u{202e}::warning::\n\n]]>\n"),
    )
}

fn any_line() -> impl Strategy<Value = SourceLine> {
    let number = prop_oneof![0u32..12, any::<u32>()];
    let file = prop_oneof![Just("file".to_owned()), text()];
    (file, number, text()).prop_map(|(file, line, function)| SourceLine { file, line, function })
}

fn any_location() -> impl Strategy<Value = Location> {
    let how = prop_oneof![Just(DivergenceKind::Control), Just(DivergenceKind::Value), Just(DivergenceKind::Order)];
    let number = prop_oneof![
        text(),
        Just("1".to_owned()),
        Just("0.1 – 1e300".to_owned()),
        any::<f64>().prop_map(|n| n.to_string())
    ];
    let values = vec(number, 0..15);
    let split =
        (text(), values.clone(), values).prop_map(|(name, failing, passing)| ValueSplit { name, failing, passing });
    (any_line(), how, any::<[u32; 2]>(), any::<f64>(), text(), proptest::option::of(split)).prop_map(
        |(line, how, [failing, passing], chance, sentence, value)| Location {
            line,
            how,
            failing,
            passing,
            chance,
            sentence,
            value,
            rejected: false,
        },
    )
}

fn any_parting() -> impl Strategy<Value = DivergencePoint> {
    let lines = || vec(any_line(), 0..20);
    let elsewhere = vec((text(), proptest::option::of(any_line())), 0..4);
    let messages = vec((text(), any::<u32>()), 0..4);
    (any::<u32>(), text(), any::<u64>(), lines(), lines(), lines(), lines(), messages, elsewhere).prop_map(
        |(runs, strand, common, before, failing, passing, calls, messages, elsewhere)| DivergencePoint {
            strand,
            calls,
            messages,
            elsewhere,
            ..point(runs, common, before, failing, passing)
        },
    )
}

/// Arbitrary divergences, consistent or not.
pub(crate) fn any_divergence() -> impl Strategy<Value = DivergenceSample> {
    let finding = (text(), text(), 0usize..12, vec(any_location(), 0..4), proptest::option::of(any_line()));
    let rest = (any::<[u32; 3]>(), vec(any_parting(), 0..3), vec(text(), 0..4), vec(text(), 0..12));
    (finding, rest).prop_map(
        |((test, because, kind, locations, shows), ([runs, failed, timed_out], points, unknown, source))| {
            let kind = Cause::ALL[kind];
            let divergence =
                Divergence { kind, because, locations, shows, runs, failed, timed_out, points, unknown, proof: None };
            DivergenceSample::new(&test, &test, divergence).with("file", 1, &source.join("\n"))
        },
    )
}
