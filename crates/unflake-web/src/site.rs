//! Which names and origins a server answers to.

use std::net::{IpAddr, SocketAddr};

use crate::{Method, Request, Response, Tls};

/// The names of a server, as browsers know it.
#[derive(Clone)]
pub struct Site {
    listening: SocketAddr,
    tls: Option<Tls>,
    /// Where a proxy offers it, such as `https://tests.example`.
    url: Option<String>,
}

impl Site {
    pub fn new(listening: SocketAddr, tls: Option<Tls>, url: Option<String>) -> Self {
        Self { listening, tls, url }
    }

    /// Whether browsers reach it by HTTPS only.
    pub fn is_secure(&self) -> bool {
        self.tls.is_some() || self.url.as_ref().is_some_and(|url| url.starts_with("https://"))
    }

    /// The error response for a request to another site, or of a form of another site.
    pub(crate) fn refusal(&self, request: &Request) -> Option<Response> {
        let host = request.header("host").unwrap_or_default();
        if !self.answers_to(host) {
            return Some(Response::text(421, self.names()));
        }
        let from = request.header("origin").filter(|_| request.method == Method::Post)?;
        let is_ours = match &self.url {
            Some(url) => from == url,
            None => from.split_once("://") == Some((if self.tls.is_some() { "https" } else { "http" }, host)),
        };
        (!is_ours).then(|| Response::text(403, "A page of another site may not write here."))
    }

    fn names(&self) -> &'static str {
        match (&self.url, &self.tls) {
            (Some(_), _) => "This server answers to the name in its --url, and to no other.",
            (None, Some(_)) => "This server answers to the names in its certificate, and to no other.",
            (None, None) => "This page is served to this machine only, under its own name: localhost or 127.0.0.1.",
        }
    }

    fn answers_to(&self, host: &str) -> bool {
        let (name, port) = split_port(host);
        if self.listening.ip().is_loopback() && self.tls.is_none() && self.url.is_none() {
            let is_here = ["127.0.0.1", "localhost", "::1"].iter().any(|here| name.eq_ignore_ascii_case(here));
            return is_here && port.unwrap_or("80") == self.listening.port().to_string();
        }
        // No page of another site can have an address as its name.
        name.parse::<IpAddr>().is_ok()
            || name.eq_ignore_ascii_case("localhost")
            || self.url.as_ref().and_then(|url| url.split_once("://")).is_some_and(|(_, own)| own == host)
            || self.tls.as_ref().is_some_and(|tls| tls.is_valid_for(name))
    }
}

/// The name without brackets, and the port.
fn split_port(host: &str) -> (&str, Option<&str>) {
    if let Some((name, rest)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return (name, rest.strip_prefix(':'));
    }
    host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::sample;

    fn local() -> Site {
        Site::new(([127, 0, 0, 1], 7357).into(), None, None)
    }

    fn behind_proxy() -> Site {
        Site::new(([10, 0, 0, 1], 7357).into(), None, Some("https://tests.example".to_owned()))
    }

    fn status(site: &Site, method: &str, headers: &[(&str, &str)]) -> Option<u16> {
        site.refusal(&sample(method, "/", headers).unwrap()).map(|response| response.status())
    }

    #[test]
    fn only_loopback_hosts_are_allowed_on_this_machine() {
        let status = |host: &str| status(&local(), "GET", &[("host", host)]);
        for host in ["127.0.0.1:7357", "LocalHost:7357", "[::1]:7357"] {
            assert_eq!(status(host), None, "{host}");
        }
        let foreign = ["evil.example:7357", "127.0.0.1:80", "localhost", "127.0.0.1.evil.example:7357", "", ":7357"];
        for host in foreign.into_iter().chain(["10.0.0.1:7357", "[::1]", "[::1"]) {
            assert_eq!(status(host), Some(421), "{host}");
        }
    }

    #[test]
    fn behind_a_proxy_its_name_and_addresses_are_allowed() {
        let status = |host: &str| status(&behind_proxy(), "GET", &[("host", host)]);
        for host in ["tests.example", "10.0.0.1:7357", "localhost:7357", "[fe80::1]:7357"] {
            assert_eq!(status(host), None, "{host}");
        }
        for host in ["evil.example", "tests.example.evil.example", "", "tests.example:7357"] {
            assert_eq!(status(host), Some(421), "{host}");
        }
    }

    #[test]
    fn posts_of_other_origins_are_refused() {
        let local = |origin: &str| status(&local(), "POST", &[("host", "localhost:7357"), ("origin", origin)]);
        assert_eq!(local("http://localhost:7357"), None);
        for origin in
            ["http://evil.example", "null", "https://localhost:7357", "http://localhost:8000", "http://127.0.0.1:7357"]
        {
            assert_eq!(local(origin), Some(403), "{origin}");
        }
        let proxied = |origin: &str| status(&behind_proxy(), "POST", &[("host", "10.0.0.1"), ("origin", origin)]);
        assert_eq!(proxied("https://tests.example"), None);
        assert_eq!(proxied("http://tests.example"), Some(403));
        assert_eq!(proxied("https://10.0.0.1"), Some(403));
    }
}
