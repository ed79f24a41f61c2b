//! The driver's end of the protocol socket.

use std::io::{self, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::slice;
use std::sync::Mutex;

use unflake_protocol::{AgentMessage, Order, to_line};

pub(crate) struct Connection {
    stream: Mutex<UnixStream>,
    orders: BufReader<UnixStream>,
}

impl Connection {
    pub(crate) fn open(socket: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        let orders = BufReader::new(stream.try_clone()?);
        Ok(Self { stream: Mutex::new(stream), orders })
    }

    pub(crate) fn send(&self, event: &AgentMessage) {
        self.send_all(slice::from_ref(event));
    }

    /// May be called from several threads. Ends the process if unflake is gone.
    pub(crate) fn send_all(&self, events: &[AgentMessage]) {
        let lines = events.iter().map(to_line).collect::<Vec<_>>().concat();
        let mut stream = self.stream.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if stream.write_all(&lines).is_err() {
            std::process::exit(3);
        }
    }

    /// None: unflake is gone.
    pub(crate) fn next_order(&mut self) -> Option<Order> {
        let mut line = Vec::new();
        for byte in self.orders.by_ref().bytes() {
            match byte.ok()? {
                b'\n' => return serde_json::from_slice(&line).ok(),
                byte => line.push(byte),
            }
        }
        None
    }
}
