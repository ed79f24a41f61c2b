//! Parses the attributes of JUnit elements, and character references.

use std::borrow::Cow;

use quick_xml::escape::unescape;
use quick_xml::events::{BytesRef, BytesStart};
use unflake_model::Timestamp;

use crate::bounded_text::lossless;
use crate::timestamp;

/// The attributes that the reader uses.
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
    /// Number of the attempt, counted from 1.
    pub(crate) attempt: Option<u32>,
    /// An attribute states that the test was not run.
    pub(crate) not_run: bool,
    /// The element has a `result`; of all writers only GoogleTest has both that and `status`.
    pub(crate) has_result: bool,
}

impl Attributes {
    pub(crate) fn of(start: &BytesStart<'_>) -> Self {
        let mut attributes = Self::default();
        let mut filepath = None;
        for one in start.attributes().with_checks(false).flatten() {
            let value = || {
                let text = lossless(&one.value);
                // A value with an invalid escape is kept as written.
                unescape(&text).map(Cow::into_owned).unwrap_or(text)
            };
            let is = |words: &[&str]| words.contains(&value().to_lowercase().as_str());
            match one.key.as_ref() {
                b"name" => attributes.name = Some(value()),
                b"classname" => attributes.classname = Some(value()),
                b"file" => attributes.file = Some(value()),
                b"filepath" => filepath = Some(value()),
                b"line" | b"lineno" => attributes.line = attributes.line.or_else(|| value().trim().parse().ok()),
                b"time" => attributes.seconds = seconds(&value()),
                b"timestamp" => attributes.when = timestamp::parse(&value()),
                b"message" => attributes.message = Some(value()),
                b"type" => attributes.kind = Some(value()),
                b"attempt_number" => attributes.attempt = value().trim().parse().ok(),
                b"status" => attributes.not_run |= is(&["notrun", "disabled", "skipped"]),
                b"result" => {
                    attributes.has_result = true;
                    attributes.not_run |= is(&["suppressed", "skipped"]);
                }
                _ => {}
            }
        }
        attributes.file = attributes.file.or(filepath);
        attributes
    }
}

/// Parses a duration; some writers put `1,234.5` for 1234.5.
fn seconds(text: &str) -> Option<f64> {
    let text = text.trim();
    let number = text.parse().or_else(|_| text.replace(',', "").parse()).ok()?;
    (0.0..1e9).contains(&number).then_some(number)
}

/// The text for a character reference. An undeclared one is kept as written.
pub(crate) fn resolve_reference(reference: &BytesRef<'_>) -> String {
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
