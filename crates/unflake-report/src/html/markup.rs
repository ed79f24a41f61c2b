//! Whole HTML documents around the markup of the pages.

use maud::{Markup, PreEscaped, Render, html};

use crate::machine::xml;

/// For pages opened as files: no resources, no scripts, inline styles only.
const HEAD: PreEscaped<&str> = PreEscaped(
    "<meta charset=\"utf-8\"/>\
    <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\"/>\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\
    <meta name=\"referrer\" content=\"no-referrer\"/>\
    <meta name=\"color-scheme\" content=\"light dark\"/>",
);

/// A document without external resources.
pub(crate) fn standalone(title: &str, styles: &[&str], main: Markup) -> String {
    document(HEAD.render(), title, styles, html! { body { main { (main) } } })
}

pub(crate) fn document(head: Markup, title: &str, styles: &[&str], body: Markup) -> String {
    finish(html! {
        (PreEscaped("<!DOCTYPE html>\n"))
        html lang="en" {
            head {
                (head) title { (title) }
                "\n" style { "\n" @for style in styles { (PreEscaped(style)) } } "\n"
            }
            "\n" (body)
        }
        "\n"
    })
}

pub(crate) fn footer() -> Markup {
    html! { footer { "Written by unflake." } }
}

/// Makes control characters and hidden ones visible, in whatever part of the document they are.
fn finish(markup: Markup) -> String {
    let text = xml::legal_xml(&markup.0);
    let mut parts = text.split("<U+");
    let mut html = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (code, rest) = part.split_once('>').unwrap_or((part, ""));
        html.extend(["&lt;U+", code, "&gt;", rest]);
    }
    html
}

/// Untrusted text as HTML.
pub(crate) fn escaped(text: &str) -> String {
    xml::legal_xml(text).render().0.replace('\'', "&#39;")
}
