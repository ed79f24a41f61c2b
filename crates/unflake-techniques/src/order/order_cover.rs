//! Orders in which every test directly follows every other.

/// Orders of 0..n in which every ordered pair is adjacent at least once: the rows of a Williams
/// square. There are n orders for even n and n + 1 for odd n (those of n + 1 without its last
/// item).
pub(crate) fn covering_orders(n: usize) -> impl Iterator<Item = Vec<usize>> {
    let even = n + n % 2;
    let rows = if n < 2 { 0 } else { even };
    (0..rows).map(move |row| (0..even).map(|at| (zigzag(at, even) + row) % even).filter(|one| *one < n).collect())
}

/// Ascending selections of 0..n in which every pair is adjacent at least once, the closest first.
pub(crate) fn covering_selections(n: usize) -> impl Iterator<Item = Vec<usize>> {
    let of_step = move |step: usize| (0..step.min(n - step)).map(move |first| (first..n).step_by(step).collect());
    // All tests are the selection of step 1.
    (2..n).flat_map(of_step)
}

/// Orders in which every one of some items directly precedes every other item, and nothing else need be
/// adjacent. With none of the others these are the covering orders; with `k` of them leading and `m`
/// others they have 2km + k² items, which is never more than (k + m)².
pub(crate) fn leading_orders(leading: &[usize], others: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    let among_leading = covering_orders(leading.len()).map(|order| order.iter().map(|at| leading[*at]).collect());
    let chunks = leading.chunks(others.len().max(1));
    let rotations = chunks.flat_map(move |some| (0..others.len()).map(move |first| (some, first)));
    let alternating = rotations.map(move |(some, first)| {
        let other = |at: usize| others[(first + at) % others.len()];
        some.iter().enumerate().flat_map(|(at, one)| [*one, other(at)]).collect()
    });
    alternating.chain(among_leading)
}

/// 0, n - 1, 1, n - 2, …: every difference between neighbours occurs once.
fn zigzag(at: usize, n: usize) -> usize {
    if at.is_multiple_of(2) { at / 2 } else { n - at.div_ceil(2) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::coverage::PairCoverage;

    #[test]
    fn every_ascending_pair_is_covered_once() {
        for n in 0..40 {
            let mut pairs = PairCoverage::new(n);
            let mut adjacent = 0;
            for selection in covering_selections(n).chain([(0..n).collect()]) {
                assert!(selection.is_sorted());
                adjacent += selection.len().saturating_sub(1);
                selection.windows(2).for_each(|two| pairs.add(two[0], two[1]));
            }
            assert_eq!(pairs.count() as usize, n * n.saturating_sub(1) / 2, "{n} tests");
            assert_eq!(adjacent, n * n.saturating_sub(1) / 2, "{n} tests");
        }
    }

    #[test]
    fn every_pair_that_begins_with_a_leading_item_is_covered() {
        for (k, m) in (0..9).flat_map(|k| (0..9).map(move |m| (k, m))) {
            let (leading, others): (Vec<usize>, Vec<usize>) = ((0..k).collect(), (k..k + m).collect());
            let mut pairs = PairCoverage::new(k + m);
            let mut items = 0;
            for order in leading_orders(&leading, &others) {
                let mut sorted = order.clone();
                sorted.sort_unstable();
                sorted.dedup();
                assert_eq!(sorted.len(), order.len(), "each item at most once");
                items += order.len();
                order.windows(2).filter(|two| two[0] < k).for_each(|two| pairs.add(two[0], two[1]));
            }
            assert_eq!(pairs.count() as usize, k * (k + m).saturating_sub(1), "{k} leading, {m} others");
            assert!(items <= 2 * k * m + k * (k + 1), "{k} leading, {m} others: {items}");
        }
    }

    #[test]
    fn every_ordered_pair_is_covered_without_spare_orders() {
        for n in 0..60 {
            let mut pairs = PairCoverage::new(n);
            let orders: Vec<Vec<usize>> = covering_orders(n).collect();
            for order in &orders {
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..n).collect::<Vec<_>>());
                order.windows(2).for_each(|two| pairs.add(two[0], two[1]));
            }
            assert_eq!(pairs.count() as usize, n * n.saturating_sub(1), "{n} tests");
            assert!(orders.len() <= n + n % 2);
        }
    }
}
