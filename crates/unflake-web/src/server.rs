//! The listener: a task per connection, threads that answer, and a way to stop.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Extension, Request as HttpRequest, State};
use axum::middleware::map_response;
use axum::response::IntoResponse;
use futures_util::future::{Either, select};
use tokio::runtime::Builder;
use tokio::sync::Notify;
use tokio::task::{AbortHandle, spawn_blocking};

use crate::connection;
use crate::response::protect;
use crate::{Request, Response, Site, Tls};

/// Most connections at a time; beyond that the oldest is closed.
const MAX_CONNECTIONS: usize = 256;
/// Most requests that are answered at a time; others wait.
const MAX_ANSWERS: usize = 32;
/// Pause after a failed accept, such as with too many open files.
const PAUSE: Duration = Duration::from_millis(50);

pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    stopping: Arc<Notify>,
}

/// Stops a server from another thread.
#[derive(Clone)]
pub struct Stopper(Arc<Notify>);

/// What each request needs.
struct App<F> {
    site: Site,
    answer: F,
}

impl Server {
    /// Listens on an address; port 0 selects a free one.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, stopping: Arc::default() })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn stopper(&self) -> Stopper {
        Stopper(self.stopping.clone())
    }

    /// Answers requests until it is stopped, each on a thread that may block.
    pub fn run<F>(self, tls: Option<Tls>, site: Site, answer: F) -> io::Result<()>
    where
        F: Fn(&Request) -> Response + Send + Sync + 'static,
    {
        let app = Router::new()
            .fallback(handle::<F>)
            .layer(map_response(protected))
            .with_state(Arc::new(App { site, answer }));
        self.listener.set_nonblocking(true)?;
        let runtime =
            Builder::new_current_thread().enable_io().enable_time().max_blocking_threads(MAX_ANSWERS).build()?;
        runtime.block_on(accept(self.listener, &self.stopping, tls, app))
    }
}

impl Stopper {
    pub fn stop(&self) {
        self.0.notify_one();
    }
}

async fn protected(mut response: axum::response::Response) -> axum::response::Response {
    protect(response.headers_mut());
    response
}

async fn accept(listener: TcpListener, stopping: &Notify, tls: Option<Tls>, app: Router) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut open: VecDeque<AbortHandle> = VecDeque::new();
    let mut stopped = pin!(stopping.notified());
    loop {
        let accepted = match select(pin!(listener.accept()), stopped.as_mut()).await {
            Either::Left((accepted, _)) => accepted,
            Either::Right(_) => break,
        };
        let Ok((stream, peer)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        open.retain(|connection| !connection.is_finished());
        if open.len() >= MAX_CONNECTIONS
            && let Some(oldest) = open.pop_front()
        {
            oldest.abort();
        }
        let app = app.clone().layer(Extension(peer.ip().to_canonical()));
        open.push_back(tokio::spawn(connection::serve(stream, tls.clone(), app)).abort_handle());
    }
    open.iter().for_each(AbortHandle::abort);
    Ok(())
}

