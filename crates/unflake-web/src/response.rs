//! HTTP responses.

use std::fmt::Write;

/// Headers of every response: no external resources, no script, no framing, no caching.
const COMMON_HEADERS: &str = "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'\r\n\
    X-Content-Type-Options: nosniff\r\n\
    X-Frame-Options: DENY\r\n\
    Referrer-Policy: same-origin\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\n\
    Cross-Origin-Opener-Policy: same-origin\r\n\
    Cache-Control: no-store\r\n\
    Connection: close\r\n";

#[derive(Clone, Debug)]
pub struct Response {
    status: u16,
    kind: &'static str,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Response {
    pub fn html(status: u16, text: String) -> Self {
        Self { status, kind: "text/html; charset=utf-8", headers: Vec::new(), body: text.into_bytes() }
    }

    pub fn json(status: u16, body: Vec<u8>) -> Self {
        Self { status, kind: "application/json", headers: Vec::new(), body }
    }

    /// A plain text response.
    pub fn text(status: u16, text: &str) -> Self {
        let body = format!("{text}\n").into_bytes();
        Self { status, kind: "text/plain; charset=utf-8", headers: Vec::new(), body }
    }

    /// Redirects to another path of this server.
    pub fn redirect(path: &str) -> Self {
        Self::text(303, "See the other page.").with_header("Location", path)
    }

    /// Adds a header. Line breaks are removed from the value.
    pub fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.chars().filter(|c| !c.is_control()).collect()));
        self
    }

    pub fn status(&self) -> u16 {
        self.status
    }

    /// The response as bytes. Without the body, `Content-Length` still has its length.
    pub(crate) fn bytes(&self, with_body: bool) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        let _ = write!(head, "Content-Type: {}\r\nContent-Length: {}\r\n", self.kind, self.body.len());
        for (name, value) in &self.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        head.push_str(COMMON_HEADERS);
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        if with_body {
            bytes.extend_from_slice(&self.body);
        }
        bytes
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        303 => "See Other",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        505 => "HTTP Version Not Supported",
        _ => "Other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_values_cannot_contain_line_breaks() {
        let sent = Response::redirect("/a\r\nSet-Cookie: x=y").bytes(true);
        let text = String::from_utf8(sent).unwrap();
        assert!(text.contains("\r\nLocation: /aSet-Cookie: x=y\r\n"), "{text}");
        assert!(text.contains("\r\nContent-Length: 20\r\n"), "{text}");
    }
}
