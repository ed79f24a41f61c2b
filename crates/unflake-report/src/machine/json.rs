//! Writes the document of `--json`. `docs/book/machine-output.md` describes its fields.

use std::io::{self, BufWriter, Write};

use serde::Serialize;
use serde_json::json;
use serde_json::ser::Formatter;
use unflake_model::{
    Attempt, Confidence, Detail, Feedback, Finding, Fingerprint, Measurement, Problem, QuarantineResult, Searched,
    Test, TestId, Totals, World, WorldId,
};

use crate::causes::causes;
use crate::next_step::{NextStep, next_of_verdict};
use crate::text::sanitize;
use crate::{ExitMeaning, RunReport};

/// Incremented when a field changes its meaning or is removed, not for new fields.
const SCHEMA: u32 = 2;

/// Borrows everything: a run of 20,000 tests is serialized in place, not copied.
#[derive(Serialize)]
struct JsonDocument<'a> {
    schema: u32,
    command: &'a str,
    runner_command: &'a [String],
    runner: Option<&'a str>,
    language: Option<&'a str>,
    seed: Option<u64>,
    exit: ExitMeaning<'a>,
    totals: &'a Totals,
    deselected: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    searched: Option<&'a Searched>,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<&'a Measurement>,
    findings: Vec<JsonFinding<'a>>,
    problems: &'a [Problem],
    notes: &'a [String],
    left: &'a [TestId],
    left_why: Option<&'a str>,
    #[serde(skip_serializing_if = "<[QuarantineResult]>::is_empty")]
    quarantine: &'a [QuarantineResult],
    tests: &'a [Test],
    worlds: Vec<JsonWorld<'a>>,
    attempts: &'a [Attempt],
}

/// A world with what follows from it.
#[derive(Serialize)]
struct JsonWorld<'a> {
    id: WorldId,
    #[serde(flatten)]
    world: &'a World,
    /// Of `unflake under`.
    options: Vec<String>,
}

/// A finding with what follows from it.
#[derive(Serialize)]
struct JsonFinding<'a> {
    id: Fingerprint,
    cause: Fingerprint,
    confidence: Option<Confidence>,
    #[serde(flatten)]
    finding: &'a Finding,
    /// Absent where the technique itself adds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<serde_json::Value>,
    /// The command that looks for the cause. None: it is known, or there is nothing to find out.
    next: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_useful: Option<&'a Feedback>,
}

impl<'a> JsonFinding<'a> {
    fn new(run: &'a RunReport<'a>, finding: &'a Finding, cause: Fingerprint) -> Self {
        let next = match next_of_verdict(run, finding) {
            Some(NextStep::Command(next)) => Some(next.command),
            Some(NextStep::Diagnosed(_)) | None => None,
        };
        let not_useful = run.not_useful(finding);
        let evidence = evidence(finding);
        Self { id: finding.id(), cause, confidence: finding.confidence(), finding, evidence, next, not_useful }
    }
}

fn evidence(finding: &Finding) -> Option<serde_json::Value> {
    match &finding.detail {
        Detail::Divergence(divergence) => {
            let p_value = divergence.locations.first().map(|start| start.chance);
            Some(json!({ "runs": divergence.runs, "failed": divergence.failed, "p_value": p_value }))
        }
        Detail::Factor(influence) => {
            Some(json!({ "rate": influence.rate, "baseline": influence.baseline, "p_value": influence.p_value }))
        }
        _ => None,
    }
}

/// Writes the run as one JSON document. `command` is the unflake command, such as `run`.
pub fn json(run: &RunReport, command: &str, out: &mut dyn Write) -> io::Result<()> {
    let findings = run.findings.iter().zip(causes(run.findings));
    let document = JsonDocument {
        schema: SCHEMA,
        command,
        runner_command: run.command,
        runner: run.runner,
        language: run.language,
        seed: run.seed,
        exit: run.exit,
        totals: run.totals,
        deselected: run.deselected,
        searched: run.searched,
        measured: run.measured,
        findings: findings.map(|(finding, cause)| JsonFinding::new(run, finding, cause)).collect(),
        problems: run.problems,
        notes: run.notes,
        left: run.left,
        left_why: run.left_why,
        quarantine: run.quarantine,
        tests: run.tests,
        worlds: run.worlds.iter().map(|world| JsonWorld { id: world.id(), world, options: world.options() }).collect(),
        attempts: run.attempts,
    };
    let mut out = BufWriter::new(out);
    document.serialize(&mut serde_json::Serializer::with_formatter(&mut out, LineFormatter::default()))?;
    writeln!(out)?;
    out.flush()
}

/// One line per field of the document and per element of its lists, for `grep` and `diff`.
#[derive(Default)]
struct LineFormatter {
    depth: u32,
}

impl LineFormatter {
    fn separate<W: ?Sized + Write>(&self, out: &mut W, first: bool, deepest: u32) -> io::Result<()> {
        out.write_all(if first { b"" } else { b"," })?;
        if self.depth <= deepest { out.write_all(b"\n") } else { Ok(()) }
    }
}

impl Formatter for LineFormatter {
    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        out.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth -= 1;
        out.write_all(if self.depth == 0 { b"\n}" } else { b"}" })
    }

    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        out.write_all(b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth -= 1;
        out.write_all(b"]")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.separate(out, first, 1)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.separate(out, first, 2)
    }

    /// JSON allows some control characters unescaped; this file may be shown on a terminal.
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(|c: char| c.is_control() || sanitize::is_hidden(c)) {
            let (before, tail) = rest.split_at(at);
            out.write_all(before.as_bytes())?;
            let c = tail.chars().next().expect("one was found there");
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            rest = &tail[c.len_utf8()..];
        }
        out.write_all(rest.as_bytes())
    }
}
