//! Transcripts recorded with real agents (`pytest agents/pytest/tests/core/test_transcripts.py
//! --record`): every message parses, and serializes to the same JSON value.

use serde::Deserialize;
use serde_json::Value;
use unflake_protocol::{AgentMessage, Order};

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", tag = "from", content = "message")]
enum Recorded {
    Agent(Value),
    Unflake(Value),
}

fn check(place: &str, line: &str) {
    let recorded: Recorded = serde_json::from_str(line).unwrap_or_else(|error| panic!("{place}: {error}"));
    let (sent, parsed) = match recorded {
        Recorded::Agent(value) => {
            (value.clone(), serde_json::from_value::<AgentMessage>(value).map(serde_json::to_value))
        }
        Recorded::Unflake(value) => (value.clone(), serde_json::from_value::<Order>(value).map(serde_json::to_value)),
    };
    let parsed = parsed.unwrap_or_else(|error| panic!("{place}: {error}")).expect("messages are JSON");
    assert_eq!(sent, parsed, "{place}");
}

#[test]
fn every_recorded_message_round_trips() {
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
