//! What tests print and how they are called: nothing that a terminal would obey comes out.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let shown = unflake_report::plain(text);
    assert!(shown.chars().all(|character| character == '\n' || !character.is_control()), "{shown:?}");
    let line = unflake_report::one_line(text);
    assert!(!line.chars().any(char::is_control), "{line:?}");
});
