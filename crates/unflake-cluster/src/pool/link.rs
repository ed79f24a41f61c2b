//! The connection to one worker: its files, and what is known of it.

use std::io;
use std::time::{Duration, Instant};

use unflake_engine::RemoteLaunch;
use unflake_model::{Event, Session};

use crate::files::{BEAT, RunFiles, WorkerFiles, write_below};
use crate::frames::{FrameReader, FrameWriter, StreamFrame};
use crate::messages::{FromWorker, ToWorker};

/// How often to look for events: often while the last ones are young.
const EAGER: Duration = Duration::from_millis(15);
const CALM: Duration = Duration::from_millis(100);
const CALM_AFTER: Duration = Duration::from_secs(3);

pub(super) struct WorkerLink {
    pub(super) number: u32,
    pub(super) files: WorkerFiles,
    /// The id of its job.
    pub(super) job: String,
    pub(super) phase: WorkerPhase,
    pub(super) machine: String,
    pub(super) slots: usize,
    /// The order that it has not done yet.
    pub(super) order: Option<u64>,
    /// When it last said anything, and when it last had an order.
    pub(super) heard: Instant,
    pub(super) idle_since: Instant,
    orders: FrameWriter,
    events: FrameReader<FromWorker>,
    looked: Instant,
    eager_until: Instant,
    received: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkerPhase {
    /// Its job waits.
    Waiting,
    /// It fetches its inputs.
    Preparing,
    Ready,
    /// It was ordered to end.
    Ending,
    Gone,
}

impl WorkerLink {
    pub(super) fn new(run: &RunFiles, number: u32, job: String) -> io::Result<Self> {
        let files = run.of_worker(number);
        files.create()?;
        let now = Instant::now();
        Ok(Self {
            number,
            job,
            phase: WorkerPhase::Waiting,
            machine: String::new(),
            slots: 1,
            order: None,
            heard: now,
            idle_since: now,
            orders: FrameWriter::new(&files.orders()),
            events: FrameReader::new(&files.events()),
            looked: now,
            eager_until: now + CALM_AFTER,
            received: 0,
            files,
        })
    }

    /// Whether it runs, or is about to.
    pub(super) fn is_alive(&self) -> bool {
        !matches!(self.phase, WorkerPhase::Ending | WorkerPhase::Gone)
    }

    /// Whether it has shown only just now that it is alive.
    pub(super) fn is_beating(&self) -> bool {
        self.phase == WorkerPhase::Ready && self.heard.elapsed() < 5 * BEAT
    }

    pub(super) fn is_free(&self) -> bool {
        self.phase == WorkerPhase::Ready && self.order.is_none()
    }

    pub(super) fn run(
        &mut self,
        number: u64,
        owner: u64,
        launch: &RemoteLaunch,
        sessions: Vec<Session>,
    ) -> io::Result<()> {
        self.order = Some(number);
        self.eager_until = Instant::now() + CALM_AFTER;
        self.tell(&ToWorker::Run { number, owner, launch: Box::new(launch.clone()), sessions })
    }

    pub(super) fn tell(&mut self, order: &ToWorker) -> io::Result<()> {
        self.orders.append(order, Vec::new())?;
        self.orders.flush()
    }

    /// What it has said since the last time. `at_once`: even if it is too early to look again.
    pub(super) fn messages(&mut self, at_once: bool) -> io::Result<Vec<FromWorker>> {
        let now = Instant::now();
        let interval = if now < self.eager_until { EAGER } else { CALM };
        if !at_once && now - self.looked < interval {
            return Ok(Vec::new());
        }
        self.looked = now;
        let frames = self.events.read()?;
        if !frames.is_empty() {
            self.heard = now;
        }
        if frames.iter().any(|frame| !matches!(frame.message, FromWorker::Beat)) {
            self.eager_until = now + CALM_AFTER;
        }
        frames.into_iter().map(|frame| self.received(frame)).collect()
    }

    /// A message, with the files that came with it on this machine.
    fn received(&mut self, frame: StreamFrame<FromWorker>) -> io::Result<FromWorker> {
        let StreamFrame { mut message, files } = frame;
        if let FromWorker::Event { event, .. } = &mut message {
            let place = self.files.received().join(self.received.to_string());
            match &mut **event {
                Event::TraceRecorded { directory, .. } => {
                    self.received += 1;
                    write_below(&place, &files)?;
                    *directory = place;
                }
                Event::LayersRecorded { file, .. } => {
                    self.received += 1;
                    write_below(&place, &files)?;
                    *file = place.join(files.first().map(|(path, _)| path.as_path()).unwrap_or("none".as_ref()));
                }
                _ => {}
            }
        }
        Ok(message)
    }
}
