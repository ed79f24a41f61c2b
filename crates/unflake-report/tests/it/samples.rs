//! Sample runs, and hostile text.

use proptest::prelude::*;
use unflake_model::{
    Attempt, Detail, EarlierRuns, EnvironmentId, Evidence, Failure, Feedback, Finding, Isolation, Outcome, Phase,
    Problem, ProblemKind, Purpose, Reproduction, Rung, SessionId, Test, TestId, Timestamp, Totals, Verdict,
    VerdictKind,
};
use unflake_report::{ExitMeaning, KnownFinding, RunReport, TerminalStyle};

pub(crate) const WIDE: TerminalStyle = TerminalStyle { colour: false, width: 100, unicode: true, lines: usize::MAX };
pub(crate) const NARROW: TerminalStyle = TerminalStyle { colour: false, width: 40, unicode: true, lines: usize::MAX };
pub(crate) const ASCII: TerminalStyle = TerminalStyle { colour: false, width: 100, unicode: false, lines: usize::MAX };
pub(crate) const COLOUR: TerminalStyle = TerminalStyle { colour: true, width: 100, unicode: true, lines: usize::MAX };

pub(crate) const TOTAL: &str = "tests/test_cart.py::test_total";
pub(crate) const RETRY: &str = "tests/test_mail.py::TestSending::test_retry";
pub(crate) const COLD: &str = "tests/test_cache.py::test_cold";

/// A run with owned data, as the binary has it at the end.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) command: Vec<String>,
    pub(crate) tests: Vec<Test>,
    pub(crate) deselected: u32,
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) notes: Vec<String>,
    pub(crate) left: Vec<TestId>,
    pub(crate) left_why: Option<String>,
    pub(crate) feedback: Vec<Feedback>,
    pub(crate) known: Vec<KnownFinding>,
    pub(crate) totals: Totals,
    pub(crate) flaky_gates: bool,
    pub(crate) exit: (u8, String),
}

impl Sample {
    pub(crate) fn new(code: u8, meaning: &str) -> Self {
        Self {
            command: vec!["pytest".into(), "tests/".into()],
            tests: Vec::new(),
            deselected: 0,
            attempts: Vec::new(),
            findings: Vec::new(),
            feedback: Vec::new(),
            known: Vec::new(),
            problems: Vec::new(),
            notes: Vec::new(),
            left: Vec::new(),
            left_why: None,
            totals: Totals { seconds: 14.21, rerun_seconds: 0.0, interrupted: false },
            flaky_gates: false,
            exit: (code, meaning.into()),
        }
    }

    /// Adds passing tests.
    pub(crate) fn passing(mut self, number: usize) -> Self {
        for at in 0..number {
            let id = format!("tests/test_shop.py::test_{at}");
            self.list(&id);
            self.attempts.push(attempt(&id, Outcome::Passed));
        }
        self
    }

    pub(crate) fn list(&mut self, id: &str) {
        let file = id.split("::").next().filter(|file| *file != id).map(Into::into);
        let line = file.is_some().then_some(12);
        self.tests.push(Test { id: TestId::new(id), file, line, command: Vec::new() });
    }

    /// Adds a test with its attempts.
    pub(crate) fn with(mut self, id: &str, attempts: impl IntoIterator<Item = Attempt>) -> Self {
        self.list(id);
        self.attempts
            .extend(attempts.into_iter().enumerate().map(|(run, attempt)| Attempt { run: run as u32, ..attempt }));
        self
    }

    pub(crate) fn found(mut self, finding: Finding) -> Self {
        self.findings.push(finding);
        self
    }

    pub(crate) fn run(&self) -> RunReport<'_> {
        RunReport {
            command: &self.command,
            runner: Some("pytest 8.3.4"),
            language: Some("CPython 3.11.7"),
            seed: Some(417),
            tests: &self.tests,
            deselected: self.deselected,
            attempts: &self.attempts,
            worlds: &[],
            findings: &self.findings,
            problems: &self.problems,
            notes: &self.notes,
            left: &self.left,
            left_why: self.left_why.as_deref(),
            totals: &self.totals,
            flaky_gates: self.flaky_gates,
            can_order: true,
            searched: None,
            known: &self.known,
            measured: None,
            quarantine: &[],
            feedback: &self.feedback,
            exit: ExitMeaning { code: self.exit.0, meaning: &self.exit.1 },
        }
    }

    pub(crate) fn summary(&self, style: &TerminalStyle, quiet: bool) -> String {
        written(|out| unflake_report::summary(&self.run(), style, quiet, out))
    }
}

