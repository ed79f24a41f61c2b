//! Reads files with one JSON object per line.

use std::io::{BufRead, Read};

use serde_json::Value;

/// Longer lines are an error.
const MAX_LINE: u64 = 16 << 20;

/// Calls `object` for each JSON object until it returns false. Other lines, such as output of the
/// runner, are skipped; a file without any JSON object is an error.
pub(crate) fn for_each_object(mut source: impl BufRead, mut object: impl FnMut(Value) -> bool) -> Result<(), String> {
    let (mut line, mut any) = (Vec::new(), false);
    for number in 1_u64.. {
        line.clear();
        let unreadable = |error: std::io::Error| format!("it cannot be read: {error}");
        if source.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
            break;
        }
        if line.len() as u64 == MAX_LINE {
            return Err(format!("line {number} is longer than {} MiB", MAX_LINE >> 20));
        }
        match serde_json::from_slice::<Value>(&line) {
            Ok(value) if value.is_object() => {
                any = true;
                if !object(value) {
                    return Ok(());
                }
            }
            Err(error) if error.is_eof() && line.starts_with(b"{") => return Err("it is truncated".to_owned()),
            _ => {}
        }
    }
    if any { Ok(()) } else { Err("no line of it is a JSON object".to_owned()) }
}

pub(crate) fn text_field<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

pub(crate) fn seconds(value: &Value, name: &str) -> f64 {
    value[name].as_f64().filter(|seconds| (0.0..1e9).contains(seconds)).unwrap_or(0.0)
}
