//! The time budget of a technique, measured by the timestamps of attempts: techniques have no
//! clock.

use unflake_model::Attempt;

pub(crate) struct Budget {
    seconds: f64,
    /// Microseconds: start of the first attempt and end of the latest.
    first: Option<i64>,
    latest: i64,
}

impl Budget {
    pub(crate) fn new(seconds: f64) -> Self {
        Self { seconds, first: None, latest: 0 }
    }

    pub(crate) fn observe(&mut self, attempt: &Attempt) {
        let began = attempt.started.0;
        self.first = Some(self.first.unwrap_or(began).min(began));
        self.latest = self.latest.max(began + (attempt.seconds * 1e6) as i64);
    }

    /// The whole budget until the first attempt has been observed.
    pub(crate) fn seconds_left(&self) -> f64 {
        self.seconds - self.first.map_or(0.0, |first| (self.latest - first) as f64 / 1e6)
    }

    /// Whether it is exhausted. Never before the first attempt.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.first.is_some() && self.seconds_left() <= 0.0
    }
}
