//! Bounds XML before it reaches the parser, which keeps each text, comment or element in memory as
//! a whole.
//!
//! Texts, comments and similar constructs that are too long lose their end. An element that is too
//! long is an error.

use std::io::{self, BufRead, Read};

use memchr::memchr;

/// Bytes kept of one text.
const MAX_TEXT: usize = 64 << 10;
/// Longest element, with its attributes.
const MAX_ELEMENT: usize = 1 << 20;

#[derive(Clone, Copy, PartialEq)]
enum XmlContext {
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

pub(crate) struct BoundedXml<R> {
    source: R,
    context: XmlContext,
    /// Bytes of the current construct so far.
    length: usize,
    /// The last bytes read, enough to recognize the start or end of every construct.
    last: [u8; 9],
    /// Bytes for the parser to read next.
    out: Vec<u8>,
    consumed: usize,
}

impl<R: BufRead> BoundedXml<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, context: XmlContext::Text, length: 0, last: [0; 9], out: Vec::new(), consumed: 0 }
    }

    fn refill(&mut self) -> io::Result<()> {
        self.out.clear();
        self.consumed = 0;
        while self.out.is_empty() {
            let Self { source, context, length, last, out, .. } = self;
            let bytes = source.fill_buf()?;
            if bytes.is_empty() {
                return Ok(());
            }
            let used = bytes.len();
            let mut rest = bytes;
            while !rest.is_empty() {
                // Text and the inside of elements, which make up most of a file, are copied in one
                // piece.
                let piece = match *context {
                    XmlContext::Text => memchr(b'<', rest).unwrap_or(rest.len()),
                    XmlContext::Quoted(quote) => memchr(quote, rest).unwrap_or(rest.len()),
                    XmlContext::Element => memchr::memchr3(b'>', b'"', b'\'', rest).unwrap_or(rest.len()),
                    XmlContext::Until(end) => memchr(end[end.len() - 1], rest).unwrap_or(rest.len()),
                    XmlContext::Markup | XmlContext::Declared(_) => 0,
                };
                let (piece, after) = rest.split_at(piece);
                let limit =
                    if matches!(context, XmlContext::Text | XmlContext::Until(_)) { MAX_TEXT } else { MAX_ELEMENT };
                let room = limit.saturating_sub(*length);
                out.extend_from_slice(&piece[..piece.len().min(room)]);
                *length += piece.len();
                remember(last, piece);
                let Some((&byte, after)) = after.split_first() else { break };
                rest = after;
                remember(last, &[byte]);
                *length += 1;
                let next = next(*context, byte, last, *length);
                let ends = matches!(next, XmlContext::Text)
                    || matches!((*context, next), (XmlContext::Text, XmlContext::Markup));
                if let (XmlContext::Until(end), XmlContext::Text) = (*context, next) {
                    // The terminator is kept even where the content before it was cut.
                    if *length > limit {
                        out.extend_from_slice(end);
                    } else {
                        out.push(byte);
                    }
                } else if ends || *length <= limit {
                    out.push(byte);
                } else if limit == MAX_ELEMENT {
                    return Err(io::Error::other(format!("an element is longer than {} KiB", MAX_ELEMENT >> 10)));
                }
                if next != *context && (ends || *context == XmlContext::Text) {
                    *length = 1;
                }
                *context = next;
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

fn next(context: XmlContext, byte: u8, last: &[u8; 9], length: usize) -> XmlContext {
    match context {
        XmlContext::Text => XmlContext::Markup,
        XmlContext::Markup => match length {
            // Counting from `<` as 1.
            2 if byte == b'?' => XmlContext::Until(b"?>"),
            2 if byte != b'!' => element(byte),
            4 if last.ends_with(b"<!--") => XmlContext::Until(b"-->"),
            4 if !last[..8].ends_with(b"<![") => declared(1, byte),
            9 if last == b"<![CDATA[" => XmlContext::Until(b"]]>"),
            9.. => declared(1, byte),
            _ if byte == b'>' => XmlContext::Text,
            _ => XmlContext::Markup,
        },
        XmlContext::Element => element(byte),
        XmlContext::Quoted(_) => XmlContext::Element,
        XmlContext::Declared(open) => declared(open, byte),
        XmlContext::Until(end) if last.ends_with(end) => XmlContext::Text,
        XmlContext::Until(end) => XmlContext::Until(end),
    }
}

fn element(byte: u8) -> XmlContext {
    match byte {
        b'>' => XmlContext::Text,
        b'"' | b'\'' => XmlContext::Quoted(byte),
        _ => XmlContext::Element,
    }
}

fn declared(open: usize, byte: u8) -> XmlContext {
    match byte {
        b'<' => XmlContext::Declared(open + 1),
        b'>' if open <= 1 => XmlContext::Text,
        b'>' => XmlContext::Declared(open - 1),
        _ => XmlContext::Declared(open),
    }
}

impl<R: BufRead> Read for BoundedXml<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let count = available.len().min(into.len());
        into[..count].copy_from_slice(&available[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for BoundedXml<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.consumed == self.out.len() {
            self.refill()?;
        }
        Ok(&self.out[self.consumed..])
    }

    fn consume(&mut self, count: usize) {
        self.consumed += count;
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;

    use super::*;

    fn bounded(text: &str, buffer: usize) -> Result<String, String> {
        let mut out = String::new();
        let mut reader = BoundedXml::new(BufReader::with_capacity(buffer, text.as_bytes()));
        reader.read_to_string(&mut out).map_err(|error| error.to_string())?;
        Ok(out)
    }

    #[test]
    fn short_input_is_unchanged() {
        let text = "<?xml a='>'?><!DOCTYPE a><a b=\"x>y\" c='\"'><!-- < > -- --><![CDATA[ <b> ]] ]]>text</a>\n";
        for buffer in [1, 2, 3, 7, 4096] {
            assert_eq!(bounded(text, buffer).unwrap(), text, "{buffer} bytes at a time");
        }
    }

    #[test]
    fn long_constructs_are_cut_and_closed() {
        let long = "x ] - ".repeat(MAX_TEXT);
        for (begin, end) in [("<a>", "</a>"), ("<a><![CDATA[", "]]></a>"), ("<a><!--", "--></a>")] {
            for buffer in [1000, 1 << 20] {
                let out = bounded(&format!("{begin}{long}{end}<b/>"), buffer).unwrap();
                assert!(out.len() < MAX_TEXT + 100 && out.starts_with(begin), "{} {}", out.len(), &out[..20]);
                assert!(out.ends_with(&format!("{end}<b/>")), "{}", &out[out.len() - 20..]);
            }
        }
        for endless in
            [format!("<a b='{}'/>", "x".repeat(MAX_ELEMENT)), format!("<!DOCTYPE [{}", "<!x>".repeat(MAX_ELEMENT / 4))]
        {
            assert_eq!(bounded(&endless, 4096).unwrap_err(), "an element is longer than 1024 KiB");
        }
    }

    proptest! {
        #[test]
        fn short_texts_are_never_changed(text in "[a<>!\\-\\[\\]CDAT?'\" /]{0,60}", buffer in 1_usize..9) {
            prop_assert_eq!(bounded(&text, buffer).unwrap(), text);
        }
    }
}
