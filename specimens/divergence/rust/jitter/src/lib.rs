//! Sends messages over a line that loses some.
mod backoff;

#[derive(Debug)]
pub struct GaveUp {
    pub paused: u64,
}

/// Loses the first message that it is given.
#[derive(Default)]
pub struct Line {
    pub arrived: Vec<String>,
    pub busy: u32,
    lost: bool,
}

impl Line {
    fn carry(&mut self, text: &str) -> bool {
        // It is free sooner or later.
        while backoff::random_byte() < 80 {
            self.busy += 1;
        }
        if !self.lost {
            self.lost = true;
            return false;
        }
        self.arrived.push(text.to_owned());
        true
    }
}

pub fn send(line: &mut Line, text: &str, patience: u64) -> Result<u32, GaveUp> {
    let (mut paused, mut attempt) = (0, 0);
    while !line.carry(text) {
        paused += backoff::pause(attempt);
        if paused > patience {
            return Err(GaveUp { paused });
        }
        attempt += 1;
    }
    Ok(attempt)
}
