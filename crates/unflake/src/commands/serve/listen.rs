//! Where the server listens, and what makes that safe.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use unflake_web::Tls;

use crate::args::serve::ServeArgs;
use crate::error::CommandError;

/// A place to listen that has been checked.
pub(super) struct Listening {
    pub(super) address: SocketAddr,
    pub(super) tls: Option<Tls>,
    pub(super) proxies: Option<Proxies>,
}

/// Proxies that authenticate users.
#[derive(Clone, Debug)]
pub(super) struct Proxies {
    pub(super) addresses: Vec<IpAddr>,
    /// The lower-case name of the header with the user.
    pub(super) header: String,
    /// Those who may write; `*` is everyone.
    pub(super) writers: Vec<String>,
    /// Where browsers reach it.
    pub(super) url: String,
}

impl Listening {
    /// Refuses an address that other machines reach without protection.
    pub(super) fn of(args: &ServeArgs) -> Result<Self, CommandError> {
        let address = args.listen.unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, args.port)));
        let proxies = proxies(args)?;
        if !address.ip().is_loopback() && args.tls_cert.is_none() && proxies.is_none() {
            let why = format!("{address} can be reached from other machines, and nothing protects it there");
            return Err(CommandError::usage(why).hint(
                "give a certificate (--tls-cert and --tls-key), or the proxy that authenticates users (--trusted-proxy)",
            ));
        }
        let tls = match (&args.tls_cert, &args.tls_key) {
            (Some(certificate), Some(key)) => Some(Tls::from_files(certificate, key).map_err(|why| {
                CommandError::usage(why).hint("give a certificate and its private key as PEM files that you may read")
            })?),
            _ => None,
        };
        Ok(Self { address, tls, proxies })
    }

    /// Every user of this machine may read; other machines cannot connect.
    pub(super) fn is_local(&self) -> bool {
        self.address.ip().is_loopback() && self.tls.is_none() && self.proxies.is_none()
    }
}

fn proxies(args: &ServeArgs) -> Result<Option<Proxies>, CommandError> {
    if args.trusted_proxy.is_empty() {
        return match &args.url {
            Some(_) => Err(CommandError::usage("--url is the address of a proxy, and none is named")
                .hint("name it: `--trusted-proxy IP`")),
            None => Ok(None),
        };
    }
    let Some(url) = &args.url else {
        return Err(CommandError::usage(
            "the address of the proxy is not known, so forms of other sites are not either",
        )
        .hint("give the address at which browsers reach it: `--url https://tests.example`"));
    };
    let Some(url) = origin(url) else {
        return Err(CommandError::usage(format!("--url: `{url}` is not the address of a site"))
            .hint("give `https://` and a host, perhaps with a port, and no path"));
    };
    let header = args.user_header.to_ascii_lowercase();
    if header.is_empty() || !header.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_') {
        return Err(CommandError::usage(format!("--user-header: `{header}` is not the name of a header"))
            .hint("give a name such as X-Forwarded-User"));
    }
    let addresses = args.trusted_proxy.iter().map(IpAddr::to_canonical).collect();
    Ok(Some(Proxies { addresses, header, writers: args.writer.clone(), url }))
}

/// The origin as browsers write it. None if there is more than that.
fn origin(url: &str) -> Option<String> {
    let url = url.strip_suffix('/').unwrap_or(url).to_ascii_lowercase();
    let (scheme, host) = url.split_once("://")?;
    let is_host = !host.is_empty() && !host.contains(['/', '?', '#', '@', ' ']);
    let default_port = if scheme == "https" { ":443" } else { ":80" };
    let host = host.strip_suffix(default_port).unwrap_or(host);
    (is_host && matches!(scheme, "http" | "https")).then(|| format!("{scheme}://{host}"))
}

pub(super) fn cannot_listen(address: SocketAddr, error: io::Error) -> CommandError {
    let port = address.port();
    match error.kind() {
        ErrorKind::AddrInUse => CommandError::usage(format!("port {port} is in use, perhaps by another unflake serve"))
            .hint("`unflake serve --port 0` picks a free port"),
        ErrorKind::PermissionDenied => CommandError::usage(format!("port {port} needs privileges"))
            .hint("use a port above 1023, or `--port 0` for a free one"),
        ErrorKind::AddrNotAvailable => CommandError::usage(format!("{} is no address of this machine", address.ip()))
            .hint("`--listen 0.0.0.0:PORT` listens on all of them"),
        _ => CommandError::internal("listen for connections")(error),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    fn result(options: &str) -> Result<Listening, CommandError> {
        let cli = Cli::try_parse_from(["unflake", "serve"].into_iter().chain(options.split_whitespace())).unwrap();
        let Command::Serve(args) = cli.command else { unreachable!() };
        Listening::of(&args)
    }

    fn refusal(options: &str) -> String {
        result(options).err().unwrap_or_else(|| panic!("{options} is allowed")).message
    }

    #[test]
    fn other_machines_are_served_with_protection_only() {
        for open in ["--listen 0.0.0.0:80", "--listen [::]:80", "--listen 10.1.2.3:8378"] {
            assert!(refusal(open).contains("nothing protects it"), "{open}");
        }
        assert!(result("").unwrap().is_local() && result("--listen [::1]:0").unwrap().is_local());
        let proxied = result("--listen 0.0.0.0:80 --trusted-proxy 10.0.0.1 --url https://A.example:443/").unwrap();
        assert_eq!(proxied.proxies.as_ref().unwrap().url, "https://a.example");
        assert!(!proxied.is_local());
    }

    #[test]
    fn incomplete_descriptions_of_a_proxy_are_refused() {
        assert!(refusal("--listen 0.0.0.0:80 --trusted-proxy 10.0.0.1").contains("not known"));
        assert!(refusal("--url https://a.example").contains("none is named"));
        for url in ["a.example", "ftp://a.example", "https://a.example/unflake", "https://", "https://u@a.example"] {
            let options = format!("--trusted-proxy 10.0.0.1 --url {url}");
            assert!(refusal(&options).contains("not the address of a site"), "{url}");
        }
        assert!(refusal("--trusted-proxy ::1 --url http://a --user-header a:b").contains("not the name of a header"));
        assert!(refusal("--tls-cert /nowhere --tls-key /nowhere").contains("/nowhere is not a certificate in PEM"));
    }
}
