//! What did not work, and what next.

use serde::Serialize;

use crate::html::Html;
use crate::one_line;

#[derive(Clone, Debug, Serialize)]
pub struct Said {
    pub what: String,
    pub next: Option<String>,
}

impl Said {
    pub(super) fn draw(&self, html: &mut Html) {
        html.put("h1", &one_line(&self.what));
        if let Some(next) = &self.next {
            html.put("p", &format!("→ {}", one_line(next)));
        }
        html.inside("p", |html| super::frame::link(html, "/", "To the inbox"));
    }
}
