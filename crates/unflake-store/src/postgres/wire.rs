//! Reads and writes messages of the PostgreSQL protocol, version 3.

use std::io::{self, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Far above the length of any valid message.
const MAX_MESSAGE: usize = 1 << 30;

enum WireStream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

pub(super) struct Wire {
    stream: BufReader<WireStream>,
    /// The bytes to send next.
    out: Vec<u8>,
    /// After an I/O error the position in the stream is unknown.
    is_broken: bool,
}

/// A message of the server: its type byte and its body.
pub(super) struct Message {
    pub(super) kind: u8,
    pub(super) body: Vec<u8>,
}

impl Wire {
    pub(super) fn to_socket(path: &Path) -> io::Result<Self> {
        UnixStream::connect(path).map(|stream| Self::over(WireStream::Unix(stream)))
    }

    pub(super) fn to_host(host: &str, port: u16, timeout: Duration) -> io::Result<Self> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, format!("{host} cannot be resolved"));
        for address in (host, port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, timeout) {
                Ok(stream) => {
                    // Every write is a whole query, so pending for more data only adds latency.
                    stream.set_nodelay(true)?;
                    return Ok(Self::over(WireStream::Tcp(stream)));
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn over(stream: WireStream) -> Self {
        Self { stream: BufReader::with_capacity(64 << 10, stream), out: Vec::new(), is_broken: false }
    }

    /// Sets the timeout of reads and writes.
    pub(super) fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        match self.stream.get_ref() {
            WireStream::Tcp(stream) => stream.set_read_timeout(Some(timeout))?,
            WireStream::Unix(stream) => stream.set_read_timeout(Some(timeout))?,
        }
        match self.stream.get_ref() {
            WireStream::Tcp(stream) => stream.set_write_timeout(Some(timeout)),
            WireStream::Unix(stream) => stream.set_write_timeout(Some(timeout)),
        }
    }

    /// Whether the connection is local, so that eavesdropping is impossible.
    pub(super) fn is_local(&self) -> bool {
        match self.stream.get_ref() {
            WireStream::Tcp(stream) => stream.peer_addr().is_ok_and(|peer| peer.ip().is_loopback()),
            WireStream::Unix(_) => true,
        }
    }

    /// Appends a message to the output buffer. Kind 0 writes no type byte: the startup message.
    pub(super) fn put(&mut self, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
        if kind != 0 {
            self.out.push(kind);
        }
        let at = self.out.len();
        self.out.extend([0; 4]);
        body(&mut self.out);
        let length = u32::try_from(self.out.len() - at).unwrap_or(u32::MAX);
        self.out[at..at + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// The number of bytes to send.
    pub(super) fn pending(&self) -> usize {
        self.out.len()
    }

    pub(super) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// After the first error, every operation fails immediately.
    fn unless_broken<T>(&mut self, work: impl FnOnce(&mut Self) -> io::Result<T>) -> io::Result<T> {
        if self.is_broken {
            return Err(io::ErrorKind::NotConnected.into());
        }
        let result = work(self);
        self.is_broken = result.is_err();
        result
    }

    pub(super) fn send(&mut self) -> io::Result<()> {
        let result = self.unless_broken(|wire| wire.stream.get_mut().write_all(&wire.out));
        self.out.clear();
        // Releases the memory of an unusually long message.
        self.out.shrink_to(1 << 20);
        result
    }

    pub(super) fn receive(&mut self) -> io::Result<Message> {
        let mut message = Message { kind: 0, body: Vec::new() };
        self.receive_into(&mut message)?;
        Ok(message)
    }

    /// Reuses the buffer of the message.
    pub(super) fn receive_into(&mut self, message: &mut Message) -> io::Result<()> {
        self.unless_broken(|wire| wire.read(message))
    }

    fn read(&mut self, message: &mut Message) -> io::Result<()> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head)?;
        message.kind = head[0];
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let Some(length) = length.checked_sub(4).filter(|length| *length < MAX_MESSAGE) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the server there is not PostgreSQL"));
        };
        message.body.resize(length, 0);
        self.stream.read_exact(&mut message.body)
    }
}

impl Message {
    pub(super) fn reader(&self) -> WireReader<'_> {
        WireReader(&self.body)
    }
}

/// Decodes a message body. Reads zeros and empty texts past its end.
pub(super) struct WireReader<'a>(pub(super) &'a [u8]);

impl<'a> WireReader<'a> {
    pub(super) fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        self.bytes(N).try_into().unwrap_or([0; N])
    }

    pub(super) fn byte(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    pub(super) fn short(&mut self) -> u16 {
        u16::from_be_bytes(self.array())
    }

    pub(super) fn long(&mut self) -> u32 {
        u32::from_be_bytes(self.array())
    }

    /// Reads a zero-terminated text.
    pub(super) fn text(&mut self) -> String {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        let text = String::from_utf8_lossy(self.bytes(end)).into_owned();
        self.bytes(1);
        text
    }
}

/// Appends a text and its terminating zero.
pub(super) fn text(out: &mut Vec<u8>, text: &str) {
    out.extend(text.bytes().filter(|byte| *byte != 0));
    out.push(0);
}

impl Read for WireStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for WireStream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(buffer),
            Self::Unix(stream) => stream.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.flush(),
            Self::Unix(stream) => stream.flush(),
        }
    }
}
