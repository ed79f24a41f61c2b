//! A Java source: any text is read without a panic, and every assertion in it costs characters.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|source: &str| {
    let assertions = unflake_runners::count_assertions(source);
    assert!(assertions <= source.len() / 3, "{assertions} assertions in {} bytes", source.len());
});
