//! The smallest part of a list that still shows something, with as little work as possible.
//!
//! The lists are tests before a victim, or cells that are put back. Lists with the same beginning are cheap to try together, because
//! the state after the beginning is reached once.

use std::cmp::Ordering;

/// Into how many parts a list is cut at most when parts of it are tried on their own.
pub(crate) const PARTS: usize = 32;
/// In how many places at most a list is cut off when its beginnings are tried.
const PLACES: usize = 32;

/// Something that lists are tried for.
pub(crate) trait Trial<T> {
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
}

/// Equal parts, none of which is empty.
pub(crate) fn parts<T: Clone>(items: &[T]) -> Vec<Vec<T>> {
    items.chunks(items.len().div_ceil(PARTS).max(1)).map(<[T]>::to_vec).collect()
}

/// The parts of a list that show it on their own.
pub(crate) async fn showing_parts<T: Clone>(items: &[T], trial: &impl Trial<T>) -> Vec<Vec<T>> {
    let parts = parts(items);
    let shows = trial.shows(parts.iter().map(|part| (part.clone(), 0)).collect()).await;
    parts.into_iter().zip(shows).filter_map(|(part, shows)| shows.then_some(part)).collect()
}

/// `known`: the whole list has been seen to show it.
pub(crate) async fn smallest<T: Clone>(items: Vec<T>, known: bool, trial: &impl Trial<T>) -> Found<T> {
    if !known && !trial.shows(vec![(items.clone(), 0)]).await[0] {
        return Found::Nothing;
    }
    let mut list = items;
    loop {
        list = match from_the_end(list, trial).await {
            Found::Smallest(list) => list,
            other => return other,
        };
        if list.len() < 2 {
            return Found::Smallest(list);
        }
        // Items may make up for each other, so each is left out once more.
        let without = |at: usize| list.iter().enumerate().filter(move |(i, _)| *i != at).map(|(_, item)| item.clone());
        let fewer: Vec<Vec<T>> = (0..list.len()).map(|at| without(at).collect()).collect();
        let shows = trial.shows(fewer.iter().map(|list| (list.clone(), 0)).collect()).await;
        match fewer.into_iter().zip(shows).find(|(_, shows)| *shows) {
            Some((fewer, _)) => list = fewer,
            None => return Found::Smallest(list),
        }
    }
}

/// Finds one needed item after the other, the last one first. `before` and then `kept` always show it together.
async fn from_the_end<T: Clone>(mut before: Vec<T>, trial: &impl Trial<T>) -> Found<T> {
    let mut kept: Vec<T> = Vec::new();
    // Nothing at all does not show it. Whether what is kept does on its own must be tried.
    let mut none_is_too_few = true;
    'needed: while !before.is_empty() {
        // So many items show it; so many do not.
        let (mut enough, mut too_few) = (before.len(), none_is_too_few.then_some(0));
        let mut cut_off = false;
        while enough > too_few.map_or(0, |few: usize| few + 1) {
            if trial.is_over() {
                before.truncate(enough);
                return Found::Smaller([before, kept].concat());
            }
            // With what comes before out of the way everything is cheaper. If more than these items are needed it cannot be.
            if let Some(few) = too_few
                && !cut_off
                && few > enough - few
            {
                cut_off = true;
                let alone = before[few..enough].to_vec();
                if trial.shows(vec![([&alone[..], &kept[..]].concat(), 0)]).await[0] {
                    before = alone;
                    none_is_too_few = true;
                    continue 'needed;
                }
            }
            let places = places(too_few, enough);
            let list = |place: &usize| ([&before[..*place], &kept[..]].concat(), *place);
            let shows = trial.shows(places.iter().map(list).collect()).await;
            match shows.iter().position(|shows| *shows) {
                Some(first) => {
                    enough = places[first];
                    too_few = first.checked_sub(1).map(|at| places[at]).or(too_few);
                }
                None => too_few = places.last().copied(),
            }
        }
        if enough == 0 {
            break;
        }
        kept.insert(0, before[enough - 1].clone());
        before.truncate(enough - 1);
        none_is_too_few = false;
    }
    Found::Smallest(kept)
}

/// Where to cut between a number that is too few and one that is enough. The longer the way there, the more at once.
fn places(too_few: Option<usize>, enough: usize) -> Vec<usize> {
    let least = too_few.map_or(0, |few| few + 1);
    let count = (enough / 8).clamp(3, PLACES);
    let span = enough - least;
    match span.cmp(&count) {
        Ordering::Less | Ordering::Equal => (least..enough).collect(),
        Ordering::Greater => (0..count).map(|at| least + at * span / count).collect(),
    }
}
