//! Minimization: reduces a list to a minimal one that still reproduces something, with few trials.
//!
//! The lists are tests before a victim, or state cells to restore. Trying a list of tests means
//! running all of them, unless the state after a prefix of it has been reached before. So prefixes
//! of a long list are tried from the shortest up, a few at a time, each continuing where the last
//! one stopped.

/// Number of parts into which a long list is divided.
const PARTS: usize = 32;
/// Number of steps in which a long list is traversed from its beginning.
const STEPS: usize = 16;
/// Prefixes tried at once: as many states as the engine keeps, less the one it continues from.
const PREFIXES_AT_ONCE: usize = 3;
/// Items of a list up to this length are tried individually.
pub(crate) const SHORT_LIST: usize = 64;

/// Decides whether lists reproduce something. An empty list never does.
pub(crate) trait Oracle<T> {
    /// Whether a longer list takes longer to try.
    const COST_GROWS: bool;

    /// Whether each of these lists reproduces it. Each comes with the length of its shared prefix.
    async fn reproduces(&self, lists: Vec<(Vec<T>, usize)>) -> Vec<bool>;

    fn out_of_time(&self) -> bool;
}

/// Result of a minimization.
#[derive(Debug, PartialEq)]
pub(crate) enum Minimized<T> {
    /// It reproduces, and without any one of its items it does not.
    Minimal(Vec<T>),
    /// It reproduces, and there was no time to reduce it further.
    Reduced(Vec<T>),
    /// Not even the whole list reproduces.
    NotReproduced,
    /// There was no time to try the whole list.
    Untried,
}

/// Divides a short list into its items, a long one into equal parts.
pub(crate) fn parts<T: Clone>(items: &[T]) -> Vec<Vec<T>> {
    let size = if items.len() > SHORT_LIST { items.len().div_ceil(PARTS) } else { 1 };
    items.chunks(size).map(<[T]>::to_vec).collect()
}

/// The list without each one of its items.
pub(crate) fn without_each<T: Clone>(list: &[T]) -> Vec<Vec<T>> {
    (0..list.len()).map(|at| [&list[..at], &list[at + 1..]].concat()).collect()
}

/// The first of these lists that reproduces.
pub(crate) async fn first_reproducing<T: Clone>(lists: Vec<Vec<T>>, oracle: &impl Oracle<T>) -> Option<Vec<T>> {
    let reproduces = oracle.reproduces(lists.iter().map(|list| (list.clone(), 0)).collect()).await;
    lists.into_iter().zip(reproduces).find_map(|(list, reproduces)| reproduces.then_some(list))
}

/// The parts of a list that reproduce on their own.
pub(crate) async fn reproducing_parts<T: Clone>(items: &[T], oracle: &impl Oracle<T>) -> Vec<Vec<T>> {
    let parts = parts(items);
    let reproduces = oracle.reproduces(parts.iter().map(|part| (part.clone(), 0)).collect()).await;
    parts.into_iter().zip(reproduces).filter_map(|(part, reproduces)| reproduces.then_some(part)).collect()
}

/// `known`: the whole list has been seen to reproduce.
pub(crate) async fn minimize<T: Clone, O: Oracle<T>>(items: Vec<T>, known: bool, oracle: &O) -> Minimized<T> {
    let mut list = match minimize_from_end(items, known, oracle).await {
        Minimized::Minimal(list) => list,
        other => return other,
    };
    while list.len() > 1 {
        // Items can substitute for each other, so each is removed once more.
        let Some(shorter) = first_reproducing(without_each(&list), oracle).await else { break };
        list = match minimize_from_end(shorter, true, oracle).await {
            Minimized::Minimal(list) => list,
            other => return other,
        };
    }
    Minimized::Minimal(list)
}

/// Finds the needed items one by one, the last first. `before` followed by `kept` always
/// reproduces.
async fn minimize_from_end<T: Clone, O: Oracle<T>>(mut before: Vec<T>, known: bool, oracle: &O) -> Minimized<T> {
    let mut kept: Vec<T> = Vec::new();
    // Prefix lengths known to be too short, and known to be long enough.
    let mut too_short = Some(0);
    let mut enough = known.then_some(before.len());
    while !before.is_empty() {
        loop {
            let least = too_short.map_or(0, |length| length + 1);
            let lengths = prefix_lengths(least, enough, before.len(), O::COST_GROWS);
            if lengths.is_empty() {
                break;
            }
            if oracle.out_of_time() {
                let Some(enough) = enough else { return Minimized::Untried };
                return Minimized::Reduced([&before[..enough], &kept].concat());
            }
            let list = |length: &usize| ([&before[..*length], &kept].concat(), *length);
            let reproduces = oracle.reproduces(lengths.iter().map(list).collect()).await;
            match reproduces.iter().position(|reproduces| *reproduces) {
                Some(first) => {
                    enough = Some(lengths[first]);
                    too_short = first.checked_sub(1).map(|at| lengths[at]).or(too_short);
                }
                None => too_short = lengths.last().copied(),
            }
        }
        let Some(last) = enough else { return Minimized::NotReproduced };
        if last == 0 {
            break;
        }
        kept.insert(0, before[last - 1].clone());
        before.truncate(last - 1);
        (too_short, enough) = (None, Some(before.len()));
    }
    Minimized::Minimal(kept)
}

/// Prefix lengths to try next, from `least` to below what is enough. Empty: nothing is left to try.
fn prefix_lengths(least: usize, enough: Option<usize>, length: usize, cost_grows: bool) -> Vec<usize> {
    let end = enough.unwrap_or(length + 1);
    let span = end - least;
    let step = length.div_ceil(STEPS);
    let mut lengths: Vec<usize> = match enough {
        // Usually nothing more is needed.
        _ if least == 0 => (0..span.min(1)).collect(),
        _ if span <= PREFIXES_AT_ONCE => (least..end).collect(),
        _ if cost_grows && span > SHORT_LIST.max(step) => {
            (1..=PREFIXES_AT_ONCE).map(|at| (least - 1 + at * step).min(end - 1)).collect()
        }
        Some(_) => (0..PREFIXES_AT_ONCE).map(|at| least + (at * 2 + 1) * span / (PREFIXES_AT_ONCE * 2)).collect(),
        None => vec![length],
    };
    lengths.dedup();
    lengths
}

#[cfg(test)]
mod tests;
