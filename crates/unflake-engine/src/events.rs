//! Everything that can happen to the executor, in one queue: what agents say, processes that end, Ctrl-C.

use std::io::Write;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use std::{io, thread};

use unflake_model::Death;
use unflake_protocol::{AgentMessage, Hello, Line, LineError, LineReader};

use crate::worlds::News;

pub(crate) enum Letter {
    Connected {
        hello: Hello,
        connection: u64,
        stream: UnixStream,
    },
    Said {
        environment: u32,
        connection: u64,
        event: AgentMessage,
    },
    /// A line that could not be understood.
    Garbled {
        environment: u32,
        connection: u64,
        error: LineError,
    },
    Closed {
        environment: u32,
        connection: u64,
    },
    /// A runner process has ended, or could not be started.
    Ended {
        environment: u32,
        how: Result<Death, String>,
    },
    Interrupt,
    /// What is seen in another world.
    Elsewhere {
        world: u32,
        news: News,
    },
}

/// Messages that follow each other faster than this are read together.
pub(crate) const GATHER: Duration = Duration::from_millis(4);
/// But for the first so many of them.
const FEW: u32 = 8;

/// Listens on `socket` for as long as the process lives.
pub(crate) fn open(socket: &Path) -> io::Result<(Sender<Letter>, Receiver<Letter>)> {
    let listener = UnixListener::bind(socket)?;
    let (sender, receiver) = channel();
    let to = sender.clone();
    thread::spawn(move || {
        for (connection, stream) in (0..).zip(listener.incoming()) {
            let Ok(stream) = stream else { continue };
            let to = to.clone();
            thread::spawn(move || listen(connection, stream, &to));
        }
    });
    Ok((sender, receiver))
}

/// Nobody reads the queue any more when a send fails; then there is nothing left to do.
fn listen(connection: u64, stream: UnixStream, to: &Sender<Letter>) {
    let Ok(from) = stream.try_clone() else { return };
    let mut lines = LineReader::new(from);
    let Ok(Line::Message(AgentMessage::Hello(hello))) = lines.read() else {
        let _ = (&stream).write_all(b"{\"order\":\"end\"}\n");
        return;
    };
    let environment = hello.environment;
    let mut sent = to.send(Letter::Connected { hello, connection, stream });
    let (mut last, mut quick) = (Instant::now(), 0);
    while sent.is_ok() {
        // Whoever sends to a reader that sleeps in its read pays for waking it, and so would every short test. What
        // comes in quick succession is let gather for a moment; in the system's buffer it is safe. Of a few messages each is
        // waited for by somebody.
        if lines.is_drained() {
            quick = if last.elapsed() < GATHER { quick + 1 } else { 0 };
            if quick > FEW {
                thread::sleep(GATHER);
            }
            last = Instant::now();
        }
        sent = match lines.read() {
            Ok(Line::Message(event)) => {
                if matches!(event, AgentMessage::Idle | AgentMessage::Bye) {
                    quick = 0;
                }
                to.send(Letter::Said { environment, connection, event })
            }
            Ok(Line::Bad(error)) => to.send(Letter::Garbled { environment, connection, error }),
            Ok(Line::End) | Err(_) => {
                let _ = to.send(Letter::Closed { environment, connection });
                return;
            }
        };
    }
}
