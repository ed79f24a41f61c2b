//! Tests of `minimize`.

use std::cell::Cell;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::*;
use crate::search::rng::SeededRng;

/// Reproduces if the list contains a whole group, and not the spoiler.
struct Groups {
    groups: Vec<Vec<usize>>,
    spoiler: Option<usize>,
    tried: Cell<usize>,
    most: usize,
}

impl Groups {
    fn is_in(&self, list: &[usize]) -> bool {
        let whole = self.groups.iter().any(|group| group.iter().all(|item| list.contains(item)));
        whole && !self.spoiler.is_some_and(|spoiler| list.contains(&spoiler))
    }
}

impl Oracle<usize> for Groups {
    const COST_GROWS: bool = true;

    async fn reproduces(&self, lists: Vec<(Vec<usize>, usize)>) -> Vec<bool> {
        self.tried.set(self.tried.get() + lists.len());
        lists.iter().map(|(list, _)| self.is_in(list)).collect()
    }

    fn out_of_time(&self) -> bool {
        self.tried.get() >= self.most
    }
}

fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the oracle never waits"),
    }
}

/// However long the list, few trials are needed.
fn check(n: usize, groups: &[&[usize]], known: bool, expected: &Minimized<usize>) {
    let groups = groups.iter().map(|group| group.to_vec()).collect();
    let trial = Groups { groups, spoiler: None, tried: Cell::new(0), most: usize::MAX };
    assert_eq!(ready(minimize((0..n).collect(), known, &trial)), *expected);
    assert!(trial.tried.get() < 120, "{n} items: {}", trial.tried.get());
}

#[test]
fn one_item_several_items_and_none() {
    for n in [5, 64, 70, 1000, 9000] {
        for known in [true, false] {
            check(n, &[&[0]], known, &Minimized::Minimal(vec![0]));
            check(n, &[&[n - 1]], known, &Minimized::Minimal(vec![n - 1]));
            check(n, &[&[0, 2, n - 1]], known, &Minimized::Minimal(vec![0, 2, n - 1]));
        }
        check(n, &[], false, &Minimized::NotReproduced);
    }
}

#[test]
fn one_of_several_alternatives_is_found_completely() {
    check(100, &[&[3, 90], &[50, 60]], false, &Minimized::Minimal(vec![50, 60]));
}

#[test]
fn results_are_always_minimal() {
    for seed in 0..300 {
        let mut rng = SeededRng(seed);
        let n = 1 + rng.below(300);
        let group = |rng: &mut SeededRng| (0..1 + rng.below(4)).map(|_| rng.below(n)).collect();
        let groups: Vec<Vec<usize>> = (0..1 + rng.below(3)).map(|_| group(&mut rng)).collect();
        let spoiler = (rng.below(2) == 0).then(|| rng.below(n));
        let trial = Groups { groups, spoiler, tried: Cell::new(0), most: usize::MAX };
        match ready(minimize((0..n).collect(), false, &trial)) {
            Minimized::Minimal(list) => {
                assert!(trial.is_in(&list), "seed {seed}: {list:?}");
                for at in 0..list.len() {
                    let fewer = [&list[..at], &list[at + 1..]].concat();
                    assert!(!trial.is_in(&fewer), "seed {seed}: {list:?} could do without {}", list[at]);
                }
            }
            Minimized::NotReproduced => assert!(!trial.is_in(&(0..n).collect::<Vec<_>>()), "seed {seed}"),
            other => panic!("seed {seed}: {other:?}"),
        }
        assert!(trial.tried.get() < 150, "seed {seed}: {}", trial.tried.get());
    }
}

#[test]
fn an_interrupted_minimization_still_reproduces() {
    for most in 1..40 {
        let trial = Groups { groups: vec![vec![100, 300, 500]], spoiler: None, tried: Cell::new(0), most };
        match ready(minimize((0..700).collect(), true, &trial)) {
            Minimized::Minimal(list) | Minimized::Reduced(list) => assert!(trial.is_in(&list), "{list:?}"),
            other => panic!("{other:?}"),
        }
        let untried = Groups { tried: Cell::new(most), ..trial };
        assert_eq!(ready(minimize((0..700).collect(), false, &untried)), Minimized::Untried);
    }
}
