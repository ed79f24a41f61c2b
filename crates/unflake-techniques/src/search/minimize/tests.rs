use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::*;
use crate::order::order_cover::Chance;

/// Shows it where all of some group of items is there, unless a spoiler is.
struct Groups {
    groups: Vec<Vec<usize>>,
    spoiler: Option<usize>,
    asked: Cell<usize>,
    most: usize,
}

impl Groups {
    fn is_in(&self, list: &[usize]) -> bool {
        let whole = self.groups.iter().any(|group| group.iter().all(|item| list.contains(item)));
        whole && !self.spoiler.is_some_and(|spoiler| list.contains(&spoiler))
    }
}

impl Trial<usize> for Groups {
    const GROWS: bool = true;

    async fn shows(&self, lists: Vec<(Vec<usize>, usize)>) -> Vec<bool> {
        self.asked.set(self.asked.get() + lists.len());
        lists.iter().map(|(list, _)| self.is_in(list)).collect()
    }

    fn is_over(&self) -> bool {
        self.asked.get() >= self.most
    }
}

fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("nothing to wait for"),
    }
}

/// However long the list, it does not take many questions.
fn check(n: usize, groups: &[&[usize]], known: bool, expected: &Found<usize>) {
    let groups = groups.iter().map(|group| group.to_vec()).collect();
    let trial = Groups { groups, spoiler: None, asked: Cell::new(0), most: usize::MAX };
    assert_eq!(now(smallest((0..n).collect(), known, &trial)), *expected);
    assert!(trial.asked.get() < 120, "{n} items: {}", trial.asked.get());
}

#[test]
fn one_item_several_items_and_none() {
    for n in [5, 64, 70, 1000, 9000] {
        for known in [true, false] {
            check(n, &[&[0]], known, &Found::Smallest(vec![0]));
            check(n, &[&[n - 1]], known, &Found::Smallest(vec![n - 1]));
            check(n, &[&[0, 2, n - 1]], known, &Found::Smallest(vec![0, 2, n - 1]));
        }
        check(n, &[], false, &Found::Nothing);
    }
}

#[test]
fn of_alternatives_one_is_found_whole() {
    check(100, &[&[3, 90], &[50, 60]], false, &Found::Smallest(vec![50, 60]));
}

#[test]
fn what_is_found_is_always_smallest() {
    for seed in 0..300 {
        let mut chance = Chance(seed);
        let n = 1 + chance.below(300);
        let group = |chance: &mut Chance| (0..1 + chance.below(4)).map(|_| chance.below(n)).collect();
        let groups: Vec<Vec<usize>> = (0..1 + chance.below(3)).map(|_| group(&mut chance)).collect();
        let spoiler = (chance.below(2) == 0).then(|| chance.below(n));
        let trial = Groups { groups, spoiler, asked: Cell::new(0), most: usize::MAX };
        match now(smallest((0..n).collect(), false, &trial)) {
            Found::Smallest(list) => {
                assert!(trial.is_in(&list), "seed {seed}: {list:?}");
                for at in 0..list.len() {
                    let fewer = [&list[..at], &list[at + 1..]].concat();
                    assert!(!trial.is_in(&fewer), "seed {seed}: {list:?} could do without {}", list[at]);
                }
            }
            Found::Nothing => assert!(!trial.is_in(&(0..n).collect::<Vec<_>>()), "seed {seed}"),
            other => panic!("seed {seed}: {other:?}"),
        }
        assert!(trial.asked.get() < 150, "seed {seed}: {}", trial.asked.get());
    }
}

#[test]
fn when_the_time_is_over_the_list_still_shows_it() {
    for most in 1..40 {
        let trial = Groups { groups: vec![vec![100, 300, 500]], spoiler: None, asked: Cell::new(0), most };
        match now(smallest((0..700).collect(), true, &trial)) {
            Found::Smallest(list) | Found::Smaller(list) => assert!(trial.is_in(&list), "{list:?}"),
            other => panic!("{other:?}"),
        }
        let untried = Groups { asked: Cell::new(most), ..trial };
        assert_eq!(now(smallest((0..700).collect(), false, &untried)), Found::Untried);
    }
}