async fn handle<F>(
    State(app): State<Arc<App<F>>>,
    Extension(peer): Extension<IpAddr>,
    request: HttpRequest,
) -> axum::response::Response
where
    F: Fn(&Request) -> Response + Send + Sync + 'static,
{
    let (parts, body) = request.into_parts();
    let read = async {
        let mut request = Request::of(parts, peer)?;
        if let Some(refusal) = app.site.refusal(&request) {
            return Err(refusal);
        }
        request.read_form(body).await?;
        Ok(request)
    };
    let read = read.await;
    let response = match read {
        Err(refusal) => refusal,
        Ok(request) => spawn_blocking(move || (app.answer)(&request))
            .await
            .unwrap_or_else(|_| Response::text(500, "Internal error; see unflake's output.")),
    };
    response.into_response()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpStream};
    use std::thread;
    use std::time::Instant;

    use super::*;
    use crate::connection::TIMEOUT;
    use crate::{Feed, ServerEvent};

    /// Runs `visit` against a server, and asserts that the server stops.
    fn serving(visit: impl FnOnce(SocketAddr)) {
        let server = Server::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let site = Site::new(address, None, None);
        let thread = thread::spawn(move || {
            server.run(None, site, |request| match request.path.as_str() {
                "/panic" => panic!("as asked"),
                "/slow" => {
                    thread::sleep(Duration::from_millis(200));
                    Response::text(200, "slow")
                }
                "/events" => Response::events(counting()),
                path => Response::text(200, path),
            })
        });
        visit(address);
        let begun = Instant::now();
        stopper.stop();
        thread.join().unwrap().unwrap();
        assert!(begun.elapsed() < TIMEOUT / 2, "it waited for a slow client");
        assert!(TcpStream::connect(address).is_err(), "the port is still open");
    }

    /// Says nothing at first, then two things.
    fn counting() -> crate::EventSource {
        let mut asked = 0;
        Box::new(move || {
            asked += 1;
            let event = |name, data: &str| ServerEvent { name, id: Some(asked), data: data.to_owned() };
            match asked {
                1 => Feed::More(Vec::new()),
                2 => Feed::More(vec![event("one", "a\nb")]),
                _ => Feed::Last(vec![event("end", "")]),
            }
        })
    }

    fn get(address: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn a_panic_fails_only_its_own_request() {
        serving(|address| {
            assert!(get(address, "/x").ends_with("\r\n\r\n/x\n"));
            assert!(get(address, "/panic").starts_with("HTTP/1.1 500 "));
            let answer = get(address, "/y");
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
            assert!(answer.contains("content-security-policy: default-src 'none'"), "{answer}");
        });
    }

    #[test]
    fn slow_clients_do_not_block_others() {
        serving(|address| {
            let slow: Vec<TcpStream> = (0..2 * MAX_CONNECTIONS)
                .map(|_| {
                    let mut stream = TcpStream::connect(address).unwrap();
                    let _ = stream.write_all(b"GET / HT");
                    stream
                })
                .collect();
            let begun = Instant::now();
            assert!(get(address, "/quick").contains("/quick"));
            assert!(begun.elapsed() < TIMEOUT / 2, "{:?}", begun.elapsed());
            drop(slow);
        });
    }

    #[test]
    fn requests_are_answered_side_by_side() {
        serving(|address| {
            let begun = Instant::now();
            thread::scope(|scope| {
                (0..20).for_each(|_| drop(scope.spawn(|| assert!(get(address, "/slow").ends_with("slow\n")))));
            });
            assert!(begun.elapsed() < Duration::from_millis(200) * 20, "one after the other: {:?}", begun.elapsed());
        });
    }

    #[test]
    fn what_is_too_large_is_refused() {
        serving(|address| {
            let ask = |text: String| {
                let mut stream = TcpStream::connect(address).unwrap();
                let _ = stream.write_all(text.as_bytes());
                let mut answer = Vec::new();
                let _ = stream.read_to_end(&mut answer);
                String::from_utf8_lossy(&answer).split(' ').nth(1).map(str::to_owned).unwrap_or_default()
            };
            let host = format!("Host: {address}\r\nConnection: close");
            assert_eq!(ask(format!("GET /{} HTTP/1.1\r\n{host}\r\n\r\n", "x".repeat(20_000))), "431");
            let long = format!("POST / HTTP/1.1\r\n{host}\r\nContent-Length: 70000\r\n\r\n{}", "x".repeat(70_000));
            assert_eq!(ask(long), "413");
            assert_eq!(ask("hello\r\n\r\n".to_owned()), "400");
            assert_eq!(ask(format!("GET http://elsewhere/ HTTP/1.1\r\n{host}\r\n\r\n")), "400");
            assert_eq!(ask(format!("DELETE / HTTP/1.1\r\n{host}\r\n\r\n")), "405");
        });
    }

    #[test]
    fn events_are_streamed_until_their_source_ends() {
        serving(|address| {
            let answer = get(address, "/events");
            assert!(answer.contains("content-type: text/event-stream\r\n"), "{answer}");
            let events = "event: one\ndata: a\ndata: b\nid: 2\n\n";
            assert!(answer.contains(events) && answer.contains("event: end\n"), "{answer}");
        });
    }

    #[test]
    fn a_port_in_use_is_an_error() {
        let server = Server::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let second = Server::bind(server.address()).err().expect("it is taken");
        assert_eq!(second.kind(), io::ErrorKind::AddrInUse);
    }
}
