//! Bounds XML before it reaches the parser, which keeps each text, comment or element in memory as
//! a whole.
//!
//! Texts, comments and similar constructs that are too long lose their end. An element that is too
//! long is an error.

use std::io::{self, BufRead, Read};

use memchr::memchr;

/// Bytes kept of one text.
const TEXT: usize = 64 << 10;
/// Longest element, with its attributes.
const ELEMENT: usize = 1 << 20;

#[derive(Clone, Copy, PartialEq)]
enum Within {
    Text,
    /// After `<`, while the kind of markup is still undecided.
    Markup,
    Element,
    /// In the value of an attribute, where `>` has no meaning.
    Quoted(u8),
    /// In a declaration such as `<!DOCTYPE …>`; they nest, and this is the number of open ones.
    Declared(usize),
    /// In a construct that ends with exactly these bytes.
    Until(&'static [u8]),
}

pub(crate) struct Tame<R> {
    source: R,
    within: Within,
    /// Bytes of the current construct so far.
    length: usize,
    /// The last bytes read, enough to recognize the start or end of every construct.
    last: [u8; 9],
    /// Bytes for the parser to read next.
    out: Vec<u8>,
    given: usize,
}

impl<R: BufRead> Tame<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, within: Within::Text, length: 0, last: [0; 9], out: Vec::new(), given: 0 }
    }

    fn refill(&mut self) -> io::Result<()> {
        self.out.clear();
        self.given = 0;
        while self.out.is_empty() {
            let Self { source, within, length, last, out, .. } = self;
            let bytes = source.fill_buf()?;
            if bytes.is_empty() {
                return Ok(());
            }
            let used = bytes.len();
            let mut rest = bytes;
            while !rest.is_empty() {
                // Text and the inside of elements, which make up most of a file, are copied in one
                // piece.
                let piece = match *within {
                    Within::Text => memchr(b'<', rest).unwrap_or(rest.len()),
                    Within::Quoted(quote) => memchr(quote, rest).unwrap_or(rest.len()),
                    Within::Element => memchr::memchr3(b'>', b'"', b'\'', rest).unwrap_or(rest.len()),
                    Within::Until(end) => memchr(end[end.len() - 1], rest).unwrap_or(rest.len()),
                    Within::Markup | Within::Declared(_) => 0,
                };
                let (piece, after) = rest.split_at(piece);
                let limit = if matches!(within, Within::Text | Within::Until(_)) { TEXT } else { ELEMENT };
                let room = limit.saturating_sub(*length);
                out.extend_from_slice(&piece[..piece.len().min(room)]);
                *length += piece.len();
                remember(last, piece);
                let Some((&byte, after)) = after.split_first() else { break };
                rest = after;
                remember(last, &[byte]);
                *length += 1;
                let next = next(*within, byte, last, *length);
                let ends = matches!(next, Within::Text) || matches!((*within, next), (Within::Text, Within::Markup));
                if let (Within::Until(end), Within::Text) = (*within, next) {
                    // The terminator is kept even where the content before it was cut.
                    if *length > limit {
                        out.extend_from_slice(end);
                    } else {
                        out.push(byte);
                    }
                } else if ends || *length <= limit {
                    out.push(byte);
                } else if limit == ELEMENT {
                    return Err(io::Error::other(format!("an element is longer than {} KiB", ELEMENT >> 10)));
                }
                if next != *within && (ends || *within == Within::Text) {
                    *length = 1;
                }
                *within = next;
            }
            self.source.consume(used);
        }
        Ok(())
    }
}

fn remember(last: &mut [u8; 9], bytes: &[u8]) {
    let keep = bytes.len().min(last.len());
    last.rotate_left(keep);
    let from = last.len() - keep;
    last[from..].copy_from_slice(&bytes[bytes.len() - keep..]);
}

fn next(within: Within, byte: u8, last: &[u8; 9], length: usize) -> Within {
    match within {
        Within::Text => Within::Markup,
        Within::Markup => match length {
            // Counting from `<` as 1.
            2 if byte == b'?' => Within::Until(b"?>"),
            2 if byte != b'!' => element(byte),
            4 if last.ends_with(b"<!--") => Within::Until(b"-->"),
            4 if !last[..8].ends_with(b"<![") => declared(1, byte),
            9 if last == b"<![CDATA[" => Within::Until(b"]]>"),
            9.. => declared(1, byte),
            _ if byte == b'>' => Within::Text,
            _ => Within::Markup,
        },
        Within::Element => element(byte),
        Within::Quoted(_) => Within::Element,
        Within::Declared(open) => declared(open, byte),
        Within::Until(end) if last.ends_with(end) => Within::Text,
        Within::Until(end) => Within::Until(end),
    }
}

fn element(byte: u8) -> Within {
    match byte {
        b'>' => Within::Text,
        b'"' | b'\'' => Within::Quoted(byte),
        _ => Within::Element,
    }
}

fn declared(open: usize, byte: u8) -> Within {
    match byte {
        b'<' => Within::Declared(open + 1),
        b'>' if open <= 1 => Within::Text,
        b'>' => Within::Declared(open - 1),
        _ => Within::Declared(open),
    }
}

impl<R: BufRead> Read for Tame<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let count = available.len().min(into.len());
        into[..count].copy_from_slice(&available[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Tame<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.given == self.out.len() {
            self.refill()?;
        }
        Ok(&self.out[self.given..])
    }

    fn consume(&mut self, count: usize) {
        self.given += count;
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;

    use super::*;

    fn tamed(text: &str, buffer: usize) -> Result<String, String> {
        let mut out = String::new();
        let mut tame = Tame::new(BufReader::with_capacity(buffer, text.as_bytes()));
        tame.read_to_string(&mut out).map_err(|error| error.to_string())?;
        Ok(out)
    }

    #[test]
    fn what_is_short_stays_as_it_is() {
        let text = "<?xml a='>'?><!DOCTYPE a><a b=\"x>y\" c='\"'><!-- < > -- --><![CDATA[ <b> ]] ]]>text</a>\n";
        for buffer in [1, 2, 3, 7, 4096] {
            assert_eq!(tamed(text, buffer).unwrap(), text, "{buffer} bytes at a time");
        }
    }

    #[test]
    fn what_is_long_loses_its_rest_and_ends_as_it_should() {
        let long = "x ] - ".repeat(TEXT);
        for (begin, end) in [("<a>", "</a>"), ("<a><![CDATA[", "]]></a>"), ("<a><!--", "--></a>")] {
            for buffer in [1000, 1 << 20] {
                let out = tamed(&format!("{begin}{long}{end}<b/>"), buffer).unwrap();
                assert!(out.len() < TEXT + 100 && out.starts_with(begin), "{} {}", out.len(), &out[..20]);
                assert!(out.ends_with(&format!("{end}<b/>")), "{}", &out[out.len() - 20..]);
            }
        }
        for endless in
            [format!("<a b='{}'/>", "x".repeat(ELEMENT)), format!("<!DOCTYPE [{}", "<!x>".repeat(ELEMENT / 4))]
        {
            assert_eq!(tamed(&endless, 4096).unwrap_err(), "an element is longer than 1024 KiB");
        }
    }

    proptest! {
        #[test]
        fn short_texts_are_never_changed(text in "[a<>!\\-\\[\\]CDAT?'\" /]{0,60}", buffer in 1_usize..9) {
            prop_assert_eq!(tamed(&text, buffer).unwrap(), text);
        }
    }
}
