//! A request as the application sees it: decoded, and bounded in size.

use std::net::IpAddr;

use axum::body::{Body, to_bytes};
use axum::http::request::Parts;
use axum::http::{self, HeaderMap, Version};
use tokio::time::timeout;

use crate::Response;
use crate::connection::TIMEOUT;
use crate::form;

const MAX_BODY: usize = 64 * 1024;

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
    /// The address of the other end of the connection.
    pub peer: IpAddr,
    headers: HeaderMap,
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

    /// The values of a header, by its lower-case name. Those that are not ASCII text are empty.
    pub fn headers(&self, name: &str) -> impl Iterator<Item = &str> {
        self.headers.get_all(name).into_iter().map(|value| value.to_str().unwrap_or_default().trim())
    }

    /// The value of a header that has exactly one.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers(name);
        all.next().filter(|_| all.next().is_none())
    }

    /// The token of `Authorization: Bearer …`.
    pub fn bearer(&self) -> Option<&str> {
        self.header("authorization")?.strip_prefix("Bearer ").map(str::trim)
    }

    /// The values of a cookie.
    pub fn cookies<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let all = self.headers("cookie").flat_map(|value| value.split(';')).map(str::trim);
        all.filter_map(move |cookie| cookie.strip_prefix(name)?.strip_prefix('='))
    }

    /// Reads the head. An invalid one yields the error response.
    pub(crate) fn of(parts: Parts, peer: IpAddr) -> Result<Self, Response> {
        let method = match parts.method {
            http::Method::GET => Method::Get,
            http::Method::HEAD => Method::Head,
            http::Method::POST => Method::Post,
            _ => {
                let refused = Response::text(405, "Only GET, HEAD and POST are supported.");
                return Err(refused.with_header("allow", "GET, HEAD, POST"));
            }
        };
        let bad_request = |what: &str| Err(Response::text(400, what));
        if parts.uri.authority().is_some() || !parts.uri.path().starts_with('/') {
            return bad_request("The address does not begin with a slash.");
        }
        // Ambiguous requests allow request smuggling.
        let times = |name: &str| parts.headers.get_all(name).iter().count();
        if ["host", "origin", "authorization"].iter().any(|name| times(name) > 1) {
            return bad_request("A header occurs twice that may occur once.");
        }
        if parts.version == Version::HTTP_11 && times("host") == 0 {
            return bad_request("The request has no Host header.");
        }
        Ok(Self {
            method,
            path: form::decode(parts.uri.path()),
            query: form::parse_pairs(parts.uri.query().unwrap_or_default()),
            form: Vec::new(),
            peer,
            headers: parts.headers,
        })
    }

    pub(crate) async fn read_form(&mut self, body: Body) -> Result<(), Response> {
        match timeout(TIMEOUT, to_bytes(body, MAX_BODY)).await {
            Ok(Ok(bytes)) => {
                self.form = form::parse_pairs(&String::from_utf8_lossy(&bytes));
                Ok(())
            }
            Ok(Err(_)) => Err(Response::text(413, "The request body is too long, or was cut off.")),
            Err(_) => Err(Response::text(408, "The request took too long to arrive.")),
        }
    }
}

fn find<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str())
}

#[cfg(test)]
pub(crate) fn sample(method: &str, uri: &str, headers: &[(&str, &str)]) -> Result<Request, Response> {
    let mut builder = http::Request::builder().method(method).uri(uri);
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    Request::of(builder.body(()).unwrap().into_parts().0, IpAddr::from([127, 0, 0, 1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: (&str, &str) = ("host", "localhost");

    #[test]
    fn reads_a_request() {
        let request = sample("GET", "/test/7.json?page=2&q=a%26b", &[HOST, ("x", " y ")]).unwrap();
        assert_eq!((request.method, request.path.as_str()), (Method::Get, "/test/7.json"));
        assert_eq!(
            (request.query_value("page"), request.query_value("q"), request.query_value("x")),
            (Some("2"), Some("a&b"), None)
        );
        assert_eq!(request.header("x"), Some("y"));
    }

    #[test]
    fn credentials_are_read_once_only() {
        let headers = [HOST, ("authorization", "Bearer abc"), ("cookie", "a=b; c=d; a=e"), ("cookie", "a=f")];
        let request = sample("GET", "/", &headers).unwrap();
        assert_eq!(request.bearer(), Some("abc"));
        assert_eq!(request.cookies("a").collect::<Vec<_>>(), ["b", "e", "f"]);
        assert_eq!(request.header("cookie"), None, "there are two");
        let twice = [HOST, ("authorization", "Bearer abc"), ("authorization", "Bearer d")];
        assert_eq!(sample("GET", "/", &twice).unwrap_err().status(), 400);
    }

    #[test]
    fn invalid_requests_are_refused() {
        let status = |method: &str, uri: &str, headers: &[(&str, &str)]| {
            sample(method, uri, headers).map_err(|response| response.status()).err()
        };
        assert_eq!(status("PUT", "/", &[HOST]), Some(405));
        assert_eq!(status("GET", "http://elsewhere/", &[HOST]), Some(400));
        assert_eq!(status("GET", "/", &[]), Some(400));
        assert_eq!(status("GET", "/", &[HOST, ("host", "b")]), Some(400));
        assert_eq!(status("HEAD", "/", &[HOST]), None);
    }
}
