//! Tests that pass, and fail when they are run once more in the same environment (Wei et al. 2022).
//!
//! By default every test is run twice in an environment of its own, which a fork makes cheap; where nothing can be forked, in-process environments
//! tell first which tests need one. Whatever does not pass both times is repeated: twice together and once alone, several times each. Only
//! what does the same every time gets a name of its own.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::rc::Rc;

use unflake_model::{Event, Finding, Isolation, NioKind, NioMode, Outcome, Purpose, Session, TestId};

use crate::Technique;
use crate::idempotence::classify::{Case, last_two, take_note};
use crate::idempotence::prefilter::Sieve;
use crate::leaked_state::proof::{self, Turned};
use crate::search::scheduler::{Answer, Desk, Question, Work, together};
use crate::search::select::chosen;

/// How often a suspicion is repeated, twice together and once alone.
const TIMES: usize = 3;
/// So many tests that always fail are run with nobody beside them, too.
const FEW_BROKEN: usize = 20;
/// So many sessions are asked for at once, so that little is lost when a run is cut short.
const AT_ONCE: usize = 64;

/// What is run twice, and where.
#[derive(Clone, Debug)]
pub struct NioConfig {
    pub mode: NioMode,
    /// Tests to be run, by their names or parts of them. None: all.
    pub only: Option<Vec<String>>,
    /// The name of the class that a test belongs to. Only who knows the runner can tell.
    pub class_of: fn(&str) -> &str,
    pub fresh_by: Isolation,
    /// Whether to look in in-process environments first which tests need a process of their own, and how many processes at once.
    pub in_process: Option<usize>,
    /// Whether to look for the state that the first run leaves behind.
    pub state: bool,
    /// No question is put after so many seconds.
    pub seconds: f64,
}

pub struct Nio {
    doubling: NioConfig,
    work: Option<Work>,
    book: Rc<RefCell<Book>>,
}

/// What is known so far.
#[derive(Default)]
pub(crate) struct Book {
    pub(crate) mode: NioMode,
    pub(crate) passed_in_suite: BTreeSet<TestId>,
    pub(crate) cases: Vec<Case>,
    /// Names that fit no test.
    nobody: Vec<String>,
    /// Tests that could not be run twice in one process.
    pub(crate) untried: Vec<TestId>,
    /// How many tests there was no time for.
    left: usize,
    /// How many tests had no environment but a in-process environment.
    in_process_only: usize,
    pub(crate) over: bool,
}

impl Book {
    fn has_broken(&self) -> bool {
        self.cases.iter().any(|case| case.kind(self) == Some(NioKind::Broken))
    }

    /// What passes in the suite every time needs others before it; what does so now and then is left to chance.
    fn hear_suites(&mut self, answers: &[Answer]) {
        for at in 0..self.cases.len() {
            let test = self.cases[at].test.clone();
            let attempts = answers.iter().filter_map(|answer| answer.attempts.iter().find(|one| one.test == test));
            let outcomes: Vec<Outcome> = attempts.map(|one| one.outcome).collect();
            let passed = outcomes.iter().filter(|outcome| outcome.is_pass()).count();
            if passed == TIMES {
                self.passed_in_suite.insert(test);
            } else if passed > 0 && self.cases[at].kind(self) == Some(NioKind::Broken) {
                self.cases[at].alone.extend(outcomes);
            }
        }
    }
}

impl Nio {
    pub fn new(doubling: NioConfig) -> Self {
        let book = Rc::new(RefCell::new(Book { mode: doubling.mode, ..Book::default() }));
        Self { doubling, work: None, book }
    }

    /// Names that were asked for and fit no test.
    pub fn nobody(&self) -> Vec<String> {
        self.book.borrow().nobody.clone()
    }

    /// How many tests there was no time for.
    pub fn left(&self) -> usize {
        self.book.borrow().left
    }

    /// How many tests had no environment of their own but a in-process environment.
    pub fn in_process_only(&self) -> usize {
        self.book.borrow().in_process_only
    }

    /// Tests that failed only while copies of the project ran beside them.
    pub fn only_beside_others(&self) -> Vec<TestId> {
        let book = self.book.borrow();
        book.cases.iter().filter(|case| case.only_beside_others).map(|case| case.test.clone()).collect()
    }

    /// Tests of which nobody knows, because they could not be run twice in one process.
    pub fn untried(&self) -> Vec<TestId> {
        self.book.borrow().untried.clone()
    }
}

