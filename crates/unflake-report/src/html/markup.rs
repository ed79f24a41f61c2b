//! Minimal HTML builder. Only literals go in unescaped, and every element is closed.

use std::fmt::Display;

use crate::machine::xml;

/// Names are plain identifiers; values are escaped.
pub(crate) type Attributes<'a> = &'a [(&'static str, &'a dyn Display)];

/// Untrusted text as HTML.
pub(crate) fn escaped(text: &str) -> String {
    let mut html = Html::default();
    html.text(text);
    html.finish()
}

#[derive(Default)]
pub(crate) struct Html {
    text: String,
}

impl Html {
    pub(crate) fn finish(self) -> String {
        self.text
    }

    /// Literal markup, unescaped.
    pub(crate) fn fixed(&mut self, markup: &'static str) -> &mut Self {
        self.text.push_str(markup);
        self
    }

    /// Untrusted text, escaped.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        for c in xml::legal_xml(text).chars() {
            match c {
                '&' => self.text.push_str("&amp;"),
                '<' => self.text.push_str("&lt;"),
                '>' => self.text.push_str("&gt;"),
                '"' => self.text.push_str("&quot;"),
                '\'' => self.text.push_str("&#39;"),
                c => self.text.push(c),
            }
        }
        self
    }

    /// An element with children. The tag may include constant attributes: `td class="mark"`.
    pub(crate) fn inside(&mut self, tag: &'static str, fill: impl FnOnce(&mut Self)) -> &mut Self {
        self.inside_with(tag, &[], fill)
    }

    pub(crate) fn inside_with(
        &mut self,
        tag: &'static str,
        attributes: Attributes,
        fill: impl FnOnce(&mut Self),
    ) -> &mut Self {
        self.open(tag, attributes).fixed(">");
        fill(self);
        let name = tag.split(' ').next().expect("a name comes first");
        self.fixed("</").fixed(name).fixed(">")
    }

    /// An element that contains text.
    pub(crate) fn put(&mut self, tag: &'static str, text: &str) -> &mut Self {
        self.inside(tag, |html| {
            html.text(text);
        })
    }

    /// An element without content.
    pub(crate) fn void(&mut self, tag: &'static str, attributes: Attributes) -> &mut Self {
        self.open(tag, attributes).fixed("/>")
    }

    fn open(&mut self, tag: &'static str, attributes: Attributes) -> &mut Self {
        self.fixed("<").fixed(tag);
        for (name, value) in attributes {
            self.fixed(" ").fixed(name).fixed("=\"").text(&value.to_string()).fixed("\"");
        }
        self
    }
}
