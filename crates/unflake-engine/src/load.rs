//! The load of the machine, recorded with every attempt.

use std::fs;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// The system computes a new average every five seconds.
const LIFETIME: Duration = Duration::from_secs(1);

/// The load average of the last minute, read at most once per second.
#[derive(Default)]
pub(crate) struct MachineLoad {
    read: Option<(Instant, Option<f64>)>,
}

impl MachineLoad {
    /// None: this system does not report it.
    pub(crate) fn per_core(&mut self) -> Option<f64> {
        match self.read {
            Some((when, load)) if when.elapsed() < LIFETIME => load,
            _ => {
                let cores = available_parallelism().map_or(1, usize::from) as f64;
                let load = fs::read_to_string("/proc/loadavg").ok().and_then(|text| first_number(&text));
                let load = load.map(|load| (load / cores * 100.0).round() / 100.0);
                self.read = Some((Instant::now(), load));
                load
            }
        }
    }
}

fn first_number(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_is_that_of_the_last_minute() {
        assert_eq!(first_number("25.04 10.10 2.00 3/512 4711\n"), Some(25.04));
        assert_eq!(first_number(""), None);
    }
}
