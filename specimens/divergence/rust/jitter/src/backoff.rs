use std::fs::File;
use std::io::Read;

/// Milliseconds, doubled with every attempt, and a random part so that not all come back at the same moment.
pub fn pause(attempt: u32) -> u64 {
    let base = 100 << attempt;
    base + u64::from(random_byte())
}

pub fn random_byte() -> u8 {
    let mut byte = [0];
    File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut byte)).expect("there is chance");
    byte[0]
}
