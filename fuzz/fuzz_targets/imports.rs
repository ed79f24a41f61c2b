//! Results of other programs, in every format: the first byte chooses one.
#![no_main]

use std::ops::ControlFlow;

use libfuzzer_sys::fuzz_target;
use unflake_formats::{Format, read};

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let formats = [Format::JUnit, Format::Ctrf, Format::ReportLog, Format::LibtestJson];
    let _ = Format::guess(rest);
    let _ = read(formats[usize::from(*first) % formats.len()], rest, &mut |case| {
        assert!(!case.attempts.is_empty());
        ControlFlow::Continue(())
    });
});
