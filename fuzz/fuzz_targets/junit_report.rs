//! What a runner leaves as its report: any bytes are read without a panic, and every test in it costs bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(tests) = unflake_runners::count_reported(bytes) {
        assert!(tests <= bytes.len() / 4, "{tests} tests in {} bytes", bytes.len());
    }
});
