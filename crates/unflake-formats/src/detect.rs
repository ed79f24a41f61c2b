//! Detects the format of a result file from its first bytes.

use std::fmt;

use crate::utf16::utf8;

/// A format for test results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JUnit XML, in the dialects of pytest, Surefire, Gradle, nextest, jest-junit, vitest,
    /// GoogleTest, go-junit-report, Playwright and others.
    JUnit,
    /// The Common Test Report Format: one JSON document.
    Ctrf,
    /// pytest-reportlog: one JSON object per line.
    ReportLog,
    /// The events of Rust's libtest, as nextest and libtest itself write them: one JSON object per
    /// line.
    LibtestJson,
}

impl Format {
    /// Detects the format; a few thousand bytes are enough.
    pub fn guess(head: &[u8]) -> Option<Self> {
        let head = &*utf8(head);
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
        let has = |word: &str| memchr::memmem::find(head, word.as_bytes()).is_some();
        match head.first()? {
            b'<' if has("<testsuite") => Some(Self::JUnit),
            b'{' if has("$report_type") => Some(Self::ReportLog),
            b'{' if has("\"type\"") && has("\"event\"") => Some(Self::LibtestJson),
            b'{' if has("\"results\"") || has("\"CTRF\"") => Some(Self::Ctrf),
            _ => None,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::JUnit => "JUnit XML",
            Self::Ctrf => "CTRF",
            Self::ReportLog => "pytest-reportlog",
            Self::LibtestJson => "libtest-json",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_detected_by_their_first_bytes() {
        let guess = |text: &str| Format::guess(text.as_bytes());
        assert_eq!(guess("\u{feff}<?xml version=\"1.0\"?>\n<testsuites>"), Some(Format::JUnit));
        assert_eq!(guess("{\"results\": {\"tool\""), Some(Format::Ctrf));
        assert_eq!(guess("{\"pytest_version\": \"8\", \"$report_type\": \"SessionStart\"}"), Some(Format::ReportLog));
        assert_eq!(guess("{\"type\":\"suite\",\"event\":\"started\"}"), Some(Format::LibtestJson));
        let utf16: Vec<u8> = "<testsuite/>".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(Format::guess(&utf16), Some(Format::JUnit));
        assert_eq!(guess("<html>"), None);
        assert_eq!(guess("{}"), None);
        assert_eq!(guess("  "), None);
    }
}
