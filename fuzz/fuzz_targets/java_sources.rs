//! A Java source: any text is read without a panic, and every assertion in it costs characters.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unflake_source::java::assertion_sites;

fuzz_target!(|source: &str| {
    let assertions = assertion_sites("Any.java", source).map_or(0, |sites| sites.len());
    assert!(assertions <= source.len() / 3, "{assertions} assertions in {} bytes", source.len());
});