impl Technique for Nio {
    fn hear(&mut self, event: &Event) {
        if let Event::TestsListed { tests, .. } = event {
            let mut tests: Vec<TestId> = tests.iter().map(|test| test.id.clone()).collect();
            let suite = tests.clone();
            if let Some(only) = &self.doubling.only {
                (tests, self.book.borrow_mut().nobody) = chosen(&tests, only);
            }
            let desk = Desk::new(self.doubling.fresh_by, self.doubling.seconds);
            let groups = groups(tests, &self.doubling);
            let sieve = self.doubling.in_process.filter(|_| self.doubling.mode == NioMode::IsolatedMethod);
            let sieve = sieve.map(|jobs| Sieve::new(jobs, self.doubling.seconds));
            let look_for_state = self.doubling.state;
            let search = search(desk.clone(), suite, groups, sieve, look_for_state, self.book.clone());
            self.work = Some(Work::new(desk, search));
        }
        if let Event::AttemptEnded(attempt) = event
            && attempt.purpose == Purpose::Suite
            && attempt.outcome.is_pass()
        {
            self.book.borrow_mut().passed_in_suite.insert(attempt.test.clone());
        }
        if let Some(work) = &mut self.work {
            work.hear(event);
        }
    }

    fn ask(&mut self) -> Vec<Session> {
        self.work.as_mut().map(Work::ask).unwrap_or_default()
    }

    fn findings(&self) -> Vec<Finding> {
        let book = self.book.borrow();
        book.cases.iter().flat_map(|case| case.findings(&book)).collect()
    }
}

/// The tests that share an environment.
fn groups(tests: Vec<TestId>, doubling: &NioConfig) -> Vec<Vec<TestId>> {
    match doubling.mode {
        NioMode::IsolatedMethod => tests.into_iter().map(|test| vec![test]).collect(),
        NioMode::EntireSuite => vec![tests],
        NioMode::IsolatedClass => {
            let mut groups: Vec<Vec<TestId>> = Vec::new();
            let mut group_of: HashMap<String, usize> = HashMap::new();
            for test in tests {
                let class = (doubling.class_of)(test.as_str()).to_owned();
                let at = *group_of.entry(class).or_insert(groups.len());
                if at == groups.len() {
                    groups.push(Vec::new());
                }
                groups[at].push(test);
            }
            groups
        }
    }
}

async fn search(
    desk: Desk,
    suite: Vec<TestId>,
    groups: Vec<Vec<TestId>>,
    mut sieve: Option<Sieve>,
    look_for_state: bool,
    book: Rc<RefCell<Book>>,
) {
    let mut groups = VecDeque::from(groups);
    // Those that a in-process environment was not enough for.
    let mut suspects: VecDeque<Vec<TestId>> = VecDeque::new();
    while !groups.is_empty() || !suspects.is_empty() {
        if desk.is_late() {
            book.borrow_mut().left = groups.iter().chain(&suspects).map(Vec::len).sum();
            return;
        }
        if suspects.is_empty()
            && let Some(sieve) = sieve.as_mut().filter(|sieve| sieve.is_useful())
        {
            let size = sieve.size(&desk).min(groups.len());
            let tests: Vec<TestId> = groups.drain(..size).flatten().collect();
            suspects = sieve.suspects(&desk, &tests).await.into_iter().map(|test| vec![test]).collect();
            book.borrow_mut().in_process_only = sieve.passed();
            continue;
        }
        let next = if suspects.is_empty() { &mut groups } else { &mut suspects };
        let groups: Vec<Vec<TestId>> = next.drain(..AT_ONCE.min(next.len())).collect();
        let double = |group: &Vec<TestId>| group.iter().flat_map(|test| [test.clone(), test.clone()]).collect();
        let questions = groups.iter().map(|group| Question::new(Purpose::Twice, double(group)));
        let answers = desk.ask(questions.collect()).await;
        let first = book.borrow().cases.len();
        for (group, answer) in groups.iter().zip(answers) {
            take_note(group, &answer, &mut book.borrow_mut());
        }
        let suspects = first..book.borrow().cases.len();
        together(suspects.map(|at| confirm(&desk, at, look_for_state, &book)).collect()).await;
    }
    let undecided: Vec<usize> = {
        let book = book.borrow();
        let kind = |at: &usize| book.cases[*at].kind(&book);
        let of = |wanted: NioKind| (0..book.cases.len()).filter(move |at| kind(at) == Some(wanted)).collect::<Vec<_>>();
        // A copy that holds what another one needs can make it fail every time. Many that fail have other reasons.
        let broken = of(NioKind::Broken);
        let broken = if broken.len() <= FEW_BROKEN { broken } else { Vec::new() };
        [of(NioKind::NonDeterministic), broken].concat()
    };
    for at in undecided {
        if !desk.is_late() {
            one_at_a_time(&desk, at, look_for_state, &book).await;
        }
    }
    if book.borrow().has_broken() && !desk.is_late() {
        // What fails alone may pass after others.
        let mut answers = Vec::new();
        for _ in 0..TIMES {
            answers.extend(desk.ask(vec![Question::new(Purpose::Order, suite.clone())]).await);
        }
        book.borrow_mut().hear_suites(&answers);
    }
    book.borrow_mut().over = true;
}

