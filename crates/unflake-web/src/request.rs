//! Reads HTTP requests of bounded size.

use std::io::{self, ErrorKind, Read};

use crate::Response;
use crate::form;

const MAX_HEAD: usize = 16 * 1024;
const MAX_BODY: usize = 64 * 1024;
const MAX_HEADERS: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    /// Like [`Method::Get`], without the body of the response.
    Head,
    Post,
}

#[derive(Clone, Debug)]
pub struct Request {
    pub method: Method,
    /// Decoded, without the query string. Begins with `/`.
    pub path: String,
    pub query: Vec<(String, String)>,
    /// Fields of a form.
    pub form: Vec<(String, String)>,
    headers: Vec<(String, String)>,
}

impl Request {
    /// The first value of a name in the query string.
    pub fn query_value(&self, name: &str) -> Option<&str> {
        find(&self.query, name)
    }

    /// The first value of a form field.
    pub fn form_value(&self, name: &str) -> Option<&str> {
        find(&self.form, name)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }
}

fn find<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str())
}

/// Reads one request. An invalid one yields the error response; None where the client sent nothing.
pub(crate) fn read(from: &mut dyn Read) -> Option<Result<Request, Response>> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if bytes.len() >= MAX_HEAD {
            return Some(Err(Response::text(431, "The request headers are too long.")));
        }
        match read_more(from, &mut bytes) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) => return (!bytes.is_empty()).then(|| Err(incomplete(&error))),
        }
    };
    let mut body = bytes.split_off(end + 4);
    let (mut request, length) = match head(&bytes[..end]) {
        Ok(read) => read,
        Err(bad_request) => return Some(Err(bad_request)),
    };
    while body.len() < length {
        match read_more(from, &mut body) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) => return Some(Err(incomplete(&error))),
        }
    }
    body.truncate(length);
    request.form = form::parse_pairs(&String::from_utf8_lossy(&body));
    Some(Ok(request))
}

fn read_more(from: &mut dyn Read, into: &mut Vec<u8>) -> io::Result<usize> {
    let mut part = [0; 4096];
    loop {
        match from.read(&mut part) {
            Ok(count) => {
                into.extend_from_slice(&part[..count]);
                return Ok(count);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn incomplete(error: &io::Error) -> Response {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Response::text(408, "The request took too long to arrive."),
        _ => Response::text(400, "The request was cut off."),
    }
}

/// Parses everything before the body, and the length of the body.
fn head(bytes: &[u8]) -> Result<(Request, usize), Response> {
    let bad_request = |what: &str| Response::text(400, what);
    let text = std::str::from_utf8(bytes).map_err(|_| bad_request("The request headers are not text."))?;
    let mut lines = text.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some(version), None) = (first.next(), first.next(), first.next(), first.next())
    else {
        return Err(bad_request("The request is not HTTP."));
    };
    if version != "HTTP/1.1" && version != "HTTP/1.0" {
        return Err(Response::text(505, "Only HTTP/1.1 is supported."));
    }
    let method = match method {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        _ => {
            return Err(
                Response::text(405, "Only GET, HEAD and POST are supported.").with_header("Allow", "GET, HEAD, POST")
            );
        }
    };
    if !target.starts_with('/') {
        return Err(bad_request("The address does not begin with a slash."));
    }
    let mut headers: Vec<(String, String)> = Vec::new();
    for line in lines {
        let Some((name, value)) = line.split_once(':') else { return Err(bad_request("A header has no colon.")) };
        if name.is_empty() || name.contains(char::is_whitespace) || headers.len() == MAX_HEADERS {
            return Err(bad_request("The headers are invalid, or too many."));
        }
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    // Ambiguous requests allow request smuggling.
    let times = |wanted: &str| headers.iter().filter(|(name, _)| name == wanted).count();
    if times("host") > 1 || times("content-length") > 1 || times("origin") > 1 {
        return Err(bad_request("A header occurs twice that may occur once."));
    }
    if times("transfer-encoding") > 0 {
        return Err(Response::text(501, "Chunked bodies are not supported: send Content-Length."));
    }
    let length = match find(&headers, "content-length").map(str::parse::<usize>) {
        None => 0,
        Some(Ok(length)) if length <= MAX_BODY => length,
        Some(Ok(_)) => return Err(Response::text(413, "The request body is too long.")),
        Some(Err(_)) => return Err(bad_request("Content-Length is not a number.")),
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let request =
        Request { method, path: form::decode(path), query: form::parse_pairs(query), form: Vec::new(), headers };
    Ok((request, length))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ask(text: &str) -> Result<Request, u16> {
        read(&mut text.as_bytes()).expect("a request").map_err(|response| response.status())
    }

    #[test]
    fn reads_a_request() {
        let request = ask("GET /test/7.json?page=2&q=a%26b HTTP/1.1\r\nHost: localhost\r\nX: y\r\n\r\n").unwrap();
        assert_eq!((request.method, request.path.as_str()), (Method::Get, "/test/7.json"));
        assert_eq!(
            (request.query_value("page"), request.query_value("q"), request.query_value("x")),
            (Some("2"), Some("a&b"), None)
        );
        assert_eq!(request.header("host"), Some("localhost"));
        let request = ask("POST / HTTP/1.1\r\ncontent-length: 7\r\n\r\na=1&b=2&c=3").unwrap();
        assert_eq!(
            (request.form_value("a"), request.form_value("b"), request.form_value("c")),
            (Some("1"), Some("2"), None)
        );
    }

    #[test]
    fn invalid_requests_are_refused() {
        assert_eq!(ask("hello\r\n\r\n").unwrap_err(), 400);
        assert_eq!(ask("GET / HTTP/3\r\n\r\n").unwrap_err(), 505);
        assert_eq!(ask("PUT / HTTP/1.1\r\n\r\n").unwrap_err(), 405);
        assert_eq!(ask("GET http://elsewhere/ HTTP/1.1\r\n\r\n").unwrap_err(), 400);
        assert_eq!(ask("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n").unwrap_err(), 400);
        assert_eq!(ask("GET / HTTP/1.1\r\nHost : a\r\n\r\n").unwrap_err(), 400);
        assert_eq!(ask("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").unwrap_err(), 501);
        assert_eq!(ask("POST / HTTP/1.1\r\nContent-Length: 70000\r\n\r\n").unwrap_err(), 413);
        assert_eq!(ask("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n").unwrap_err(), 400);
        assert_eq!(ask(&format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(20_000))).unwrap_err(), 431);
        assert!(read(&mut "GET / HTTP/1.1\r\n".as_bytes()).is_none(), "the client has closed the connection");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut all = b"GET / HTTP/1.1\r\n".to_vec();
            all.extend(&bytes);
            all.extend(b"\r\n\r\n");
            let _ = read(&mut &all[..]);
            let _ = read(&mut &bytes[..]);
        }
    }
}
