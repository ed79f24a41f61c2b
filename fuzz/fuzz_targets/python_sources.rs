//! A Python source: any bytes are read without a panic, and a source does not differ from itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unflake_source::python::{changed_functions, function_hashes, scopes};

fuzz_target!(|source: &[u8]| {
    let scopes = scopes(source).map_or(0, |scopes| scopes.len());
    assert!(scopes <= source.len() / 8, "{scopes} scopes in {} bytes", source.len());
    assert!(changed_functions(source, source).is_none_or(|changed| changed.is_empty()));
    str::from_utf8(source).ok().and_then(function_hashes);
});
