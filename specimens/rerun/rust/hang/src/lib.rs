//! Resizes pictures on a thread of its own.
use std::sync::mpsc::{channel, Sender};
use std::thread::{self, JoinHandle};

pub struct Resizer {
    jobs: Sender<(u32, u32)>,
    thread: JoinHandle<Vec<(u32, u32)>>,
}

/// Somebody who may hand in pictures.
pub struct Counter {
    jobs: Sender<(u32, u32)>,
}

impl Resizer {
    pub fn start() -> Self {
        let (jobs, pictures) = channel();
        let thread = thread::spawn(move || pictures.into_iter().map(thumbnail).collect());
        Self { jobs, thread }
    }

    pub fn counter(&self) -> Counter {
        Counter { jobs: self.jobs.clone() }
    }

    /// Waits until every picture is done.
    pub fn finish(self) -> Vec<(u32, u32)> {
        drop(self.jobs);
        self.thread.join().expect("the thread ends in peace")
    }
}

impl Counter {
    pub fn hand_in(&self, width: u32, height: u32) {
        self.jobs.send((width, height)).expect("the thread is there");
    }
}

/// The size of a thumbnail, at most 100 wide.
pub fn thumbnail((width, height): (u32, u32)) -> (u32, u32) {
    if width <= 100 {
        (width, height)
    } else {
        (100, height * 100 / width)
    }
}
