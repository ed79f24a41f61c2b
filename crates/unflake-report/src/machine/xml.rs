//! Minimal streaming XML writer: it keeps only the names of the open elements.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Write};

use crate::text::sanitize;

/// Names are plain identifiers; values are escaped.
pub(crate) type XmlAttributes<'a> = &'a [(&'a str, &'a dyn Display)];

pub(crate) struct XmlWriter<'a> {
    out: &'a mut dyn Write,
    open: Vec<&'static str>,
}

impl<'a> XmlWriter<'a> {
    pub(crate) fn new(out: &'a mut dyn Write) -> io::Result<Self> {
        writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
        Ok(Self { out, open: Vec::new() })
    }

    /// Opens an element that has children.
    pub(crate) fn open(&mut self, name: &'static str, attributes: XmlAttributes) -> io::Result<()> {
        self.tag(name, attributes)?;
        self.open.push(name);
        writeln!(self.out, ">")
    }

    pub(crate) fn close(&mut self) -> io::Result<()> {
        let name = self.open.pop().expect("something is open");
        self.indent()?;
        writeln!(self.out, "</{name}>")
    }

    /// An element without content.
    pub(crate) fn empty(&mut self, name: &'static str, attributes: XmlAttributes) -> io::Result<()> {
        self.tag(name, attributes)?;
        writeln!(self.out, "/>")
    }

    /// An element that contains exactly this text.
    pub(crate) fn text(&mut self, name: &'static str, attributes: XmlAttributes, text: &str) -> io::Result<()> {
        self.tag(name, attributes)?;
        self.out.write_all(b">")?;
        self.escaped(text, false)?;
        writeln!(self.out, "</{name}>")
    }

    fn tag(&mut self, name: &str, attributes: XmlAttributes) -> io::Result<()> {
        self.indent()?;
        write!(self.out, "<{name}")?;
        for (key, value) in attributes {
            write!(self.out, " {key}=\"")?;
            self.escaped(&value.to_string(), true)?;
            self.out.write_all(b"\"")?;
        }
        Ok(())
    }

    fn indent(&mut self) -> io::Result<()> {
        write!(self.out, "{:width$}", "", width = self.open.len() * 2)
    }

    /// Parsers turn a bare newline or tab in an attribute into a space, so these become references.
    fn escaped(&mut self, text: &str, attribute: bool) -> io::Result<()> {
        let text = legal_xml(text);
        let mut rest = &*text;
        while let Some(at) = rest.find(|c| matches!(c, '<' | '>' | '&') || attribute && matches!(c, '"' | '\n' | '\t'))
        {
            self.out.write_all(&rest.as_bytes()[..at])?;
            self.out.write_all(match rest.as_bytes()[at] {
                b'<' => b"&lt;",
                b'>' => b"&gt;",
                b'&' => b"&amp;",
                b'"' => b"&quot;",
                b'\n' => b"&#10;",
                _ => b"&#9;",
            })?;
            rest = &rest[at + 1..];
        }
        self.out.write_all(rest.as_bytes())
    }
}

/// Replaces characters that XML 1.0 forbids, most of them by a visible form.
pub(crate) fn legal_xml(text: &str) -> Cow<'_, str> {
    let text = sanitize::escape(text, &['\n', '\t']);
    if text.contains(['\u{fffe}', '\u{ffff}']) {
        return Cow::Owned(text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}"));
    }
    text
}
