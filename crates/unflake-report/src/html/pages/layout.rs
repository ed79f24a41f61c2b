//! Layout shared by all pages: head, menu, footer, and the addresses of the other pages.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;
use maud::{Markup, PreEscaped, Render, html};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use unflake_model::Timestamp;

use super::{Pagination, TestEntry};
use crate::html::markup::document;
use crate::one_line;
use crate::text::format;
use crate::text::sanitize::{keep_end, keep_start};

const HEAD: PreEscaped<&str> = PreEscaped(
    "<meta charset=\"utf-8\"/>\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\
    <meta name=\"color-scheme\" content=\"light dark\"/>",
);
/// A file is opened without a server, so the policy goes into the document.
const POLICY: PreEscaped<&str> = PreEscaped(
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\"/>\
    <meta name=\"referrer\" content=\"no-referrer\"/>",
);
const STYLE: [&str; 2] = [include_str!("../base.css"), include_str!("pages.css")];

const PAGES: [(&str, &str); 6] = [
    ("/", "Inbox"),
    ("/tests", "Tests"),
    ("/matrix", "Matrix"),
    ("/runs", "Runs"),
    ("/quarantine", "Quarantine"),
    ("/audit", "Audit log"),
];
const IN_FILE: [(&str, &str); 2] = [("#inbox", "Inbox"), ("#runs", "Runs")];

/// Everything else is encoded in a query string (RFC 3986, unreserved characters).
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Longest names in lists, and on the page of the test itself.
const NAME: usize = 160;
const TITLE: usize = 1000;

/// Context in which a page is drawn.
#[derive(Clone, Debug)]
pub struct PageLayout<'a> {
    /// Name of the project.
    pub project: &'a str,
    pub zone: &'a TimeZone,
    pub now: Timestamp,
    /// Whether to show forms.
    pub may_write: bool,
    /// Who looks at it, where that is known.
    pub user: Option<&'a str>,
    /// Reload the page after this many seconds.
    pub again_after: Option<u32>,
    pub links: Links,
}

/// How pages link to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Links {
    /// By addresses of the server.
    Server,
    /// Within one file, which has these anchors.
    File(BTreeSet<String>),
}

impl PageLayout<'_> {
    pub(super) fn test(&self, key: i64) -> String {
        self.link("test", &key.to_string())
    }

    pub(super) fn run(&self, id: &str) -> String {
        self.link("run", id)
    }

    pub(super) fn cause(&self, id: &str) -> String {
        self.link("cause", id)
    }

    fn link(&self, what: &str, id: &str) -> String {
        match self.links {
            Links::Server => format!("/{what}/{id}"),
            Links::File(_) => format!("#{what}-{id}"),
        }
    }

    pub(super) fn is_file(&self) -> bool {
        matches!(self.links, Links::File(_))
    }

    /// A link to `address`, or plain text where the file has no such anchor.
    pub(super) fn link_or_text(&self, address: &str, text: &str) -> Markup {
        match &self.links {
            Links::File(anchors) if !anchors.contains(address) => text.render(),
            _ => link(address, text),
        }
    }

    /// `2026-11-16 02:41`.
    pub(super) fn when(&self, when: Timestamp) -> String {
        self.formatted(when, "%Y-%m-%d %H:%M")
    }

    fn formatted(&self, when: Timestamp, format: &str) -> String {
        match jiff::Timestamp::from_microsecond(when.0) {
            Ok(when) => when.to_zoned(self.zone.clone()).strftime(format).to_string(),
            Err(_) => "an unknown time".to_owned(),
        }
    }

    /// With seconds, for attempts in quick succession.
    pub(super) fn exactly(&self, when: Timestamp) -> String {
        self.formatted(when, "%Y-%m-%d %H:%M:%S")
    }

    /// `3 days ago`.
    pub(super) fn ago(&self, when: Timestamp) -> String {
        format!("{} ago", format::age((self.now.0 - when.0) as f64 / 1e6))
    }
}

pub(super) fn page(layout: &PageLayout, title: &str, place: &str, content: Markup) -> String {
    let head = html! {
        (HEAD)
        @if layout.is_file() { (POLICY) }
        @if let Some(seconds) = layout.again_after {
            (PreEscaped(format!("<meta http-equiv=\"refresh\" content=\"{seconds}\"/>")))
        }
    };
    let menu = if layout.is_file() { &IN_FILE[..] } else { &PAGES };
    let body = html! {
        body.web {
            nav {
                div {
                    strong { (project(layout)) }
                    @for (path, name) in menu {
                        " " a aria-current=[(*path == place).then_some("page")] href=(path) { (name) }
                    }
                }
            }
            "\n" main { (content) }
            "\n" footer.foot {
                "Written by unflake on " (layout.when(layout.now)) "."
                @if let Some(user) = layout.user {
                    " " (keep_start(&one_line(user), 80, "…").into_owned()) @if layout.may_write { " may make changes." } @else { " may read." }
                }
            }
        }
    };
    document(head, &format!("{title} · {}", project(layout)), &STYLE, body)
}

fn project(layout: &PageLayout) -> String {
    keep_start(&one_line(layout.project), 60, "…").into_owned()
}

/// A test name, bounded for lists.
pub(super) fn name(text: &str) -> String {
    let text = one_line(text);
    keep_end(&text, NAME, "…").into_owned()
}

pub(super) fn full_name(text: &str) -> String {
    let text = one_line(text);
    keep_end(&text, TITLE, "…").into_owned()
}

/// The first line of a message, bounded.
pub(super) fn first_line(text: &str, columns: usize) -> String {
    keep_start(&format::first_line(text, "…"), columns, "…").into_owned()
}

/// At most `most` lines of a text; the middle of a longer one is left out.
pub(super) fn bounded(text: &str, most: usize) -> String {
    let text = crate::plain(text.trim());
    let lines: Vec<&str> = text.lines().collect();
    let cut = |line: &&str| keep_start(line, 400, "…").into_owned();
    if lines.len() <= most {
        return lines.iter().map(cut).collect::<Vec<_>>().join("\n");
    }
    let half = most / 2;
    let hidden = format!("… {} left out", format::count(lines.len() - 2 * half, "line"));
    let ends = lines[..half].iter().map(cut).chain([hidden]).chain(lines[lines.len() - half..].iter().map(cut));
    ends.collect::<Vec<_>>().join("\n")
}

pub(super) fn link(href: &str, text: &str) -> Markup {
    html! { a href=(href) { (text) } }
}

/// The name of a test, linked to its page.
pub(super) fn test(layout: &PageLayout, entry: &TestEntry) -> Markup {
    html! { span.test { (layout.link_or_text(&layout.test(entry.key), &name(&entry.score.test))) } }
}

/// `page 1 of 17, 812 tests in all`, with links to the neighbours. `query` is the rest of the query
/// string, already encoded.
pub(super) fn pages(layout: &PageLayout, pages: &Pagination, path: &str, query: &str, noun: &str) -> Markup {
    if pages.of == 1 || layout.is_file() {
        return Markup::default();
    }
    let address = |page: usize| format!("{path}?{query}page={page}");
    html! {
        p.pages {
            @if pages.page > 1 { (link(&address(pages.page - 1), "← previous")) }
            " page " (pages.page) " of " (pages.of) ", " (format::count(pages.total, noun)) " in all "
            @if pages.page < pages.of { (link(&address(pages.page + 1), "next →")) }
        }
    }
}

/// Percent-encodes text for a query string.
pub(super) fn query_encoded(text: &str) -> String {
    utf8_percent_encode(text, UNRESERVED).to_string()
}
