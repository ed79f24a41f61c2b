//! Bounds text of unknown length: messages, stack traces and names from result files.

/// Bytes kept of a message and of a stack trace.
const MESSAGE: usize = 2 << 10;
const TRACE: usize = 4 << 10;
/// Longer names are shortened in a way that keeps different names different.
const NAME: usize = 1 << 10;

/// Decodes UTF-8; invalid bytes become `\xNN`, so that no information is lost.
pub fn lossless(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

pub(crate) fn message(text: &str) -> String {
    shortened(text.trim(), MESSAGE)
}

pub(crate) fn trace(text: &str) -> String {
    shortened(text, TRACE)
}

/// The beginning and the end of `text`, with a note about the bytes between them.
fn shortened(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let (head, tail) = (boundary(text, limit / 2), boundary(text, text.len() - limit / 2));
    format!("{}\n… {} bytes left out …\n{}", &text[..head], tail - head, &text[tail..])
}

/// The last character boundary at or before `at`.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// A name of at most `NAME` bytes. A longer one is cut and gets a hash of the whole name appended.
pub(crate) fn name(name: String) -> String {
    if name.len() <= NAME {
        return name;
    }
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let number = name.bytes().fold(0xcbf2_9ce4_8422_2325, mix);
    format!("{}…{number:016x}", &name[..boundary(&name, NAME)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_keep_both_ends() {
        let long = format!("begin{}end", "é".repeat(TRACE));
        let kept = trace(&long);
        assert!(kept.len() < TRACE + 60 && kept.starts_with("begin") && kept.ends_with("end"), "{}", kept.len());
        assert_eq!(trace("short"), "short");
    }

    #[test]
    fn long_names_stay_different() {
        let long = "x".repeat(NAME);
        assert_eq!(name(long.clone()), long);
        assert_ne!(name(long.clone() + "a"), name(long + "b"));
    }

    #[test]
    fn invalid_utf8_becomes_escapes() {
        assert_eq!(lossless(b"a\xffb"), "a\\xffb");
    }
}
