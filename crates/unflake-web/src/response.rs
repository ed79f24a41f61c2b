//! HTTP responses.

use std::fmt;

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::IntoResponse;

use crate::events::{self, EventSource};

const PLAIN: &str = "text/plain; charset=utf-8";
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'self'; \
                      frame-ancestors 'none'";

pub struct Response {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Content,
}

enum Content {
    Whole(&'static str, Vec<u8>),
    Events(EventSource),
}

impl Response {
    pub fn html(status: u16, text: String) -> Self {
        Self::whole(status, "text/html; charset=utf-8", text.into_bytes())
    }

    pub fn json(status: u16, body: Vec<u8>) -> Self {
        Self::whole(status, "application/json", body)
    }

    /// A plain text response.
    pub fn text(status: u16, text: &str) -> Self {
        Self::whole(status, PLAIN, format!("{text}\n").into_bytes())
    }

    /// A stream of events, which lasts until the source or the client ends it.
    pub fn events(source: EventSource) -> Self {
        Self { status: 200, headers: Vec::new(), body: Content::Events(source) }
    }

    fn whole(status: u16, kind: &'static str, body: Vec<u8>) -> Self {
        Self { status, headers: Vec::new(), body: Content::Whole(kind, body) }
    }

    /// Redirects to another path of this server.
    pub fn redirect(path: &str) -> Self {
        Self::text(303, "See the other page.").with_header("location", path)
    }

    /// Adds a header, by its lower-case name. Control characters are removed from the value.
    pub fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.chars().filter(|c| !c.is_control()).collect()));
        self
    }

    pub fn status(&self) -> u16 {
        self.status
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Response({})", self.status)
    }
}

impl IntoResponse for Response {
    fn into_response(self) -> axum::response::Response {
        let mut response = match self.body {
            Content::Whole(kind, body) => ([(header::CONTENT_TYPE, kind)], body).into_response(),
            Content::Events(source) => events::stream(source).into_response(),
        };
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        for (name, value) in self.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                response.headers_mut().append(HeaderName::from_static(name), value);
            }
        }
        response
    }
}

/// Headers of every response: no external resources, no script, no framing, no caching.
pub(crate) fn protect(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_values_cannot_contain_line_breaks() {
        let sent = Response::redirect("/a\r\nSet-Cookie: x=y").into_response();
        assert_eq!(sent.headers()["location"], "/aSet-Cookie: x=y");
        assert_eq!((sent.status().as_u16(), &sent.headers()["content-type"]), (303, &PLAIN.parse().unwrap()));
    }
}
