//! The listener: one thread per connection, and a way to stop.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::Response;
use crate::access_control;
use crate::request::{self, Method, Request};

/// Most connections at a time; beyond that the oldest is closed.
const MAX_CONNECTIONS: usize = 64;
/// Time limit for a request to arrive, and for a response to be taken.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Pause after a failed accept, such as with too many open files.
const PAUSE: Duration = Duration::from_millis(50);

pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    stopping: Arc<AtomicBool>,
}

/// Stops a server from another thread.
#[derive(Clone)]
pub struct Stopper {
    address: SocketAddr,
    stopping: Arc<AtomicBool>,
}

impl Server {
    /// Listens on a port of the loopback interface; 0 selects a free one.
    pub fn bind(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, stopping: Arc::default() })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn stopper(&self) -> Stopper {
        Stopper { address: self.address, stopping: self.stopping.clone() }
    }

    /// Answers requests until it is stopped.
    pub fn run(self, answer: impl Fn(&Request) -> Response + Sync) {
        let open = OpenConnections::default();
        thread::scope(|scope| {
            for stream in self.listener.incoming() {
                if self.stopping.load(Ordering::SeqCst) {
                    break;
                }
                let Ok(stream) = stream else {
                    thread::sleep(PAUSE);
                    continue;
                };
                let Ok(number) = open.add(&stream) else { continue };
                let (open, answer, port) = (&open, &answer, self.address.port());
                let serve_connection = move || {
                    serve_connection(&stream, port, answer);
                    open.remove(number);
                };
                if thread::Builder::new().spawn_scoped(scope, serve_connection).is_err() {
                    open.remove(number);
                }
            }
            open.close();
        });
    }
}

impl Stopper {
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        // Wakes the accept call.
        let _ = TcpStream::connect_timeout(&self.address, TIMEOUT);
    }
}

/// Open connections, oldest first.
#[derive(Default)]
struct OpenConnections {
    all: Mutex<(u64, VecDeque<(u64, TcpStream)>)>,
}

impl OpenConnections {
    /// Registers a connection under a new number, and closes the oldest if there are too many.
    fn add(&self, stream: &TcpStream) -> io::Result<u64> {
        let copy = stream.try_clone()?;
        let (last, all) = &mut *self.all.lock().expect("nothing panics under this lock");
        if all.len() >= MAX_CONNECTIONS
            && let Some((_, oldest)) = all.pop_front()
        {
            let _ = oldest.shutdown(Shutdown::Both);
        }
        *last += 1;
        all.push_back((*last, copy));
        Ok(*last)
    }

    fn remove(&self, number: u64) {
        self.all.lock().expect("nothing panics under this lock").1.retain(|(one, _)| *one != number);
    }

    fn close(&self) {
        for (_, stream) in &self.all.lock().expect("nothing panics under this lock").1 {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn serve_connection(stream: &TcpStream, port: u16, answer: &(impl Fn(&Request) -> Response + Sync)) {
    let until = Instant::now() + TIMEOUT;
    let (response, with_body) = match request::read(&mut DeadlineStream { stream, until }) {
        None => return,
        Some(Err(bad_request)) => (bad_request, true),
        Some(Ok(request)) => {
            let response = access_control::refusal(&request, port)
                .map_or_else(|| catch_unwind(AssertUnwindSafe(|| answer(&request))), Ok);
            let failed = |_| Response::text(500, "Internal error; see unflake's output.");
            (response.unwrap_or_else(failed), request.method != Method::Head)
        }
    };
    let mut out = DeadlineStream { stream, until: Instant::now() + TIMEOUT };
    let _ = out.write_all(&response.bytes(with_body));
    // Closing a socket with unread input would discard the response.
    let _ = stream.shutdown(Shutdown::Write);
    let _ = io::copy(&mut DeadlineStream { stream, until: Instant::now() + PAUSE }.take(1 << 20), &mut io::sink());
}

/// A connection with one deadline for all operations together.
struct DeadlineStream<'a> {
    stream: &'a TcpStream,
    until: Instant,
}

impl DeadlineStream<'_> {
    fn left(&self) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for DeadlineStream<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(into)
    }
}

impl Write for DeadlineStream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `visit` against a server, and asserts that the server stops.
    fn serving(visit: impl FnOnce(SocketAddr)) {
        let server = Server::bind(0).unwrap();
        let (address, stopper) = (server.address(), server.stopper());
        let thread = thread::spawn(move || {
            server.run(|request| match request.path.as_str() {
                "/panic" => panic!("as asked"),
                path => Response::text(200, path),
            });
        });
        visit(address);
        let begun = Instant::now();
        stopper.stop();
        thread.join().unwrap();
        assert!(begun.elapsed() < TIMEOUT / 2, "it waited for a slow client");
        assert!(TcpStream::connect(address).is_err(), "the port is still open");
    }

    fn get(address: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn a_panic_fails_only_its_own_request() {
        serving(|address| {
            assert!(get(address, "/x").ends_with("\r\n\r\n/x\n"));
            assert!(get(address, "/panic").starts_with("HTTP/1.1 500 "));
            assert!(get(address, "/y").starts_with("HTTP/1.1 200 OK\r\n"));
        });
    }

    #[test]
    fn slow_clients_do_not_block_others() {
        serving(|address| {
            let slow: Vec<TcpStream> = (0..3 * MAX_CONNECTIONS)
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
    fn a_port_in_use_is_an_error() {
        let server = Server::bind(0).unwrap();
        let second = Server::bind(server.address().port()).err().expect("it is taken");
        assert_eq!(second.kind(), io::ErrorKind::AddrInUse);
    }
}
