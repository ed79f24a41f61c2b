//! Conversations recorded with real agents (`pytest agents/pytest/tests/core/test_transcripts.py --record`) are understood
//! in full: every message parses, and written again it is the same JSON value.

use serde::Deserialize;
use serde_json::Value;
use unflake_protocol::{Event, Order};

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", tag = "from", content = "message")]
enum Recorded {
    Agent(Value),
    Unflake(Value),
}

fn check(place: &str, line: &str) {
    let recorded: Recorded = serde_json::from_str(line).unwrap_or_else(|error| panic!("{place}: {error}"));
    let (said, understood) = match recorded {
        Recorded::Agent(value) => (value.clone(), serde_json::from_value::<Event>(value).map(serde_json::to_value)),
        Recorded::Unflake(value) => (value.clone(), serde_json::from_value::<Order>(value).map(serde_json::to_value)),
    };
    let understood = understood.unwrap_or_else(|error| panic!("{place}: {error}")).expect("messages are JSON");
    assert_eq!(said, understood, "{place}");
}

#[test]
fn every_recorded_message_is_understood_in_full() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/transcripts");
    let mut files = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for (at, line) in text.lines().enumerate() {
            check(&format!("{}:{}", path.file_name().unwrap().to_string_lossy(), at + 1), line);
        }
        files += 1;
    }
    assert!(files >= 5, "{files} transcripts");
}
