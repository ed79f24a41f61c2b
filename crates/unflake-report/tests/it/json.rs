//! The JSON report.

use insta::assert_snapshot;
use proptest::prelude::*;

use crate::samples::*;

fn document(sample: &Sample) -> String {
    written(|out| unflake_report::json(&sample.run(), "run", out))
}

#[test]
fn the_document() {
    let mut sample = mixed();
    sample.problems = vec![collection_error()];
    sample.notes = vec!["forking is unsafe here".into()];
    sample.left = vec!["tests/test_late.py::test_a".into()];
    sample.left_why = Some("the run was stopped".into());
    assert_snapshot!(document(&sample));
}

proptest! {
    /// Any run round-trips through JSON and is safe to print.
    #[test]
    fn any_run_round_trips(mut sample in any_run()) {
        sample.attempts.iter_mut().for_each(|attempt| attempt.seconds = 0.5);
        let text = document(&sample);
        let harmless = |c: char| c == '\n' || !c.is_control() && c != '\u{202e}';
        prop_assert!(text.chars().all(harmless));
        let mut read: serde_json::Value = serde_json::from_str(&text).unwrap();
        for (written, finding) in read["findings"].as_array_mut().unwrap().iter_mut().zip(&sample.findings) {
            let fields = written.as_object_mut().unwrap();
            prop_assert_eq!(fields.remove("id"), Some(finding.id().0.into()));
            prop_assert!(["cause", "confidence", "next"].iter().all(|added| fields.remove(*added).is_some()));
        }
        prop_assert_eq!(&read["schema"], 2);
        prop_assert_eq!(&read["attempts"], &serde_json::to_value(&sample.attempts).unwrap());
        prop_assert_eq!(&read["findings"], &serde_json::to_value(&sample.findings).unwrap());
        prop_assert_eq!(&read["problems"], &serde_json::to_value(&sample.problems).unwrap());
    }
}
