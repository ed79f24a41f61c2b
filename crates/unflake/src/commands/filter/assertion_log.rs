//! Reads the log in which an agent writes every evaluation of an assertion.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use unflake_model::{AssertionKey, AssertionOutcome, AssertionRecord, Event};
use unflake_observe::layers::{Said, Value, read};

use crate::hash::hex;

/// Longer texts are truncated, and end with a hash of the whole.
const LONGEST: usize = 300;
/// The number of failing evaluations of an assertion that are kept.
const MOST_FAILING: usize = 20;

/// The evaluations of one assertion.
struct Evaluated {
    worst: AssertionOutcome,
    values: Vec<String>,
    failing: Vec<String>,
}

/// Each assertion once, with all its evaluations. A truncated or damaged file is read as far as possible.
pub(crate) fn read_log(path: &Path) -> Vec<AssertionRecord> {
    let Ok(file) = File::open(path) else { return Vec::new() };
    let mut all: BTreeMap<(AssertionKey, u32), Evaluated> = BTreeMap::new();
    let _ = read(BufReader::new(file), |record| {
        let Said::Assert { site, how, saw } = record else { return };
        let how = match how.as_str() {
            "held" => AssertionOutcome::Held,
            "failed" => AssertionOutcome::Failed,
            "filtered" => AssertionOutcome::Filtered,
            _ => AssertionOutcome::Raised,
        };
        let spot = AssertionKey {
            file: site.file.to_string(),
            function: site.function.clone(),
            expression: site.expression.clone(),
            ordinal: site.ordinal,
        };
        let lines: Vec<String> = saw.iter().map(|(name, value)| format!("{name} = {}", one_line(value))).collect();
        let values = lines.join("\n");
        let of =
            all.entry((spot, site.line)).or_insert(Evaluated { worst: how, values: Vec::new(), failing: Vec::new() });
        of.worst = how.max(of.worst);
        if how.is_failure() && of.failing.len() < MOST_FAILING {
            of.failing.push(bounded(&values));
        }
        of.values.push(values);
    });
    let saw = |((spot, line), mut of): ((AssertionKey, u32), Evaluated)| {
        of.failing.sort();
        of.failing.dedup();
        AssertionRecord { spot, line, how: of.worst, values: bounded(&of.values.join("\n\n")), failing: of.failing }
    };
    all.into_iter().map(saw).collect()
}

/// Removes a log that has been read: there may be many.
pub(crate) fn done_with(event: &Event) {
    if let Event::LayersRecorded { file, .. } = event {
        let _ = fs::remove_file(file);
    }
}

/// A value on one line: line breaks separate values.
fn one_line(value: &Value) -> String {
    // Agents write values as their language prints them.
    let text = if let Value::Text(text) = value { text.to_string() } else { value.to_string() };
    text.replace('\n', "\\n")
}

fn bounded(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}… (#{})", &text[..at], hex(text.as_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(lines: &str) -> Vec<AssertionRecord> {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("layers-1-0");
        let head = "[\"format\", 1]\n[\"file\", 0, \"t.py\"]\n[\"site\", 0, 0, \"test_a\", \"x == 1\", 0, 7]\n";
        fs::write(&path, format!("{head}{lines}")).unwrap();
        read_log(&path)
    }

    #[test]
    fn evaluations_of_one_assertion_are_one_record() {
        let saw = parse(
            "[\"assert\", 0, \"held\", [[\"x\", \"1\"]]]\n[\"assert\", 0, \"filtered\", [[\"x\", \"2\"]]]\n\
             [\"assert\", 0, \"held\", [[\"x\", \"1\"]]]\n",
        );
        assert_eq!(saw.len(), 1);
        assert_eq!(
            (saw[0].how, saw[0].line, saw[0].failing.clone()),
            (AssertionOutcome::Filtered, 7, vec!["x = 2".to_owned()])
        );
        assert_eq!(saw[0].values, "x = 1\n\nx = 2\n\nx = 1");
    }

    #[test]
    fn long_values_that_differ_only_at_the_end_stay_different() {
        let long = |end: &str| parse(&format!("[\"assert\", 0, \"held\", [[\"x\", \"{}{end}\"]]]\n", "y".repeat(1000)));
        let (one, other) = (long("1"), long("2"));
        assert!(one[0].values.len() < 400);
        assert_ne!(one[0].values, other[0].values);
        assert_eq!(one, long("1"));
    }

    #[test]
    fn a_truncated_log_is_read_as_far_as_possible() {
        let saw = parse("[\"assert\", 0, \"held\", [[\"x\", \"1\"]]]\n[\"assert\", 0, \"fai");
        assert_eq!((saw.len(), saw[0].how), (1, AssertionOutcome::Held));
        assert_eq!(read_log(Path::new("nowhere")), []);
    }
}
