//! The default path of the full report on a test: beside the history.

use std::path::{Path, PathBuf};

use unflake_model::TestId;

/// `reports/test_due-0a1b2c3d.html` of a locate report, `reports/test_due-0a1b2c3d.factors.html` of an
/// experiment. A part of the fingerprint tells tests of the same name apart.
pub(crate) fn report_path(history: &Path, test: &TestId, suffix: &str) -> PathBuf {
    let name = test.as_str();
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || "-_.".contains(letter) { letter } else { '_' };
    let last = name.rsplit("::").next().unwrap_or(name);
    let mut name: String = last.chars().map(plain).take(100).collect();
    if name.trim_matches(['_', '.']).is_empty() {
        name = "test".to_owned();
    }
    history.join("reports").join(format!("{name}-{}{suffix}.html", &test.fingerprint().0[..8]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(test: &str) -> String {
        let path = report_path(Path::new(""), &test.into(), "");
        path.file_name().unwrap().to_string_lossy().into_owned()
    }

    #[test]
    fn tests_of_the_same_name_have_different_reports() {
        let (one, other) = (name("a/test_it.py::test_due"), name("b/test_it.py::test_due"));
        assert!(one.starts_with("test_due-") && other.starts_with("test_due-"), "{one} {other}");
        assert_ne!(one, other);
    }

    #[test]
    fn names_are_safe_in_a_file_system() {
        assert!(name("t.py::test[a/b c]").starts_with("test_a_b_c_-"));
        assert!(name("t.py::..").starts_with("test-"));
    }
}
