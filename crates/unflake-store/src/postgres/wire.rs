//! Messages of the PostgreSQL protocol, version 3: how they are written, and how they are read off a stream.

use std::io::{self, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// No message of ours or of a server about our tables comes near it.
const LONGEST: usize = 1 << 30;

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

pub(super) struct Wire {
    stream: BufReader<Stream>,
    /// What is to be sent next.
    out: Vec<u8>,
    /// Something went wrong on the way: nobody knows what would be read next.
    is_broken: bool,
}

/// A message of the server: what it is, and what it has.
pub(super) struct Message {
    pub(super) kind: u8,
    pub(super) body: Vec<u8>,
}

impl Wire {
    pub(super) fn to_socket(path: &Path) -> io::Result<Self> {
        UnixStream::connect(path).map(|stream| Self::over(Stream::Unix(stream)))
    }

    pub(super) fn to_host(host: &str, port: u16, patience: Duration) -> io::Result<Self> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, format!("no address is known for {host}"));
        for address in (host, port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, patience) {
                Ok(stream) => {
                    // Whatever is sent is a whole question.
                    stream.set_nodelay(true)?;
                    return Ok(Self::over(Stream::Tcp(stream)));
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn over(stream: Stream) -> Self {
        Self { stream: BufReader::with_capacity(64 << 10, stream), out: Vec::new(), is_broken: false }
    }

    /// How long to wait for the server's next word, or for it to take ours.
    pub(super) fn patience(&self, patience: Duration) -> io::Result<()> {
        match self.stream.get_ref() {
            Stream::Tcp(stream) => stream.set_read_timeout(Some(patience))?,
            Stream::Unix(stream) => stream.set_read_timeout(Some(patience))?,
        }
        match self.stream.get_ref() {
            Stream::Tcp(stream) => stream.set_write_timeout(Some(patience)),
            Stream::Unix(stream) => stream.set_write_timeout(Some(patience)),
        }
    }

    /// Whether nobody on the way can read along.
    pub(super) fn is_local(&self) -> bool {
        match self.stream.get_ref() {
            Stream::Tcp(stream) => stream.peer_addr().is_ok_and(|peer| peer.ip().is_loopback()),
            Stream::Unix(_) => true,
        }
    }

    /// Puts a message into what is to be sent. A kind of 0 has none: the first message of a connection.
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

    /// How much is waiting to be sent.
    pub(super) fn waiting(&self) -> usize {
        self.out.len()
    }

    pub(super) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// From the first that goes wrong on, everything does, at once.
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
        // After one long text not to be kept for ever.
        self.out.shrink_to(1 << 20);
        result
    }

    pub(super) fn receive(&mut self) -> io::Result<Message> {
        let mut message = Message { kind: 0, body: Vec::new() };
        self.receive_into(&mut message)?;
        Ok(message)
    }

    /// Into a message whose room is used again.
    pub(super) fn receive_into(&mut self, message: &mut Message) -> io::Result<()> {
        self.unless_broken(|wire| wire.read(message))
    }

    fn read(&mut self, message: &mut Message) -> io::Result<()> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head)?;
        message.kind = head[0];
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let Some(length) = length.checked_sub(4).filter(|length| *length < LONGEST) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "what answers there is no PostgreSQL"));
        };
        message.body.resize(length, 0);
        self.stream.read_exact(&mut message.body)
    }
}

impl Message {
    pub(super) fn reader(&self) -> Reader<'_> {
        Reader(&self.body)
    }
}

/// Takes a body apart. Where it ends too early, zeros and empty texts are read.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
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

    /// Up to the zero that ends it.
    pub(super) fn text(&mut self) -> String {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        let text = String::from_utf8_lossy(self.bytes(end)).into_owned();
        self.bytes(1);
        text
    }
}

/// Adds a text and the zero that ends it.
pub(super) fn text(out: &mut Vec<u8>, text: &str) {
    out.extend(text.bytes().filter(|byte| *byte != 0));
    out.push(0);
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
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
