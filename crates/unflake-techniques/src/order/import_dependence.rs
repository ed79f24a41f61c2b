//! Import dependence: does a test's outcome change because files of other tests are loaded,
//! although none of their tests has run?
//!
//! A new process loads only the files of the tests in its session. So the test runs first, followed
//! by one test of every file that is to be loaded.

use unflake_model::{OrderKind, Purpose, Repeats, TestId};

use crate::order::polluter_search::Dependence;
use crate::search::minimize::{Found, Trial, smallest};
use crate::search::scheduler::{Answer, Desk, Heard, Question};

/// Repetitions of the result, with those files and without.
const TIMES: usize = 3;

/// Does the outcome change when the files of these tests are loaded too?
struct Loaded<'a> {
    desk: &'a Desk,
    test: &'a TestId,
    fails_without: bool,
}

fn question(test: &TestId, with: &[TestId]) -> Question {
    let tests = [std::slice::from_ref(test), with].concat();
    Question { anew: true, ..Question::new(Purpose::Search, tests) }
}

/// Outcome of the test, which comes first. `None` if unknown or skipped.
fn first(answer: &Answer) -> Option<&Heard> {
    answer.attempts.first().filter(|first| first.outcome.is_pass() || first.outcome.is_failure())
}

impl Loaded<'_> {
    fn is_other(&self, answer: &Answer) -> bool {
        first(answer).is_some_and(|first| first.outcome.is_failure() != self.fails_without)
    }
}

impl Trial<TestId> for Loaded<'_> {
    const GROWS: bool = false;

    async fn shows(&self, lists: Vec<(Vec<TestId>, usize)>) -> Vec<bool> {
        let questions = lists.iter().map(|(list, _)| question(self.test, list));
        self.desk.ask(questions.collect()).await.iter().map(|answer| self.is_other(answer)).collect()
    }

    fn is_over(&self) -> bool {
        self.desk.is_late()
    }
}

/// `others`: one test of every other file. `None`: no difference, or out of time.
pub(crate) async fn loading(desk: &Desk, test: &TestId, others: &[TestId]) -> Option<Dependence> {
    let answers = desk.ask(vec![question(test, &[]), question(test, others)]).await;
    let (without, with) = (first(&answers[0])?, first(&answers[1])?);
    if without.outcome.is_failure() == with.outcome.is_failure() {
        return None;
    }
    let loaded = Loaded { desk, test, fails_without: without.outcome.is_failure() };
    let Found::Smallest(list) = smallest(others.to_vec(), true, &loaded).await else { return None };
    let repeated = [vec![question(test, &list); TIMES], vec![question(test, &[]); TIMES]].concat();
    let answers = desk.ask(repeated).await;
    let count = |answers: &[Answer]| answers.iter().filter(|answer| loaded.is_other(answer)).count();
    if count(&answers[..TIMES]) < TIMES || count(&answers[TIMES..]) > 0 {
        return None;
    }
    let times = TIMES as u32;
    let failing = if loaded.fails_without { without } else { with };
    Some(Dependence {
        kind: if loaded.fails_without { OrderKind::Brittle } else { OrderKind::Victim },
        alone: without.outcome,
        culprits: vec![list],
        cleaners: Vec::new(),
        evidence: Repeats {
            seen: times,
            tried: times,
            alone_passed: if loaded.fails_without { 0 } else { times },
            alone_tried: times,
        },
        failure: failing.failure.clone(),
        each_tried: None,
        by_loading: true,
        unfinished: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::order_cover::Chance;
    use crate::simulation::simulated_suite::{Sim, World, named};

    #[test]
    fn random_failures_are_not_taken_for_import_dependence() {
        for seed in 0..40 {
            let mut world = World::new(20, vec![(4, Sim { fails_anyway: 50, ..Sim::default() })]);
            (world.files, world.chance) = (20, Chance(seed));
            let others: Vec<TestId> = (5..20).map(named).collect();
            let found = world.search(async move |desk| loading(&desk, &named(4), &others).await);
            assert!(found.is_none(), "seed {seed}: {found:?}");
        }
    }
}
