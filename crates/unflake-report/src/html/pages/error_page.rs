//! Page for an error: what failed, and what to do next.

use maud::{Markup, html};
use serde::Serialize;

use super::layout::{first_line, link};

/// Bounds the sentence, which can quote a test name.
const LONGEST: usize = 1000;

#[derive(Clone, Debug, Serialize)]
pub struct ErrorPage {
    pub what: String,
    pub next: Option<String>,
}

impl ErrorPage {
    pub(super) fn title(&self) -> String {
        first_line(&self.what, 80)
    }

    pub(super) fn draw(&self) -> Markup {
        html! {
            h1 { (first_line(&self.what, LONGEST)) }
            @if let Some(next) = &self.next { p { "→ " (first_line(next, LONGEST)) } }
            p { (link("/", "To the inbox")) }
        }
    }
}
