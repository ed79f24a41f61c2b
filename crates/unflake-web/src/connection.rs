//! One connection: the TLS handshake, and requests until it closes.

use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::Tls;
use crate::stall_guard::StallGuard;

/// Time limit for a handshake, for a request to arrive, and for a client to go on reading.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);
const MAX_HEADERS: usize = 100;
const MAX_HEAD: usize = 16 * 1024;

pub(crate) async fn serve(stream: TcpStream, tls: Option<Tls>, app: Router) {
    let _ = stream.set_nodelay(true);
    let stream = StallGuard::new(stream);
    match tls {
        None => serve_http(stream, app).await,
        Some(tls) => {
            let accepted = timeout(TIMEOUT, TlsAcceptor::from(tls.config).accept(stream)).await;
            if let Ok(Ok(stream)) = accepted {
                serve_http(stream, app).await;
            }
        }
    }
}

async fn serve_http(stream: impl AsyncRead + AsyncWrite + Unpin + 'static, app: Router) {
    // A client that breaks off is no error of ours.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(TIMEOUT)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(app))
        .await;
}
