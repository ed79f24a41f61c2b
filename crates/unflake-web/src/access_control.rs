//! Decides which requests are served, and which may write.

use std::io;

use crate::{Method, Request, Response};

const TOKEN_BYTES: usize = 16;

/// Secret that allows writing, known to the user who started the server.
#[derive(Clone)]
pub struct AccessToken {
    secret: String,
    /// Name of the cookie. It contains the port, because cookies ignore ports.
    cookie: String,
}

impl AccessToken {
    /// A new random token.
    pub fn new(port: u16) -> io::Result<Self> {
        let mut bytes = [0; TOKEN_BYTES];
        getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
        let secret = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { secret, cookie: format!("unflake-{port}") })
    }

    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// Whether the request carries the token, as a cookie or as `Authorization: Bearer …`.
    pub fn authorizes(&self, request: &Request) -> bool {
        let bearer = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        let cookies = request.header("cookie").unwrap_or_default().split(';').map(str::trim);
        let cookies = cookies.filter_map(|cookie| cookie.strip_prefix(&*self.cookie)?.strip_prefix('='));
        bearer.into_iter().chain(cookies).any(|secret| self.matches(secret))
    }

    /// Compares in constant time.
    pub fn matches(&self, secret: &str) -> bool {
        let differences = self.secret.bytes().zip(secret.bytes()).fold(0, |all, (one, other)| all | (one ^ other));
        secret.len() == self.secret.len() && differences == 0
    }

    /// Sets the token as a cookie. Browsers send it with no request of another site, and scripts
    /// cannot read it.
    pub fn set_cookie(&self, response: Response) -> Response {
        let value = format!("{}={}; Path=/; HttpOnly; SameSite=Strict", self.cookie, self.secret);
        response.with_header("Set-Cookie", &value)
    }
}

/// The error response for a request that is not allowed; None if it is.
pub(crate) fn refusal(request: &Request, port: u16) -> Option<Response> {
    let Some(host) = request.header("host") else {
        return Some(Response::text(400, "The request has no Host header."));
    };
    if !is_loopback(host, port) {
        let why = "This page is served to this machine only, under its own name: localhost or 127.0.0.1.";
        return Some(Response::text(421, why));
    }
    let from = request.header("origin").filter(|_| request.method == Method::Post);
    let ours = |origin: &str| origin.strip_prefix("http://").is_some_and(|from| from == host);
    if from.is_some_and(|origin| !ours(origin)) {
        return Some(Response::text(403, "A page of another site may not write here."));
    }
    None
}

fn is_loopback(host: &str, port: u16) -> bool {
    let name = host.strip_suffix(&*format!(":{port}")).unwrap_or(if port == 80 { host } else { "" });
    ["127.0.0.1", "localhost", "[::1]"].iter().any(|here| name.eq_ignore_ascii_case(here))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::read;

    fn request_of(head: &str) -> Request {
        read(&mut format!("{head}\r\n\r\n").as_bytes()).unwrap().unwrap()
    }

    fn status(head: &str) -> Option<u16> {
        refusal(&request_of(head), 7357).map(|response| response.status())
    }

    #[test]
    fn only_loopback_hosts_are_allowed() {
        assert_eq!(status("GET / HTTP/1.1\r\nHost: 127.0.0.1:7357"), None);
        assert_eq!(status("GET / HTTP/1.1\r\nHost: LocalHost:7357"), None);
        assert_eq!(status("GET / HTTP/1.1\r\nHost: [::1]:7357"), None);
        for host in ["evil.example:7357", "127.0.0.1:80", "localhost", "127.0.0.1.evil.example:7357", "", ":7357"] {
            assert_eq!(status(&format!("GET / HTTP/1.1\r\nHost: {host}")), Some(421), "{host}");
        }
        assert_eq!(status("GET / HTTP/1.1"), Some(400));
    }

    #[test]
    fn posts_of_other_origins_are_refused() {
        let post = |origin: &str| status(&format!("POST / HTTP/1.1\r\nHost: localhost:7357\r\nOrigin: {origin}"));
        assert_eq!(post("http://localhost:7357"), None);
        for origin in
            ["http://evil.example", "null", "https://localhost:7357", "http://localhost:8000", "http://127.0.0.1:7357"]
        {
            assert_eq!(post(origin), Some(403), "{origin}");
        }
    }

    #[test]
    fn only_the_whole_token_authorizes() {
        let token = AccessToken::new(7357).unwrap();
        let secret = token.secret();
        assert_ne!(secret, AccessToken::new(7357).unwrap().secret());
        let shows = |header: String| token.authorizes(&request_of(&format!("GET / HTTP/1.1\r\n{header}")));
        assert!(shows(format!("Cookie: a=b; unflake-7357={secret}; c=d")));
        assert!(shows(format!("Authorization: Bearer {secret}")));
        for wrong in [
            String::new(),
            secret[1..].to_owned(),
            format!("{secret}0"),
            secret.replace(|c: char| c.is_ascii_digit(), "x"),
        ] {
            assert!(!shows(format!("Cookie: unflake-7357={wrong}")), "{wrong}");
        }
        assert!(!shows(format!("Cookie: unflake-73={secret}")));
    }
}
