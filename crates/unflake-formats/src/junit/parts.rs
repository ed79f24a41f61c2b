//! The small parts of JUnit XML: attributes and references.

use quick_xml::events::{BytesRef, BytesStart};
use unflake_model::Timestamp;

use crate::bounded_text::lossless;
use crate::timestamp;

/// The attributes of an element that mean something to us.
#[derive(Default)]
pub(crate) struct Attributes {
    pub(crate) name: Option<String>,
    pub(crate) classname: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
    pub(crate) seconds: Option<f64>,
    pub(crate) when: Option<Timestamp>,
    pub(crate) message: Option<String>,
    pub(crate) kind: Option<String>,
    /// Which attempt it is, counted from 1.
    pub(crate) attempt: Option<u32>,
    /// Told in words that the test was not run.
    pub(crate) not_run: bool,
    /// A `result` beside a `status`: only GoogleTest has both.
    pub(crate) has_result: bool,
}

impl Attributes {
    pub(crate) fn of(start: &BytesStart<'_>) -> Self {
        let mut found = Self::default();
        let mut filepath = None;
        for one in start.attributes().with_checks(false).flatten() {
            let value = || match one.unescape_value() {
                Ok(value) => value.into_owned(),
                // What cannot be understood stays as it is written.
                Err(_) => lossless(&one.value),
            };
            let is = |words: &[&str]| words.contains(&value().to_lowercase().as_str());
            match one.key.as_ref() {
                b"name" => found.name = Some(value()),
                b"classname" => found.classname = Some(value()),
                b"file" => found.file = Some(value()),
                b"filepath" => filepath = Some(value()),
                b"line" | b"lineno" => found.line = found.line.or_else(|| value().trim().parse().ok()),
                b"time" => found.seconds = seconds(&value()),
                b"timestamp" => found.when = timestamp::moment(&value()),
                b"message" => found.message = Some(value()),
                b"type" => found.kind = Some(value()),
                b"attempt_number" => found.attempt = value().trim().parse().ok(),
                b"status" => found.not_run |= is(&["notrun", "disabled", "skipped"]),
                b"result" => {
                    found.has_result = true;
                    found.not_run |= is(&["suppressed", "skipped"]);
                }
                _ => {}
            }
        }
        found.file = found.file.or(filepath);
        found
    }
}

/// `1,234.5` is what some write for 1234.5.
fn seconds(text: &str) -> Option<f64> {
    let text = text.trim();
    let number = text.parse().or_else(|_| text.replace(',', "").parse()).ok()?;
    (0.0..1e9).contains(&number).then_some(number)
}

/// A reference in a text. One that nobody has explained stays as it is written.
pub(crate) fn meaning_of(reference: &BytesRef<'_>) -> String {
    if let Ok(Some(character)) = reference.resolve_char_ref() {
        return character.to_string();
    }
    let name = lossless(reference);
    match name.as_str() {
        "lt" => "<".to_owned(),
        "gt" => ">".to_owned(),
        "amp" => "&".to_owned(),
        "quot" => "\"".to_owned(),
        "apos" => "'".to_owned(),
        _ => format!("&{name};"),
    }
}
