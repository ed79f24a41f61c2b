//! Orders in which every test directly follows every other.

/// Orders of 0..n in which every ordered pair is adjacent at least once: the rows of a Williams
/// square. There are n orders for even n and n + 1 for odd n (those of n + 1 without its last
/// item).
pub(crate) fn covering(n: usize) -> impl Iterator<Item = Vec<usize>> {
    let even = n + n % 2;
    let rows = if n < 2 { 0 } else { even };
    (0..rows).map(move |row| (0..even).map(|at| (zigzag(at, even) + row) % even).filter(|one| *one < n).collect())
}

/// 0, n - 1, 1, n - 2, …: every difference between neighbours occurs once.
fn zigzag(at: usize, n: usize) -> usize {
    if at.is_multiple_of(2) { at / 2 } else { n - at.div_ceil(2) }
}

/// Which ordered pairs have been seen next to each other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pairs {
    n: usize,
    seen: Vec<u64>,
    count: u64,
}

impl Pairs {
    /// Of more tests than this pairs are not counted: it takes n² bits.
    const MOST: usize = 30_000;

    pub(crate) fn new(n: usize) -> Self {
        let bits = if n <= Self::MOST { n * n } else { 0 };
        Self { n, seen: vec![0; bits.div_ceil(64)], count: 0 }
    }

    pub(crate) fn see(&mut self, before: usize, after: usize) {
        let bit = before * self.n + after;
        if before != after
            && let Some(word) = self.seen.get_mut(bit / 64)
            && *word & (1 << (bit % 64)) == 0
        {
            *word |= 1 << (bit % 64);
            self.count += 1;
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }
}

/// A small generator, so that a printed seed gives the same orders everywhere (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ordered_pair_is_covered_and_no_order_is_spare() {
        for n in 0..60 {
            let mut pairs = Pairs::new(n);
            let orders: Vec<Vec<usize>> = covering(n).collect();
            for order in &orders {
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..n).collect::<Vec<_>>());
                order.windows(2).for_each(|two| pairs.see(two[0], two[1]));
            }
            assert_eq!(pairs.count() as usize, n * n.saturating_sub(1), "{n} tests");
            assert!(orders.len() <= n + n % 2);
        }
    }

    #[test]
    fn a_pair_counts_once() {
        let mut pairs = Pairs::new(3);
        [(0, 1), (0, 1), (1, 0), (2, 2)].into_iter().for_each(|(before, after)| pairs.see(before, after));
        assert_eq!(pairs.count(), 2);
    }

    #[test]
    fn a_seed_gives_the_same_order_again() {
        let shuffled = |seed| {
            let mut items: Vec<usize> = (0..20).collect();
            Chance(seed).shuffle(&mut items);
            items
        };
        assert_eq!(shuffled(7), shuffled(7));
        assert_ne!(shuffled(7), shuffled(8));
    }
}