pub(crate) fn written(write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

pub(crate) fn attempt(id: &str, outcome: Outcome) -> Attempt {
    Attempt {
        test: TestId::new(id),
        session: SessionId(0),
        purpose: Purpose::Suite,
        environment: EnvironmentId(0),
        origin: Isolation::Process,
        world: None,
        position: 0,
        run: 0,
        outcome,
        started: Timestamp(1_794_740_866_000_000),
        seconds: 0.25,
        load: None,
        failure: None,
        stdout: String::new(),
        stderr: String::new(),
    }
}

pub(crate) fn failing(id: &str, kind: &str, message: &str) -> Attempt {
    let failure = Failure {
        phase: Phase::Call,
        kind: kind.into(),
        message: message.into(),
        trace: format!("    def {}():\n>       {message}\nE       {kind}", id.rsplit("::").next().unwrap()),
        file: id.split("::").next().map(Into::into),
        line: Some(14),
    };
    Attempt { failure: Some(failure), ..attempt(id, Outcome::Failed) }
}

pub(crate) fn finding(id: &str, kind: VerdictKind, rung: Option<Rung>, sentence: &str) -> Finding {
    let evidence = Evidence {
        attempts: 2,
        failed: 1,
        fresh: None,
        after: 411,
        never_excuse: None,
        confirmed: None,
        not_rerun: None,
        other_seeds_failed: 0,
        left_files: Vec::new(),
        beside: Vec::new(),
        earlier: EarlierRuns::default(),
    };
    Finding {
        test: TestId::new(id),
        detail: Detail::Verdict(Verdict { kind, rung, evidence }),
        sentence: sentence.into(),
        reproduce: vec![Reproduction::fails(format!("pytest {id}"))],
        replays: Vec::new(),
    }
}

pub(crate) fn real(id: &str) -> Finding {
    finding(id, VerdictKind::Real, None, "failed 4 of 4 attempts, including a fresh environment")
}

pub(crate) fn collection_error() -> Problem {
    Problem {
        kind: ProblemKind::Collection,
        place: Some("tests/test_pay.py".into()),
        text: "tests/test_pay.py:3: in <module>\n    import payments\nE   ModuleNotFoundError: No module named 'payments'\n"
            .into(),
    }
}

/// One real failure and two flaky tests of different kinds.
pub(crate) fn mixed() -> Sample {
    let message = "assert Decimal('9.89') == Decimal('9.90')\n +  where Decimal('9.89') = total([Item('tea', 2)])";
    let total = || Attempt { stdout: "adding tea\nadding VAT\n".into(), ..failing(TOTAL, "AssertionError", message) };
    let mut sample = Sample::new(1, "1 real failure")
        .passing(3)
        .with(TOTAL, [total(), total(), total(), total()])
        .with(RETRY, [failing(RETRY, "TimeoutError", "gave up after 2 s"), attempt(RETRY, Outcome::Passed)])
        .with(
            COLD,
            [failing(COLD, "KeyError", "'vat'"), failing(COLD, "KeyError", "'vat'"), attempt(COLD, Outcome::Passed)],
        )
        .with("tests/test_os.py::test_windows", [attempt("tests/test_os.py::test_windows", Outcome::Skipped)])
        .with("tests/test_os.py::test_todo", [attempt("tests/test_os.py::test_todo", Outcome::ExpectedFailure)])
        .found(real(TOTAL))
        .found(finding(
            RETRY,
            VerdictKind::FlakyIndependent,
            Some(Rung::Immediate),
            "random: 1 of 2 attempts failed, passed in an immediate retry",
        ))
        .found(finding(
            COLD,
            VerdictKind::FlakyStateDependent,
            Some(Rung::Fresh),
            "order-dependent: 2 of 3 attempts failed, passed only in a fresh environment; 411 tests ran before it",
        ));
    sample.findings[2].reproduce =
        vec![Reproduction::fails("pytest tests/test_shop.py::test_0 tests/test_cache.py::test_cold")];
    sample.totals.rerun_seconds = 1.1;
    sample
}

/// Hostile text: escape sequences, workflow commands and XML specials, mixed with anything.
pub(crate) fn hostile() -> impl Strategy<Value = String> {
    let known = [
        "\x1b[31m",
        "\x1b[2J",
        "\x1b]0;title\x07",
        "\x1b[0",
        "\u{9b}31m",
        "\u{202e}",
        "\u{2066}",
        "\r",
        "\r\n",
        "\n",
        "\t",
        "\0",
        "\u{fffe}",
        "\u{ffff}",
        "##",
        "[",
        "##[error]",
        "::",
        "\n::error::x",
        " ",
        "漢字",
        "e\u{301}",
        "]]>",
        "<&\"'",
        "tests/a.py::test_b",
        "a-long-word-without-any-space-that-is-wider-than-forty-columns",
    ];
    let piece = prop_oneof![any::<String>(), proptest::sample::select(known.to_vec()).prop_map(str::to_owned)];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn outcome() -> impl Strategy<Value = Outcome> {
    use unflake_model::Death;
    proptest::sample::select(vec![
        Outcome::Passed,
        Outcome::Passed,
        Outcome::Failed,
        Outcome::Failed,
        Outcome::Error,
        Outcome::Skipped,
        Outcome::ExpectedFailure,
        Outcome::UnexpectedPass,
        Outcome::TimedOut,
        Outcome::Crashed(Death::Signal(11)),
        Outcome::Crashed(Death::Exit(3)),
    ])
}

fn any_failure() -> impl Strategy<Value = Option<Failure>> {
    let phase = proptest::sample::select(vec![Phase::SetUp, Phase::Call, Phase::TearDown, Phase::Process]);
    let texts = (hostile(), hostile(), hostile(), proptest::option::of(hostile()), proptest::option::of(any::<u32>()));
    let failure = (phase, texts).prop_map(|(phase, (kind, message, trace, file, line))| Failure {
        phase,
        kind,
        message,
        trace,
        file,
        line,
    });
    proptest::option::of(failure)
}

/// Arbitrary runs of a few tests with arbitrary names, consistent or not.
pub(crate) fn any_run() -> impl Strategy<Value = Sample> {
    let attempts = (0usize..6, outcome(), any_failure(), hostile(), hostile(), any::<f64>());
    let verdict =
        proptest::sample::select(vec![VerdictKind::Real, VerdictKind::FlakyBursty, VerdictKind::UnaffectedByChange]);
    let problem = (proptest::option::of(hostile()), hostile());
    (
        proptest::collection::vec(hostile(), 6),
        proptest::collection::vec(attempts, 0..14),
        proptest::collection::vec((0usize..6, verdict, hostile()), 0..4),
        proptest::collection::vec(problem, 0..3),
        proptest::collection::vec(hostile(), 0..2),
        (0usize..7, 0usize..3, any::<bool>(), any::<bool>(), proptest::option::of(hostile())),
    )
        .prop_map(|(names, attempts, findings, problems, notes, (listed, left, gates, interrupted, why))| {
            let mut sample = Sample::new(1, "something");
            names.iter().take(listed).for_each(|name| sample.list(name));
            sample.attempts = attempts
                .into_iter()
                .map(|(at, outcome, failure, stdout, stderr, seconds)| Attempt {
                    failure,
                    stdout,
                    stderr,
                    seconds,
                    ..attempt(&names[at], outcome)
                })
                .collect();
            sample.findings =
                findings.into_iter().map(|(at, kind, sentence)| finding(&names[at], kind, None, &sentence)).collect();
            sample.problems = problems
                .into_iter()
                .map(|(place, text)| Problem { kind: ProblemKind::Internal, place, text })
                .collect();
            sample.notes = notes;
            sample.left = names.iter().take(left).map(TestId::new).collect();
            sample.left_why = why;
            sample.flaky_gates = gates;
            sample.totals.interrupted = interrupted;
            sample
        })
}

/// Markdown without its code spans, which CommonMark delimits by backtick runs of equal length.
pub(crate) fn without_code(text: &str) -> String {
    let mut outside = String::new();
    for paragraph in text.split("\n\n") {
        let mut rest = paragraph;
        while let Some(at) = rest.find('`') {
            let run = rest[at..].chars().take_while(|c| *c == '`').count();
            // An escaped backtick starts no code span.
            let escaped = rest[..at].chars().rev().take_while(|c| *c == '\\').count() % 2 == 1;
            let after = &rest[at + run..];
            let end = runs(after).into_iter().find(|(_, length)| *length == run).map(|(from, _)| from + run);
            outside.push_str(&rest[..at]);
            rest = match end {
                Some(end) if !escaped => &after[end..],
                _ => after,
            };
        }
        outside.push_str(rest);
        outside.push_str("\n\n");
    }
    outside
}

/// Backtick runs: start and length.
fn runs(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(from) = text[at..].find('`') {
        let run = text[at + from..].chars().take_while(|c| *c == '`').count();
        found.push((at + from, run));
        at += from + run;
    }
    found
}
