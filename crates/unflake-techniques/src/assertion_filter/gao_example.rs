//! The running example of Gao (2017): a jEdit dialog with six assertions and three versions.

use unflake_model::{Assertion, AssertionKey, AssertionOutcome, AssertionSample, ValueGroup};

/// Values and counts of ten runs on the first version; the first value is the expected one.
pub(crate) const FIRST: [(&str, &[(&str, u32)]); 6] = [
    ("asr1", &[("false", 10)]),
    ("asr2", &[("358", 5), ("348", 3), ("338", 2)]),
    ("asr3", &[("496", 4), ("498", 3), ("500", 2), ("502", 1)]),
    ("asr4", &[("\"Indent...\"", 10)]),
    ("asr5", &[("true", 9), ("false", 1)]),
    ("asr6", &[("22", 7), ("17", 3)]),
];

/// On the second version two assertions varied.
pub(crate) const SECOND: [(&str, &[(&str, u32)]); 6] = [
    ("asr1", &[("false", 10)]),
    ("asr2", &[("358", 6), ("348", 4)]),
    ("asr3", &[("496", 8), ("498", 2)]),
    ("asr4", &[("\"\"", 10)]),
    ("asr5", &[("false", 10)]),
    ("asr6", &[("17", 10)]),
];

/// The assertions that reveal the bug of the second version.
pub(crate) const REVEALING: [&str; 2] = ["asr4", "asr5"];

pub(crate) fn assertion(name: &str) -> Assertion {
    let spot = AssertionKey {
        file: "tests/test_options.py".to_owned(),
        function: "test_options".to_owned(),
        expression: format!("dialog.{name} == expected"),
        ordinal: 0,
    };
    Assertion { test: "tests/test_options.py::test_options".into(), spot }
}

pub(crate) fn samples(version: &str, values: &[(&str, &[(&str, u32)])]) -> Vec<AssertionSample> {
    let sample = |(name, values): &(&str, &[(&str, u32)])| {
        let expected = FIRST.iter().find(|first| first.0 == *name).map(|first| first.1[0].0);
        let group = |(value, times): &(&str, u32)| {
            let values = format!("dialog.{name} = {value}");
            let held = Some(*value) == expected;
            let (how, failing) = if held {
                (AssertionOutcome::Held, Vec::new())
            } else {
                (AssertionOutcome::Failed, vec![values.clone()])
            };
            ValueGroup { how, values, failing, times: *times }
        };
        let (body, version) = ("b1".to_owned(), version.to_owned());
        AssertionSample { assertion: assertion(name), body, version, groups: values.iter().map(group).collect() }
    };
    values.iter().map(sample).collect()
}
