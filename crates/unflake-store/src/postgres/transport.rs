//! The byte stream to a server: TCP, TCP with TLS, or a Unix socket.

use std::future::{Ready, ready};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

use super::address::{self, ServerAddress, ServerHost};
use super::tls;
use crate::database::{DatabaseError, Result};
use crate::error::CHECK_ADDRESS;

pub(super) enum Transport {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls { stream: Box<tokio_rustls::client::TlsStream<TcpStream>>, end_point: Option<Vec<u8>> },
}

/// Whether to ask for encryption.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Encryption {
    Never,
    IfPossible,
    Always,
}

/// Protocol version 1234.5679: the request for TLS.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

impl Transport {
    pub(super) async fn open(address: &ServerAddress, encryption: Encryption) -> Result<Self> {
        let host = match &address.host {
            ServerHost::Name(host) => host,
            // As with libpq, local sockets are never encrypted.
            ServerHost::Socket(dir) => {
                return Ok(Self::Unix(UnixStream::connect(address::socket(dir, address.port)).await?));
            }
        };
        let mut stream = TcpStream::connect((host.as_str(), address.port)).await?;
        // Every write is a whole query, so waiting for more data only adds latency.
        stream.set_nodelay(true)?;
        if encryption == Encryption::Never {
            return Ok(Self::Tcp(stream));
        }
        stream.write_all(&SSL_REQUEST).await?;
        let refused = |why: &str, next| DatabaseError::Refused { why: why.to_owned(), next };
        match stream.read_u8().await? {
            b'S' => {}
            b'N' if encryption == Encryption::IfPossible => return Ok(Self::Tcp(stream)),
            b'N' => return Err(refused("the server does not encrypt connections", ENABLE_TLS)),
            _ => return Err(refused("the server there is not PostgreSQL", CHECK_ADDRESS)),
        }
        let config = tls::client_config(&address.tls)?;
        let name = ServerName::try_from(host.clone()).map_err(|error| DatabaseError::Tls(error.to_string()))?;
        let connected = TlsConnector::from(config).connect(name, stream).await;
        let stream = Box::new(connected.map_err(handshake_error)?);
        let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
        let end_point = certificates.first().and_then(|certificate| tls::end_point(certificate));
        Ok(Self::Tls { stream, end_point })
    }

    pub(super) fn is_encrypted(&self) -> bool {
        matches!(self, Self::Tls { .. })
    }
}

const ENABLE_TLS: &str = "Enable TLS there (ssl = on), or accept an unencrypted connection (sslmode=disable)";

fn handshake_error(error: io::Error) -> DatabaseError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(tls) => DatabaseError::Tls(tls.to_string()),
        None => error.into(),
    }
}

/// Hands an open stream to the client library, which asks it for the channel binding.
pub(super) struct OpenTransport;

impl TlsConnect<Transport> for OpenTransport {
    type Stream = Transport;
    type Error = io::Error;
    type Future = Ready<io::Result<Transport>>;

    fn connect(self, stream: Transport) -> Self::Future {
        ready(Ok(stream))
    }
}

impl TlsStream for Transport {
    fn channel_binding(&self) -> ChannelBinding {
        match self {
            Self::Tls { end_point: Some(end_point), .. } => ChannelBinding::tls_server_end_point(end_point.clone()),
            _ => ChannelBinding::none(),
        }
    }
}

impl AsyncRead for Transport {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls { stream, .. } => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Transport {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(context, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_write(context, buffer),
            Self::Tls { stream, .. } => Pin::new(stream).poll_write(context, buffer),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Self::Unix(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls { stream, .. } => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls { stream, .. } => Pin::new(stream).poll_shutdown(context),
        }
    }
}
