//! The smallest part of a list that still shows something, with as little work as possible.
//!
//! The lists are tests before a victim, or cells that are put back. To try a list of tests means to run them all, unless the state
//! after its beginning has been reached before; so long lists are tried from their short beginnings upwards, a few at a time, each
//! going on from where the last one stopped.

/// Into how many parts a long list is cut when parts of it are tried on their own.
const PARTS: usize = 32;
/// In how many steps a long list is gone through from its beginning.
const STEPS: usize = 16;
/// In how many places a list is cut off at once when its beginnings are tried. As many states as exec keeps for what comes next,
/// less the one from which it goes on.
const PLACES: usize = 3;
/// The items of a list that is no longer than this are tried each on its own.
pub(crate) const LONG: usize = 64;

/// Something that lists are tried for. An empty list never shows it.
pub(crate) trait Trial<T> {
    /// Whether a longer list takes longer.
    const GROWS: bool;

    /// Whether each of these lists shows it. The first so many items of a list are shared with others.
    async fn shows(&self, lists: Vec<(Vec<T>, usize)>) -> Vec<bool>;

    /// Whether there is no time for more.
    fn is_over(&self) -> bool;
}

/// What is left of a list.
#[derive(Debug, PartialEq)]
pub(crate) enum Found<T> {
    /// It shows it, and without any of its items it does not.
    Smallest(Vec<T>),
    /// It shows it, and there was no time to make it smaller.
    Smaller(Vec<T>),
    /// Not even the whole list shows it.
    Nothing,
    /// There was no time to try the whole list.
    Untried,
}

/// Single items of a list that is short, else equal parts.
pub(crate) fn parts<T: Clone>(items: &[T]) -> Vec<Vec<T>> {
    let size = if items.len() > LONG { items.len().div_ceil(PARTS) } else { 1 };
    items.chunks(size).map(<[T]>::to_vec).collect()
}

/// The list without each of its items.
pub(crate) fn fewer_by_one<T: Clone>(list: &[T]) -> Vec<Vec<T>> {
    (0..list.len()).map(|at| [&list[..at], &list[at + 1..]].concat()).collect()
}

/// The parts of a list that show it on their own.
pub(crate) async fn showing_parts<T: Clone>(items: &[T], trial: &impl Trial<T>) -> Vec<Vec<T>> {
    let parts = parts(items);
    let shows = trial.shows(parts.iter().map(|part| (part.clone(), 0)).collect()).await;
    parts.into_iter().zip(shows).filter_map(|(part, shows)| shows.then_some(part)).collect()
}

/// `known`: the whole list has been seen to show it.
pub(crate) async fn smallest<T: Clone, A: Trial<T>>(items: Vec<T>, known: bool, trial: &A) -> Found<T> {
    let mut list = match from_the_end(items, known, trial).await {
        Found::Smallest(list) => list,
        other => return other,
    };
    while list.len() > 1 {
        // Items may make up for each other, so each is left out once more.
        let fewer = fewer_by_one(&list);
        let shows = trial.shows(fewer.iter().map(|list| (list.clone(), 0)).collect()).await;
        let Some((fewer, _)) = fewer.into_iter().zip(shows).find(|(_, shows)| *shows) else { break };
        list = match from_the_end(fewer, true, trial).await {
            Found::Smallest(list) => list,
            other => return other,
        };
    }
    Found::Smallest(list)
}

/// Finds one needed item after the other, the last one first. `before` and then `kept` always show it together.
async fn from_the_end<T: Clone, A: Trial<T>>(mut before: Vec<T>, known: bool, trial: &A) -> Found<T> {
    let mut kept: Vec<T> = Vec::new();
    // So many items are too few, and so many are enough, as far as anybody knows.
    let mut too_few = Some(0);
    let mut enough = known.then_some(before.len());
    while !before.is_empty() {
        loop {
            let least = too_few.map_or(0, |few| few + 1);
            let places = places(least, enough, before.len(), A::GROWS);
            if places.is_empty() {
                break;
            }
            if trial.is_over() {
                let Some(enough) = enough else { return Found::Untried };
                return Found::Smaller([&before[..enough], &kept].concat());
            }
            let list = |place: &usize| ([&before[..*place], &kept].concat(), *place);
            let shows = trial.shows(places.iter().map(list).collect()).await;
            match shows.iter().position(|shows| *shows) {
                Some(first) => {
                    enough = Some(places[first]);
                    too_few = first.checked_sub(1).map(|at| places[at]).or(too_few);
                }
                None => too_few = places.last().copied(),
            }
        }
        let Some(last) = enough else { return Found::Nothing };
        if last == 0 {
            break;
        }
        kept.insert(0, before[last - 1].clone());
        before.truncate(last - 1);
        (too_few, enough) = (None, Some(before.len()));
    }
    Found::Smallest(kept)
}

/// Where to cut a list off between `least` and what is enough. None: there is nothing left to try.
fn places(least: usize, enough: Option<usize>, length: usize, grows: bool) -> Vec<usize> {
    let end = enough.unwrap_or(length + 1);
    let span = end - least;
    let step = length.div_ceil(STEPS);
    let mut places: Vec<usize> = match enough {
        // Most often nothing more is needed.
        _ if least == 0 => (0..span.min(1)).collect(),
        _ if span <= PLACES => (least..end).collect(),
        _ if grows && span > LONG.max(step) => (1..=PLACES).map(|at| (least - 1 + at * step).min(end - 1)).collect(),
        Some(_) => (0..PLACES).map(|at| least + (at * 2 + 1) * span / (PLACES * 2)).collect(),
        None => vec![length],
    };
    places.dedup();
    places
}

#[cfg(test)]
mod tests;
