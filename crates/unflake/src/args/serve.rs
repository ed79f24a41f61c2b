//! Options of `unflake serve`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::Args;

use crate::args::help::{READS, long_help};
use crate::args::options::setting_options::StoreOption;
use crate::exit::Exit;

/// `test` on the keys of a telephone.
pub(crate) const PORT: u16 = 8378;

const OTHERS: &str = "Other machines";

#[derive(Debug, Args)]
#[command(after_long_help = after_help())]
pub(crate) struct ServeArgs {
    /// The port on this machine; 0 takes any free one
    #[arg(long, default_value_t = PORT, value_name = "N", conflicts_with = "listen")]
    pub(crate) port: u16,

    /// Listen here, for other machines too
    ///
    /// An address with a port, such as 0.0.0.0:8378. Beyond this machine it needs a certificate or
    /// a proxy that authenticates users.
    #[arg(long, value_name = "ADDR", help_heading = OTHERS)]
    pub(crate) listen: Option<SocketAddr>,

    /// Certificate chain as PEM; serves HTTPS
    ///
    /// Who connects signs in with a token of `unflake token create`.
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = OTHERS)]
    pub(crate) tls_cert: Option<PathBuf>,

    /// Private key of the certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = OTHERS)]
    pub(crate) tls_key: Option<PathBuf>,

    /// Address of a proxy that authenticates users; repeatable
    ///
    /// It names the user in a header, and must remove that header from what clients send.
    #[arg(long, value_name = "IP", help_heading = OTHERS, hide_short_help = true)]
    pub(crate) trusted_proxy: Vec<IpAddr>,

    /// Header in which the proxy names the user
    #[arg(
        long,
        value_name = "NAME",
        default_value = "X-Forwarded-User",
        requires = "trusted_proxy",
        help_heading = OTHERS,
        hide_short_help = true
    )]
    pub(crate) user_header: String,

    /// User of the proxy who may make changes; repeatable
    ///
    /// `*` means all of them. The others read.
    #[arg(long, value_name = "USER", requires = "trusted_proxy", help_heading = OTHERS, hide_short_help = true)]
    pub(crate) writer: Vec<String>,

    /// Address at which browsers reach the proxy, such as https://…
    #[arg(long, value_name = "URL", help_heading = OTHERS, hide_short_help = true)]
    pub(crate) url: Option<String>,

    #[command(flatten)]
    pub(crate) store: StoreOption,
}

fn after_help() -> String {
    let examples = [
        ("unflake serve", "Print an address of this machine, and serve until Ctrl-C."),
        ("curl localhost:8378/inbox.json", "Every page as JSON: its address with .json."),
        (
            "unflake serve --listen 0.0.0.0:8378 --tls-cert cert.pem --tls-key key.pem",
            "Serve a team over HTTPS; `unflake token create` makes their tokens.",
        ),
    ];
    long_help(&examples, &[(Exit::Success, "stopped by Ctrl-C")], READS)
}