/// Copies of a project may meet on a port or a file. What varies is run with nobody beside it before it is called chance.
async fn one_at_a_time(desk: &Desk, at: usize, look_for_state: bool, book: &RefCell<Book>) {
    let test = book.borrow().cases[at].test.clone();
    let pair = vec![test.clone(), test.clone()];
    let mut case = Case { twice: Vec::new(), order: pair.clone(), ..book.borrow().cases[at].clone() };
    case.alone.clear();
    for round in 0..=TIMES {
        let answer = desk.ask(vec![Question::new(Purpose::Twice, pair.clone())]).await.remove(0);
        case.rest_on(&answer.attempts);
        case.twice.extend(last_two(&answer.attempts));
        case.second_failure = answer.last().and_then(|last| last.failure.clone()).or(case.second_failure);
        // Not in step with anything that takes turns.
        for _ in 0..=round % 2 {
            let answer = desk.ask(vec![Question::new(Purpose::Twice, vec![test.clone()])]).await.remove(0);
            case.rest_on(&answer.attempts);
            case.alone.extend(answer.last().map(|last| last.outcome));
        }
    }
    if case.twice.is_empty() || case.alone.is_empty() {
        return;
    }
    let twice_well = case.twice.iter().all(|(one, two)| one.is_pass() && two.is_pass());
    case.only_beside_others = twice_well && case.alone.iter().all(|outcome| outcome.is_pass());
    let kind = case.kind(&book.borrow());
    if kind == Some(NioKind::NonDeterministic) {
        return;
    }
    book.borrow_mut().cases[at] = case;
    if kind == Some(NioKind::Nio) && look_for_state && !desk.is_late() {
        let state = proof::state(desk, std::slice::from_ref(&test), &test, &Turned::Passes).await;
        book.borrow_mut().cases[at].state = state;
    }
}

async fn confirm(desk: &Desk, at: usize, look_for_state: bool, book: &RefCell<Book>) {
    let mut case = book.borrow().cases[at].clone();
    let test = case.test.clone();
    let pair = vec![test.clone(), test.clone()];
    let alone = std::iter::repeat_n(Question::new(Purpose::Twice, vec![test.clone()]), TIMES);
    let twice = |order: &[TestId]| std::iter::repeat_n(Question::new(Purpose::Twice, order.to_vec()), TIMES);
    let answers = desk.ask(twice(&pair).chain(alone).collect()).await;
    case.rest_on(answers.iter().flat_map(|answer| &answer.attempts));
    case.alone.extend(answers[TIMES..].iter().filter_map(Answer::last).map(|one| one.outcome));
    let in_company = case.order.len() > 2;
    let first = case.twice[0];
    let of_pair: Vec<(Outcome, Outcome)> =
        answers[..TIMES].iter().filter_map(|answer| last_two(&answer.attempts)).collect();
    if in_company && of_pair.iter().all(|(one, two)| one.is_pass() && two.is_pass()) {
        // Alone it bears to be run twice, so the others of its group have a part in it.
        let answers = desk.ask(twice(&case.order).collect()).await;
        case.rest_on(answers.iter().flat_map(|answer| &answer.attempts));
        case.twice.extend(answers.iter().filter_map(|answer| last_two(&answer.attempts)));
    } else {
        // What it did in company is no evidence of what it does alone.
        if in_company {
            case.twice.clear();
            case.order = pair;
        }
        case.twice.extend(of_pair);
        if case.twice.is_empty() {
            case.twice.push(first);
        }
        for answer in &answers[..TIMES] {
            if case.second_failure.is_none() {
                case.second_failure = answer.last().and_then(|last| last.failure.clone());
            }
        }
    }
    book.borrow_mut().cases[at] = case.clone();
    let is_nio = case.kind(&book.borrow()) == Some(NioKind::Nio);
    if is_nio && look_for_state && case.order.len() == 2 && !desk.is_late() {
        let state = proof::state(desk, std::slice::from_ref(&test), &test, &Turned::Passes).await;
        book.borrow_mut().cases[at].state = state;
    }
}

#[cfg(test)]
mod tests;
