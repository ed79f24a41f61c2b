//! Everything that the engine reacts to, in one queue: messages of agents, processes that exit,
//! interrupts, reports of other worlds.

use std::io::Write;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use std::{io, thread};

use unflake_protocol::{AgentMessage, Hello, Line, LineError, LineReader};

use crate::remote::RemoteReport;
use crate::runner_process::supervisor::RunnerEnd;
use crate::worlds::WorldReport;

/// One entry of the queue.
pub(crate) enum EngineInput {
    Connected {
        hello: Hello,
        connection: u64,
        stream: UnixStream,
    },
    Message {
        environment: u32,
        connection: u64,
        message: AgentMessage,
    },
    /// A line that is not a message.
    BadLine {
        environment: u32,
        connection: u64,
        error: LineError,
    },
    Disconnected {
        environment: u32,
        connection: u64,
    },
    /// A runner process has ended, or could not be started.
    ProcessExited {
        environment: u32,
        end: RunnerEnd,
    },
    Interrupt,
    /// A report of another machine.
    Remote(RemoteReport),
    /// A report of the engine of another world.
    World {
        number: u32,
        report: WorldReport,
    },
}

/// Messages that follow each other faster than this are read in batches.
pub(crate) const BATCH_DELAY: Duration = Duration::from_millis(4);
/// So many messages in quick succession are still read one by one.
const UNBATCHED: u32 = 8;

/// Accepts agents on `socket` for as long as the process lives.
pub(crate) fn listen(socket: &Path) -> io::Result<(Sender<EngineInput>, Receiver<EngineInput>)> {
    let listener = UnixListener::bind(socket)?;
    let (sender, receiver) = channel();
    let to = sender.clone();
    thread::spawn(move || {
        for (connection, stream) in (0..).zip(listener.incoming()) {
            let Ok(stream) = stream else { continue };
            let to = to.clone();
            thread::spawn(move || read_connection(connection, stream, &to));
        }
    });
    Ok((sender, receiver))
}

/// Forwards the messages of one agent. Returns when the connection closes or the engine is gone.
fn read_connection(connection: u64, stream: UnixStream, to: &Sender<EngineInput>) {
    let Ok(from) = stream.try_clone() else { return };
    let mut lines = LineReader::new(from);
    let Ok(Line::Message(AgentMessage::Hello(hello))) = lines.read() else {
        let _ = (&stream).write_all(b"{\"order\":\"end\"}\n");
        return;
    };
    let environment = hello.environment;
    let mut sent = to.send(EngineInput::Connected { hello, connection, stream });
    let (mut last, mut quick) = (Instant::now(), 0);
    while sent.is_ok() {
        // A process that sends to a sleeping reader pays for waking it, and so would every short
        // test. Messages in quick succession therefore accumulate for a moment in the socket
        // buffer. The first few are not delayed: the sender may wait for an answer.
        if lines.is_drained() {
            quick = if last.elapsed() < BATCH_DELAY { quick + 1 } else { 0 };
            if quick > UNBATCHED {
                thread::sleep(BATCH_DELAY);
            }
            last = Instant::now();
        }
        sent = match lines.read() {
            Ok(Line::Message(message)) => {
                if matches!(message, AgentMessage::Idle | AgentMessage::Bye) {
                    quick = 0;
                }
                to.send(EngineInput::Message { environment, connection, message })
            }
            Ok(Line::Bad(error)) => to.send(EngineInput::BadLine { environment, connection, error }),
            Ok(Line::End) | Err(_) => {
                let _ = to.send(EngineInput::Disconnected { environment, connection });
                return;
            }
        };
    }
}
