//! Reads the Common Test Report Format (CTRF): one JSON document, streamed test by test.

use std::fmt;
use std::io::BufRead;
use std::ops::ControlFlow;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use unflake_model::{Failure, Outcome, Phase};

use crate::bounded_text;
use crate::timestamp;
use crate::{ReportedAttempt, ReportedTest, TestSink};

/// Upper bound for a document: a single string can be as long as all of it, and serde keeps it in
/// memory.
const MAX_BYTES: u64 = 512 << 20;
/// The error that stops the deserializer when the sink wants no further tests.
const STOPPED: &str = "enough";

pub(crate) fn read(source: impl BufRead, sink: &mut TestSink) -> Result<(), String> {
    let mut source = source.take(MAX_BYTES);
    let (mut found, mut start) = (false, None);
    let mut reader = serde_json::Deserializer::from_reader(&mut source);
    let result = TestsAtPath { sink, path: &["results", "tests"], found: &mut found, start: &mut start }
        .deserialize(&mut reader);
    match result {
        Err(_) if source.limit() == 0 => Err(format!("it is larger than {} MiB", MAX_BYTES >> 20)),
        Err(error) if error.to_string().starts_with(STOPPED) => Ok(()),
        Err(error) if error.is_eof() => Err("it is truncated".to_owned()),
        Err(error) => Err(format!("it is not CTRF: {error}")),
        Ok(()) if !found => Err("it has no `tests` in `results`".to_owned()),
        Ok(()) => Ok(()),
    }
}

/// Descends along a path of keys to an array, and passes each of its elements to the sink.
struct TestsAtPath<'a, 'b> {
    sink: &'a mut TestSink<'b>,
    path: &'static [&'static str],
    found: &'a mut bool,
    /// Start of the whole run, which the document gives before its tests.
    start: &'a mut Option<f64>,
}

impl<'de> DeserializeSeed<'de> for TestsAtPath<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        if self.path.is_empty() { reader.deserialize_seq(self) } else { reader.deserialize_map(self) }
    }
}

impl<'de> Visitor<'de> for TestsAtPath<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(if self.path.is_empty() { "a list of tests" } else { "an object" })
    }

    fn visit_map<M: MapAccess<'de>>(mut self, mut map: M) -> Result<(), M::Error> {
        while let Some(name) = map.next_key::<String>()? {
            if name == self.path[0] {
                let Self { sink, path, found, start } = &mut self;
                map.next_value_seed(TestsAtPath { sink: &mut **sink, path: &path[1..], found, start })?;
            } else if name == "summary" {
                *self.start = map.next_value::<Value>()?["start"].as_f64();
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<(), S::Error> {
        *self.found = true;
        while let Some(test) = list.next_element::<CtrfTest>()? {
            if let ControlFlow::Break(()) = (self.sink)(reported_test(test, *self.start)) {
                return Err(S::Error::custom(STOPPED));
            }
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CtrfTest {
    #[serde(default)]
    name: String,
    #[serde(default)]
    suite: Value,
    file_path: Option<String>,
    line: Option<u32>,
    start: Option<f64>,
    #[serde(default)]
    flaky: bool,
    #[serde(default)]
    retries: u32,
    #[serde(default)]
    retry_attempts: Vec<CtrfAttempt>,
    #[serde(flatten)]
    last: CtrfAttempt,
}

#[derive(Deserialize)]
struct CtrfAttempt {
    #[serde(default)]
    status: String,
    #[serde(default)]
    duration: f64,
    message: Option<String>,
    trace: Option<String>,
    /// Number of the attempt, counted from 1.
    attempt: Option<u32>,
}

fn reported_test(test: CtrfTest, start: Option<f64>) -> ReportedTest {
    let mut retried = test.retry_attempts;
    retried.sort_by_key(|one| one.attempt);
    let mut attempts: Vec<ReportedAttempt> = retried.iter().take(1000).map(attempt_of).collect();
    // Some writers include the last attempt among the retries, others do not.
    if attempts.len() <= test.retries as usize {
        attempts.push(attempt_of(&test.last));
    }
    let last = attempts.last().is_some_and(|last| last.outcome == Outcome::Passed);
    if test.flaky && last && attempts.len() == 1 {
        let failure =
            CtrfAttempt { status: "failed".to_owned(), duration: 0.0, message: None, trace: None, attempt: None };
        let missed = test.retries.clamp(1, 1000) as usize;
        attempts.splice(0..0, std::iter::repeat_with(|| attempt_of(&failure)).take(missed));
    }
    let suite = match &test.suite {
        Value::String(suite) => suite.clone(),
        Value::Array(suites) => suites.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" > "),
        _ => String::new(),
    };
    // A name with `::` in it is a full id.
    let group = if suite.is_empty() { test.file_path.clone().unwrap_or_default() } else { suite };
    let id = if group.is_empty() || test.name.contains("::") { test.name } else { format!("{group} {}", test.name) };
    ReportedTest {
        id: bounded_text::name(id),
        file: test.file_path,
        line: test.line,
        when: test.start.or(start).and_then(timestamp::from_milliseconds),
        before: None,
        attempts,
    }
}

fn attempt_of(attempt: &CtrfAttempt) -> ReportedAttempt {
    let outcome = match attempt.status.as_str() {
        "passed" => Outcome::Passed,
        "failed" => Outcome::Failed,
        _ => Outcome::Skipped,
    };
    let seconds = (attempt.duration / 1000.0).clamp(0.0, 1e9);
    let failure = (outcome != Outcome::Passed).then(|| Failure {
        phase: Phase::Call,
        kind: String::new(),
        message: bounded_text::message(attempt.message.as_deref().unwrap_or_default()),
        trace: bounded_text::trace(attempt.trace.as_deref().unwrap_or_default()),
        file: None,
        line: None,
    });
    ReportedAttempt { outcome, seconds: if seconds.is_nan() { 0.0 } else { seconds }, failure }
}
