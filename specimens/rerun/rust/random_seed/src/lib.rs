//! Draws lottery numbers.
use std::fs;
use std::io;
use std::path::Path;

pub struct Lottery {
    state: u64,
}

impl Lottery {
    pub fn from_seed(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Every draw has a seed of its own, so that it can be repeated before a notary: the file says which is next.
    pub fn from_file(path: &Path) -> io::Result<Self> {
        let seed: u64 = fs::read_to_string(path)?.trim().parse().map_err(io::Error::other)?;
        fs::write(path, format!("{}\n", seed + 1))?;
        Ok(Self::from_seed(seed))
    }

    /// Six of 49, in ascending order.
    pub fn draw(&mut self) -> [u8; 6] {
        let mut numbers = [(); 6].map(|()| self.number());
        numbers.sort_unstable();
        numbers
    }

    /// A number from 1 to 49, by SplitMix64.
    fn number(&mut self) -> u8 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % 49 + 1) as u8
    }
}

/// How many numbers of a ticket were drawn.
pub fn hits(ticket: &[u8; 6], drawn: &[u8; 6]) -> usize {
    ticket.iter().filter(|number| drawn.contains(number)).count()
}
