//! The orders that a worker receives, read by a thread of its own: an order to stop must arrive while
//! sessions run.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{fs, io, process, thread};

use tracing::{debug, info};
use unflake_engine::{Interrupter, RemoteLaunch};
use unflake_model::Session;

use crate::files::SILENCE;
use crate::frames::FrameReader;
use crate::messages::ToWorker;

/// How often to look for orders: often while the last ones are young.
const EAGER: Duration = Duration::from_millis(10);
const CALM: Duration = Duration::from_millis(100);
const CALM_AFTER: Duration = Duration::from_secs(2);
/// How often to look whether the run is alive.
const BEAT_CHECK: Duration = Duration::from_secs(1);
/// How long sessions may take to end when the run is gone.
const ENDING: Duration = Duration::from_secs(10);

pub(super) enum WorkerOrder {
    Run { number: u64, owner: u64, launch: Box<RemoteLaunch>, sessions: Vec<Session>, stop: StopSwitch },
    End,
}

/// Stops the engine that runs the sessions of an order, also one that is only about to start.
#[derive(Clone, Default)]
pub(super) struct StopSwitch(Arc<Mutex<SwitchState>>);

#[derive(Default)]
struct SwitchState {
    is_stopped: bool,
    interrupter: Option<Interrupter>,
}

impl StopSwitch {
    pub(super) fn connect(&self, interrupter: Interrupter) {
        let mut state = self.0.lock().expect("no thread panics while it has the lock");
        if state.is_stopped {
            interrupter.interrupt();
        }
        state.interrupter = Some(interrupter);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.0.lock().expect("no thread panics while it has the lock").is_stopped
    }

    fn stop(&self) {
        let mut state = self.0.lock().expect("no thread panics while it has the lock");
        state.is_stopped = true;
        if let Some(interrupter) = &state.interrupter {
            // The second time it kills.
            interrupter.interrupt();
            interrupter.interrupt();
        }
    }
}

pub(super) struct OrderQueue {
    pub(super) orders: Receiver<WorkerOrder>,
}

impl OrderQueue {
    /// `beat`: the file that changes while the run is alive.
    pub(super) fn start(orders: &Path, beat: &Path) -> Self {
        let (sender, receiver) = channel();
        let watch = OrderWatch {
            reader: FrameReader::new(orders),
            beat: beat.to_owned(),
            last_beat: (String::new(), Instant::now()),
            current: Vec::new(),
            orders: sender,
        };
        thread::spawn(move || watch.run());
        Self { orders: receiver }
    }

    /// Orders that are all there. None of them is stopped.
    pub(super) fn complete(orders: &Path) -> io::Result<Self> {
        let (sender, receiver) = channel();
        for frame in FrameReader::new(orders).read()? {
            if let ToWorker::Run { number, owner, launch, sessions } = frame.message {
                let stop = StopSwitch::default();
                let _ = sender.send(WorkerOrder::Run { number, owner, launch, sessions, stop });
            }
        }
        Ok(Self { orders: receiver })
    }
}

struct OrderWatch {
    reader: FrameReader<ToWorker>,
    beat: PathBuf,
    last_beat: (String, Instant),
    /// The orders that may still run.
    current: Vec<(u64, StopSwitch)>,
    orders: Sender<WorkerOrder>,
}

impl OrderWatch {
    fn run(mut self) {
        let (mut busy, mut checked) = (Instant::now(), Instant::now());
        loop {
            match self.reader.read() {
                Ok(frames) if frames.is_empty() => {}
                Ok(frames) => {
                    busy = Instant::now();
                    for frame in frames {
                        if self.take(frame.message) {
                            return;
                        }
                    }
                }
                Err(error) => debug!(%error, "orders cannot be read"),
            }
            if checked.elapsed() >= BEAT_CHECK {
                checked = Instant::now();
                if !self.is_run_alive() {
                    info!("the run that uses this worker is gone");
                    return self.leave();
                }
            }
            thread::sleep(if busy.elapsed() < CALM_AFTER { EAGER } else { CALM });
        }
    }

    /// Whether it was the last one.
    fn take(&mut self, order: ToWorker) -> bool {
        match order {
            ToWorker::Run { number, owner, launch, sessions } => {
                let stop = StopSwitch::default();
                // One order runs at a time: those before it have ended.
                self.current = vec![(owner, stop.clone())];
                self.orders.send(WorkerOrder::Run { number, owner, launch, sessions, stop }).is_err()
            }
            ToWorker::Stop { owner } => {
                self.current.iter().filter(|(one, _)| *one == owner).for_each(|(_, stop)| stop.stop());
                false
            }
            ToWorker::End => {
                self.stop_all();
                let _ = self.orders.send(WorkerOrder::End);
                true
            }
        }
    }

    fn stop_all(&self) {
        self.current.iter().for_each(|(_, stop)| stop.stop());
    }

    fn is_run_alive(&mut self) -> bool {
        match fs::read_to_string(&self.beat) {
            Ok(text) if text != self.last_beat.0 => self.last_beat = (text, Instant::now()),
            Ok(_) => {}
            // Its directory has been removed.
            Err(_) if !self.beat.parent().is_some_and(Path::exists) => return false,
            Err(error) => debug!(%error, "the beat of the run cannot be read"),
        }
        self.last_beat.1.elapsed() < SILENCE
    }

    /// Ends this process, with everything that it has started.
    fn leave(&self) {
        self.stop_all();
        let _ = self.orders.send(WorkerOrder::End);
        thread::sleep(ENDING);
        process::exit(1);
    }
}
