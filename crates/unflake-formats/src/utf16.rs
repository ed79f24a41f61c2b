//! Decodes UTF-16 to UTF-8 while it is read; everything else passes unchanged.
//!
//! UTF-16 is known by its byte order mark, or, where a declaration takes its place, by the zero
//! bytes of the first two characters. What the declaration says is not asked: programs that convert
//! a file often leave it as it was.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read};

/// Computes a code unit from its two bytes.
type ByteOrder = fn([u8; 2]) -> u16;

/// The byte order of UTF-16, and how many bytes its mark has. None: it is something else.
fn byte_order(head: &[u8]) -> Option<(ByteOrder, usize)> {
    match *head {
        [0xff, 0xfe, ..] => Some((u16::from_le_bytes, 2)),
        [0xfe, 0xff, ..] => Some((u16::from_be_bytes, 2)),
        [1..=255, 0, 1..=255, 0, ..] => Some((u16::from_le_bytes, 0)),
        [0, 1..=255, 0, 1..=255, ..] => Some((u16::from_be_bytes, 0)),
        _ => None,
    }
}

/// The bytes of a text in UTF-8.
pub fn utf8(bytes: &[u8]) -> Cow<'_, [u8]> {
    let Some((order, mark)) = byte_order(bytes) else { return Cow::Borrowed(bytes) };
    let mut decoder = Decoder { order, half: None, high: None, out: Vec::new() };
    decoder.decode(&bytes[mark..]);
    decoder.finish();
    Cow::Owned(decoder.out)
}

/// A reader of the same text in UTF-8.
pub(crate) fn decoded<'a>(mut source: impl BufRead + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    let mut head = Vec::new();
    source.by_ref().take(4).read_to_end(&mut head)?;
    let order = byte_order(&head);
    let begin = order.map_or(0, |(_, mark)| mark);
    let source = io::Cursor::new(head.split_off(begin)).chain(source);
    Ok(match order {
        Some((order, _)) => {
            let decoder = Decoder { order, half: None, high: None, out: Vec::new() };
            Box::new(BufReader::new(DecodingReader { source, decoder, consumed: 0 }))
        }
        None => Box::new(source),
    })
}

struct DecodingReader<R> {
    source: R,
    decoder: Decoder,
    /// Bytes of the decoder's output that were read.
    consumed: usize,
}

impl<R: BufRead> Read for DecodingReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.consumed == self.decoder.out.len() {
            self.decoder.out.clear();
            self.consumed = 0;
            let bytes = self.source.fill_buf()?;
            let count = bytes.len();
            self.decoder.decode(bytes);
            self.source.consume(count);
            if count == 0 {
                self.decoder.finish();
                break;
            }
        }
        let count = (&self.decoder.out[self.consumed..]).read(into)?;
        self.consumed += count;
        Ok(count)
    }
}

/// Decodes pieces of a text. What is invalid becomes U+FFFD.
struct Decoder {
    order: ByteOrder,
    /// The first byte of a unit that is not complete.
    half: Option<u8>,
    /// The first half of a surrogate pair.
    high: Option<u16>,
    out: Vec<u8>,
}

impl Decoder {
    fn decode(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match self.half.take() {
                Some(first) => self.unit((self.order)([first, *byte])),
                None => self.half = Some(*byte),
            }
        }
    }

    fn unit(&mut self, unit: u16) {
        let is_high = (0xd800..0xdc00).contains(&unit);
        let units = self.high.take().into_iter().chain((!is_high).then_some(unit));
        for letter in char::decode_utf16(units) {
            let letter = letter.unwrap_or(char::REPLACEMENT_CHARACTER);
            self.out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
        }
        self.high = is_high.then_some(unit);
    }

    /// The text is over.
    fn finish(&mut self) {
        if self.half.take().is_some() | self.high.take().is_some() {
            self.out.extend_from_slice(char::REPLACEMENT_CHARACTER.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "<?xml version='1.0' encoding='UTF-16'?><a>é €, 𝄞</a>";

    fn encoded(text: &str, to_bytes: fn(u16) -> [u8; 2], mark: &[u8]) -> Vec<u8> {
        mark.iter().copied().chain(text.encode_utf16().flat_map(to_bytes)).collect()
    }

    #[track_caller]
    fn check(bytes: &[u8], expected: &str) {
        assert_eq!(String::from_utf8_lossy(&utf8(bytes)), expected);
        // In pieces of any size.
        for capacity in [1, 3, 4096] {
            let mut text = String::new();
            decoded(BufReader::with_capacity(capacity, bytes)).unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn utf_16_is_known_by_its_mark_or_its_zeros() {
        check(&encoded(TEXT, u16::to_le_bytes, b"\xff\xfe"), TEXT);
        check(&encoded(TEXT, u16::to_be_bytes, b"\xfe\xff"), TEXT);
        check(&encoded(TEXT, u16::to_le_bytes, b""), TEXT);
        check(&encoded(TEXT, u16::to_be_bytes, b""), TEXT);
    }

    #[test]
    fn everything_else_passes_unchanged() {
        for text in [TEXT, "", "<", "<a>", "\u{feff}<a/>"] {
            check(text.as_bytes(), text);
        }
    }

    #[test]
    fn invalid_units_are_replaced() {
        let lone = [b'<'.into(), b'a'.into(), 0xd800, b'b'.into(), 0xdc00, 0xd800];
        let bytes: Vec<u8> = lone.into_iter().flat_map(u16::to_le_bytes).collect();
        check(&bytes, "<a\u{fffd}b\u{fffd}\u{fffd}");
        check(&bytes[..5], "<a\u{fffd}");
    }
}
