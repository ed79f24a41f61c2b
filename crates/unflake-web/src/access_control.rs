//! Decides which requests are served, and which may write.

use std::fs::File;
use std::io::{self, Read};

use crate::{Method, Request, Response};

const BYTES: usize = 16;

/// Secret that allows writing, known to whoever started the server.
#[derive(Clone)]
pub struct Token {
    word: String,
    /// Name of the cookie. It contains the port, because cookies ignore ports.
    cookie: String,
}

impl Token {
    /// A new random token.
    pub fn new(port: u16) -> io::Result<Self> {
        let mut bytes = [0; BYTES];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let word = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { word, cookie: format!("unflake-{port}") })
    }

    pub fn word(&self) -> &str {
        &self.word
    }

    /// Whether the request carries the token, as a cookie or as `Authorization: Bearer …`.
    pub fn is_shown(&self, request: &Request) -> bool {
        let bearer = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        let cookies = request.header("cookie").unwrap_or_default().split(';').map(str::trim);
        let cookies = cookies.filter_map(|cookie| cookie.strip_prefix(&*self.cookie)?.strip_prefix('='));
        bearer.into_iter().chain(cookies).any(|word| self.is(word))
    }

    /// Compares in constant time.
    pub fn is(&self, word: &str) -> bool {
        let differences = self.word.bytes().zip(word.bytes()).fold(0, |all, (one, other)| all | (one ^ other));
        word.len() == self.word.len() && differences == 0
    }

    /// Sets the token as a cookie. Browsers send it with no request of another site, and scripts
    /// cannot read it.
    pub fn given(&self, response: Response) -> Response {
        let value = format!("{}={}; Path=/; HttpOnly; SameSite=Strict", self.cookie, self.word);
        response.with("Set-Cookie", &value)
    }
}

/// The error response for a request that is not allowed; None if it is.
pub(crate) fn refused(request: &Request, port: u16) -> Option<Response> {
    let Some(host) = request.header("host") else {
        return Some(Response::words(400, "The request does not say which machine it is for (Host)."));
    };
    if !is_here(host, port) {
        let why = "This page is served to this machine only, under its own name: localhost or 127.0.0.1.";
        return Some(Response::words(421, why));
    }
    let from = request.header("origin").filter(|_| request.method == Method::Post);
    let ours = |origin: &str| origin.strip_prefix("http://").is_some_and(|from| from == host);
    if from.is_some_and(|origin| !ours(origin)) {
        return Some(Response::words(403, "A page of another site may not write here."));
    }
    None
}

fn is_here(host: &str, port: u16) -> bool {
    let name = host.strip_suffix(&*format!(":{port}")).unwrap_or(if port == 80 { host } else { "" });
    ["127.0.0.1", "localhost", "[::1]"].iter().any(|here| name.eq_ignore_ascii_case(here))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::read;

    fn asked(head: &str) -> Request {
        read(&mut format!("{head}\r\n\r\n").as_bytes()).unwrap().unwrap()
    }

    fn status(head: &str) -> Option<u16> {
        refused(&asked(head), 7357).map(|response| response.status())
    }

    #[test]
    fn only_this_machine_is_let_in_by_its_own_name() {
        assert_eq!(status("GET / HTTP/1.1\r\nHost: 127.0.0.1:7357"), None);
        assert_eq!(status("GET / HTTP/1.1\r\nHost: LocalHost:7357"), None);
        assert_eq!(status("GET / HTTP/1.1\r\nHost: [::1]:7357"), None);
        for host in ["evil.example:7357", "127.0.0.1:80", "localhost", "127.0.0.1.evil.example:7357", "", ":7357"] {
            assert_eq!(status(&format!("GET / HTTP/1.1\r\nHost: {host}")), Some(421), "{host}");
        }
        assert_eq!(status("GET / HTTP/1.1"), Some(400));
    }

    #[test]
    fn a_foreign_page_may_not_write() {
        let post = |origin: &str| status(&format!("POST / HTTP/1.1\r\nHost: localhost:7357\r\nOrigin: {origin}"));
        assert_eq!(post("http://localhost:7357"), None);
        for origin in
            ["http://evil.example", "null", "https://localhost:7357", "http://localhost:8000", "http://127.0.0.1:7357"]
        {
            assert_eq!(post(origin), Some(403), "{origin}");
        }
    }

    #[test]
    fn a_token_is_shown_whole_or_not_at_all() {
        let token = Token::new(7357).unwrap();
        let word = token.word();
        assert_ne!(word, Token::new(7357).unwrap().word());
        let shows = |header: String| token.is_shown(&asked(&format!("GET / HTTP/1.1\r\n{header}")));
        assert!(shows(format!("Cookie: a=b; unflake-7357={word}; c=d")));
        assert!(shows(format!("Authorization: Bearer {word}")));
        for wrong in
            [String::new(), word[1..].to_owned(), format!("{word}0"), word.replace(|c: char| c.is_ascii_digit(), "x")]
        {
            assert!(!shows(format!("Cookie: unflake-7357={wrong}")), "{wrong}");
        }
        assert!(!shows(format!("Cookie: unflake-73={word}")));
    }
}
