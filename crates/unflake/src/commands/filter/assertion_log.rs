//! Reads the log in which an agent records the evaluations of the assertions of an attempt.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use unflake_model::{AssertionKey, AssertionOutcome, AssertionRecord};
use unflake_observe::layers::{AgentObservation, Value, read};

use crate::hash::hex;

/// Longer texts are cut and distinguished by a hash.
const LONGEST: usize = 300;
/// Number of distinguished failing evaluations per assertion.
const MOST_FAILING: usize = 20;

/// The evaluations of one assertion.
struct Evaluations {
    worst: AssertionOutcome,
    values: Vec<String>,
    failing: Vec<String>,
}

/// Each assertion once, with all its evaluations. A truncated or damaged log is read as far as
/// possible.
pub(crate) fn records(path: &Path) -> Vec<AssertionRecord> {
    let Ok(file) = File::open(path) else { return Vec::new() };
    let mut all: BTreeMap<(AssertionKey, u32), Evaluations> = BTreeMap::new();
    let _ = read(BufReader::new(file), |observation| {
        let AgentObservation::Assert { site, how, saw } = observation else { return };
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
            all.entry((spot, site.line)).or_insert(Evaluations { worst: how, values: Vec::new(), failing: Vec::new() });
        of.worst = how.max(of.worst);
        if how.is_failure() && of.failing.len() < MOST_FAILING {
            of.failing.push(bounded(&values));
        }
        of.values.push(values);
    });
    let record = |((spot, line), mut of): ((AssertionKey, u32), Evaluations)| {
        of.failing.sort();
        of.failing.dedup();
        AssertionRecord { spot, line, how: of.worst, values: bounded(&of.values.join("\n\n")), failing: of.failing }
    };
    all.into_iter().map(record).collect()
}

/// A value in one line, because line breaks separate values.
fn one_line(value: &Value) -> String {
    // Agents record values of assertions as their language prints them.
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
    use std::fs;

    use super::*;

    fn logged(lines: &str) -> Vec<AssertionRecord> {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("layers-1-0");
        let head = "[\"format\", 1]\n[\"file\", 0, \"t.py\"]\n[\"site\", 0, 0, \"test_a\", \"x == 1\", 0, 7]\n";
        fs::write(&path, format!("{head}{lines}")).unwrap();
        records(&path)
    }

    #[test]
    fn evaluations_of_one_assertion_are_one_record() {
        let saw = logged(
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
    fn long_values_that_differ_at_their_end_stay_different() {
        let long =
            |end: &str| logged(&format!("[\"assert\", 0, \"held\", [[\"x\", \"{}{end}\"]]]\n", "y".repeat(1000)));
        let (one, other) = (long("1"), long("2"));
        assert!(one[0].values.len() < 400);
        assert_ne!(one[0].values, other[0].values);
        assert_eq!(one, long("1"));
    }

    #[test]
    fn a_truncated_log_is_read_as_far_as_possible() {
        let saw = logged("[\"assert\", 0, \"held\", [[\"x\", \"1\"]]]\n[\"assert\", 0, \"fai");
        assert_eq!((saw.len(), saw[0].how), (1, AssertionOutcome::Held));
        assert_eq!(records(Path::new("nowhere")), []);
    }
}
