//! Reports of sanitizers in the output of native programs.

/// The summary of a sanitizer's report. The program may have any exit code then.
pub(crate) fn report(text: &str) -> Option<String> {
    let summary = text.lines().find_map(|line| line.trim_start().strip_prefix("SUMMARY: "));
    if let Some(summary) = summary.filter(|summary| summary.contains("Sanitizer")) {
        return Some(summary.to_owned());
    }
    let is_report = |line: &&str| line.contains("ERROR: ") && line.contains("Sanitizer");
    text.lines().find(is_report).map(|line| line.trim_start_matches(['=', ' ']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_found_among_everything_else() {
        let text = "==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x1\n…\nSUMMARY: AddressSanitizer: \
                    heap-use-after-free a.cc:3 in main\n";
        assert_eq!(report(text).unwrap(), "AddressSanitizer: heap-use-after-free a.cc:3 in main");
        assert_eq!(report("SUMMARY: all went well"), None);
    }
}
