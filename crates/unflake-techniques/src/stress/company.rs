//! Different tests at the same time in one process: which of them disturb each other.
//!
//! Groups of tests of one program run in threads of one process, in all sizes from two to the whole
//! program, drawn anew each time. A test that fails in a group is a suspect. It runs alone, and
//! beside each of its companions, until the pair that fails is known: alone it passes, and one
//! after the other the two pass, too.

use std::collections::HashMap;

use unflake_model::{
    Attempt, Detail, EnvironmentId, Finding, Isolation, Purpose, Replay, Session, SessionId, Test, TestId, VerdictKind,
    World,
};

use crate::finding::counted_verdict;
use crate::search::rng::SeededRng;
use crate::stats::failure_rate::{FailureCount, more_often};

/// Sizes of groups, in turn. The last is the whole program.
const SIZES: [usize; 6] = [2, 4, 2, 8, 2, usize::MAX];
/// Companions that are tried one by one; more are first tried in groups of this size.
const FEW: usize = 8;
/// Runs beside each companion, or each group of them.
const TRIES: u32 = 5;
/// Runs alone, in turn and beside the companion in each round of confirmation.
const CONFIRMATIONS: u32 = 10;
/// Rounds of confirmation.
const MOST_ROUNDS: u32 = 4;
/// An accident is less likely than one in a hundred, although every round is another chance for one.
const SIGNIFICANCE: f64 = 0.01 / MOST_ROUNDS as f64;
/// How often a test is examined again that fails in another group and whose companion is not known.
const MOST_EXAMINATIONS: u32 = 6;
/// Suspects examined at the same time.
const SUSPECTS_AT_ONCE: usize = 4;

pub(crate) struct Company {
    /// Where all tests run, in turn. Empty: as it is.
    worlds: Vec<World>,
    /// How many tests run at the same time in one process; below two there is no company.
    threads: u32,
    rng: SeededRng,
    tests: Vec<TestId>,
    at: HashMap<TestId, usize>,
    /// The tests of each program.
    programs: Vec<Vec<usize>>,
    /// Groups that were drawn and have not run.
    drawn: Vec<Vec<usize>>,
    /// How many times all tests were divided into groups.
    divisions: usize,
    suspects: Vec<CompanySuspect>,
    trials: HashMap<SessionId, Trial>,
    /// By test: runs in groups.
    grouped: Vec<FailureCount>,
    /// Tests that ran in each process of the running sessions, and whether they failed.
    ran: HashMap<(SessionId, EnvironmentId), Vec<(usize, bool)>>,
}

/// A test that failed at the same time as others.
struct CompanySuspect {
    victim: usize,
    /// The tests that ran at the same time, as far as they are still suspected.
    companions: Vec<usize>,
    stage: Stage,
    /// How often its examination has begun, and whether the running sessions are part of it.
    examinations: u32,
    is_examined: bool,
    alone: FailureCount,
    /// Beside groups of companions.
    beside_many: FailureCount,
    /// By companion.
    beside: HashMap<usize, FailureCount>,
    /// One after the other in one process, with the companion that is confirmed.
    in_turn: FailureCount,
}

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    /// Which group of companions?
    Groups,
    /// Which companion?
    Pairs,
    /// This one, in so many rounds.
    Confirm(usize, u32),
    Over(Option<usize>),
}

/// What a session of several tests, or of a suspect, is for.
#[derive(Clone, Debug, PartialEq)]
enum Trial {
    Group,
    Alone(usize),
    Beside(usize, Vec<usize>),
    InTurn(usize),
}

/// One more run.
fn add(count: &mut FailureCount, failed: bool) {
    *count = *count + FailureCount::new(u32::from(failed), 1);
}

impl Company {
    pub(crate) fn new(threads: u32, seed: u64) -> Self {
        Self {
            worlds: Vec::new(),
            threads,
            rng: SeededRng(seed),
            tests: Vec::new(),
            at: HashMap::new(),
            programs: Vec::new(),
            drawn: Vec::new(),
            divisions: 0,
            suspects: Vec::new(),
            trials: HashMap::new(),
            grouped: Vec::new(),
            ran: HashMap::new(),
        }
    }

    /// The same in these worlds in turn, alone and beside others.
    pub(crate) fn under(self, worlds: Vec<World>) -> Self {
        Self { worlds, ..self }
    }

    /// The tests of one program have one file.
    pub(crate) fn listed(&mut self, tests: &[Test]) {
        let mut programs: HashMap<Option<&str>, Vec<usize>> = HashMap::new();
        for (at, test) in tests.iter().enumerate() {
            programs.entry(test.file.as_deref()).or_default().push(at);
        }
        self.programs = programs.into_values().filter(|tests| tests.len() > 1).collect();
        self.programs.sort();
        self.tests = tests.iter().map(|test| test.id.clone()).collect();
        self.at = self.tests.iter().cloned().zip(0..).collect();
        self.grouped = vec![FailureCount::default(); tests.len()];
    }

    fn is_possible(&self) -> bool {
        self.threads > 1 && !self.programs.is_empty()
    }

    /// Groups to run now: as many as are expected to take so many seconds, but no more than `most`. `may_run`: whether a test
    /// is still of interest, after so many more runs.
    pub(crate) fn groups(
        &mut self,
        mut id: impl FnMut() -> SessionId,
        may_run: impl Fn(usize, u32) -> bool,
        cost: impl Fn(usize) -> f64,
        (mut seconds, most): (f64, usize),
    ) -> Vec<Session> {
        let mut sessions = Vec::new();
        let mut planned = vec![0; self.tests.len()];
        while self.is_possible() && seconds > 0.0 && sessions.len() < most {
            if self.drawn.is_empty() {
                self.divide(|at| may_run(at, planned[at]));
            }
            let Some(mut group) = self.drawn.pop() else { break };
            group.retain(|at| may_run(*at, planned[*at]));
            if group.len() < 2 {
                continue;
            }
            group.iter().for_each(|at| planned[*at] += 1);
            seconds -= group.iter().map(|at| cost(*at)).sum::<f64>();
            let session = self.session(id(), &group, group.len() as u32);
            self.trials.insert(session.id, Trial::Group);
            sessions.push(session);
        }
        sessions
    }

    /// Divides the tests of every program into groups at random.
    fn divide(&mut self, may_run: impl Fn(usize) -> bool) {
        let size = SIZES[self.divisions % SIZES.len()];
        self.divisions += 1;
        for program in &self.programs {
            let mut tests: Vec<usize> = program.iter().copied().filter(|at| may_run(*at)).collect();
            self.rng.shuffle(&mut tests);
            let groups = tests.chunks(size.min(tests.len()).max(1)).filter(|group| group.len() > 1);
            self.drawn.extend(groups.map(<[usize]>::to_vec));
        }
        self.rng.shuffle(&mut self.drawn);
    }

    /// These tests in one process, so many at the same time, in the order of the program.
    fn session(&self, id: SessionId, tests: &[usize], at_once: u32) -> Session {
        let mut tests = tests.to_vec();
        tests.sort_unstable();
        let tests = tests.into_iter().map(|at| self.tests[at].clone()).collect();
        let under = self.worlds.get(id.0 as usize % self.worlds.len().max(1)).cloned();
        Session { at_once, under, ..Session::fresh(id, Purpose::Stress, Isolation::Process, tests) }
    }

    /// Examines a test that has not failed in a group: beside all other tests of its program.
    pub(crate) fn suspect(&mut self, test: &TestId) {
        let Some(victim) = self.at.get(test).copied() else { return };
        let Some(program) = self.programs.iter().find(|tests| tests.contains(&victim)) else { return };
        let companions = program.iter().copied().filter(|at| *at != victim).collect();
        match self.suspects.iter_mut().find(|suspect| suspect.victim == victim) {
            Some(suspect) if suspect.is_open_again() => suspect.reopen(companions),
            Some(_) => {}
            None => self.suspects.push(CompanySuspect::new(victim, companions)),
        }
    }

    /// How many other tests its program has.
    pub(crate) fn companions(&self, test: &TestId) -> usize {
        let program = self.at.get(test).and_then(|at| self.programs.iter().find(|tests| tests.contains(at)));
        program.map_or(0, |tests| tests.len() - 1)
    }

    /// Whether a test that passes alone has failed beside others, and which of them it was is not known.
    pub(crate) fn has_failed(&self) -> bool {
        self.suspects.iter().any(|suspect| {
            let has_failed = suspect.beside_many.failed > 0 || suspect.beside.values().any(|count| count.failed > 0);
            has_failed && suspect.alone.failed == 0 && !matches!(suspect.stage, Stage::Over(_))
        })
    }

    /// Sessions that examine the suspects.
    pub(crate) fn examinations(&mut self, mut id: impl FnMut() -> SessionId) -> Vec<Session> {
        let mut sessions = Vec::new();
        let open: Vec<usize> =
            (0..self.suspects.len()).filter(|at| !matches!(self.suspects[*at].stage, Stage::Over(_))).collect();
        for at in open.into_iter().take(SUSPECTS_AT_ONCE) {
            self.suspects[at].is_examined = true;
            for trial in self.suspects[at].trials(at) {
                let victim = self.suspects[at].victim;
                let (others, at_once) = match &trial {
                    Trial::Beside(_, others) => (others.clone(), others.len() as u32 + 1),
                    Trial::InTurn(_) => (self.suspects[at].companion().into_iter().collect(), 1),
                    _ => (Vec::new(), 1),
                };
                let session = self.session(id(), &[&[victim], &others[..]].concat(), at_once);
                self.trials.insert(session.id, trial);
                sessions.push(session);
            }
        }
        sessions
    }

    /// Whether the attempt is part of a session of this search. Otherwise it is about one test.
    pub(crate) fn observe(&mut self, attempt: &Attempt) -> bool {
        let Some(trial) = self.trials.get(&attempt.session) else { return false };
        let Some(at) = self.at.get(&attempt.test) else { return true };
        if attempt.outcome.is_pass() || attempt.outcome.is_failure() {
            let ran = self.ran.entry((attempt.session, attempt.environment)).or_default();
            ran.push((*at, attempt.outcome.is_failure()));
        }
        !matches!(trial, Trial::Alone(_))
    }

    /// All sessions have ended: what they showed.
    pub(crate) fn batch_ended(&mut self) {
        let mut ran: Vec<_> = std::mem::take(&mut self.ran).into_iter().collect();
        ran.sort_by_key(|(key, _)| *key);
        for ((session, _), tests) in ran {
            match self.trials.get(&session) {
                Some(Trial::Group) => self.observe_group(&tests),
                Some(trial) => {
                    let trial = trial.clone();
                    self.observe_trial(&trial, &tests);
                }
                None => {}
            }
        }
        if !self.trials.is_empty() {
            self.trials.clear();
            self.suspects.iter_mut().for_each(CompanySuspect::conclude_stage);
        }
    }

    fn observe_group(&mut self, tests: &[(usize, bool)]) {
        if tests.len() < 2 {
            return;
        }
        for (victim, failed) in tests {
            add(&mut self.grouped[*victim], *failed);
            if !failed {
                continue;
            }
            let companions: Vec<usize> = tests.iter().map(|(at, _)| *at).filter(|at| at != victim).collect();
            match self.suspects.iter_mut().find(|suspect| suspect.victim == *victim) {
                Some(suspect) if suspect.is_open_again() => suspect.reopen(companions),
                Some(_) => {}
                None => self.suspects.push(CompanySuspect::new(*victim, companions)),
            }
        }
    }

    fn observe_trial(&mut self, trial: &Trial, tests: &[(usize, bool)]) {
        let (Trial::Alone(at) | Trial::Beside(at, _) | Trial::InTurn(at)) = trial else { return };
        let suspect = &mut self.suspects[*at];
        let Some((_, failed)) = tests.iter().find(|(at, _)| *at == suspect.victim) else { return };
        match trial {
            _ if tests.len() == 1 => add(&mut suspect.alone, *failed),
            Trial::InTurn(_) => add(&mut suspect.in_turn, *failed),
            Trial::Beside(_, others) if others.len() == 1 => add(suspect.beside.entry(others[0]).or_default(), *failed),
            Trial::Beside(_, others) => {
                add(&mut suspect.beside_many, *failed);
                if *failed && suspect.stage == Stage::Groups {
                    suspect.companions.clone_from(others);
                }
            }
            Trial::Alone(_) | Trial::Group => {}
        }
    }

    /// Whether a test is examined here, or was.
    pub(crate) fn suspects(&self, at: usize) -> bool {
        self.suspects.iter().any(|suspect| suspect.victim == at && suspect.alone.failed == 0)
    }

    pub(crate) fn findings(&self) -> Vec<Finding> {
        self.suspects.iter().filter(|suspect| suspect.alone.failed == 0).map(|suspect| self.finding(suspect)).collect()
    }

    fn finding(&self, suspect: &CompanySuspect) -> Finding {
        let victim = &self.tests[suspect.victim];
        let (companion, beside) = match suspect.confirmed() {
            Some(companion) => (Some(companion), suspect.beside[&companion]),
            None => (None, suspect.beside_many + self.grouped[suspect.victim]),
        };
        let FailureCount { runs, failed } = beside;
        let alone = match suspect.alone.runs {
            0 => String::new(),
            runs => format!("; alone it passed {runs} of {runs}"),
        };
        let in_turn = suspect.in_turn;
        let factors = self.worlds.iter().take(1).flat_map(|world| &world.factors);
        let when: String = factors.map(|factor| format!(", {}", factor.when())).collect();
        let (kind, sentence) = match companion.map(|at| &self.tests[at]) {
            Some(other) if in_turn.failed > 0 => (
                VerdictKind::FlakyStateDependent,
                format!(
                    "fails in one process with {other}: {failed} of {runs} runs at the same time failed, and {} of {} \
                     one after the other{alone}",
                    in_turn.failed, in_turn.runs
                ),
            ),
            Some(other) => (
                VerdictKind::FlakyIndependent,
                format!(
                    "fails when it runs at the same time as {other} in one process{when}: {failed} of {runs} runs failed{alone}, \
                     and one after the other {} of {}",
                    in_turn.runs, in_turn.runs
                ),
            ),
            None => (
                VerdictKind::FlakyIndependent,
                format!("failed in {failed} of {runs} runs at the same time as other tests of its program{alone}"),
            ),
        };
        let counts = (runs + suspect.alone.runs + in_turn.runs, failed + in_turn.failed);
        let mut finding = counted_verdict(victim, kind, counts, Isolation::Process, sentence);
        let beside: Vec<TestId> = companion.into_iter().map(|at| self.tests[at].clone()).collect();
        finding.replays = match &beside[..] {
            [] => vec![Replay::sometimes_fails(Vec::new())],
            [other] => {
                let together = Replay::counted(vec![victim.clone(), other.clone()], failed, runs);
                vec![Replay { at_once: 2, under: self.worlds.first().cloned().unwrap_or_default(), ..together }]
            }
            _ => Vec::new(),
        };
        if let Detail::Verdict(verdict) = &mut finding.detail {
            verdict.evidence.beside = beside;
        }
        finding
    }
}

impl CompanySuspect {
    fn new(victim: usize, companions: Vec<usize>) -> Self {
        let mut suspect = Self {
            victim,
            companions: Vec::new(),
            stage: Stage::Over(None),
            examinations: 0,
            is_examined: false,
            alone: FailureCount::default(),
            beside_many: FailureCount::default(),
            beside: HashMap::new(),
            in_turn: FailureCount::default(),
        };
        suspect.reopen(companions);
        suspect
    }

    /// Whether it was examined in vain, and another failure may tell more.
    fn is_open_again(&self) -> bool {
        let is_over = matches!(self.stage, Stage::Over(_)) && self.alone.failed == 0;
        is_over && self.confirmed().is_none() && self.examinations < MOST_EXAMINATIONS
    }

    /// It has failed beside these.
    fn reopen(&mut self, companions: Vec<usize>) {
        self.examinations += 1;
        self.stage = match &companions[..] {
            [other] => Stage::Confirm(*other, 1),
            few if few.len() <= FEW => Stage::Pairs,
            _ => Stage::Groups,
        };
        self.companions = companions;
        self.in_turn = FailureCount::default();
    }

    fn companion(&self) -> Option<usize> {
        match self.stage {
            Stage::Confirm(companion, _) => Some(companion),
            Stage::Over(companion) => companion,
            Stage::Groups | Stage::Pairs => None,
        }
    }

    /// The companion, if an accident is unlikely enough.
    fn confirmed(&self) -> Option<usize> {
        let companion = self.companion()?;
        (more_often(*self.beside.get(&companion)?, self.alone) < SIGNIFICANCE).then_some(companion)
    }

    /// What to run at this stage. `at`: the number of this suspect.
    fn trials(&self, at: usize) -> Vec<Trial> {
        let times = |trial: Trial, times: u32| std::iter::repeat_n(trial, times as usize);
        let mut trials: Vec<Trial> = Vec::new();
        match self.stage {
            Stage::Groups => {
                trials.extend(times(Trial::Alone(at), TRIES));
                for group in self.companions.chunks(FEW) {
                    trials.extend(times(Trial::Beside(at, group.to_vec()), TRIES));
                }
            }
            Stage::Pairs => {
                trials.extend(times(Trial::Alone(at), TRIES));
                for other in &self.companions {
                    trials.extend(times(Trial::Beside(at, vec![*other]), TRIES));
                }
            }
            Stage::Confirm(other, _) => {
                trials.extend(times(Trial::Alone(at), CONFIRMATIONS));
                trials.extend(times(Trial::Beside(at, vec![other]), CONFIRMATIONS));
                trials.extend(times(Trial::InTurn(at), CONFIRMATIONS));
            }
            Stage::Over(_) => {}
        }
        trials
    }

    /// The trials of this stage have ended.
    fn conclude_stage(&mut self) {
        let most = self.beside.iter().filter(|(_, tally)| tally.failed > 0);
        let likeliest = most.max_by_key(|(at, tally)| (tally.failed, **at)).map(|(at, _)| *at);
        if !std::mem::take(&mut self.is_examined) {
            return;
        }
        self.stage = match self.stage {
            _ if self.alone.failed > 0 => Stage::Over(None),
            Stage::Groups if self.companions.len() <= FEW => Stage::Pairs,
            Stage::Groups => Stage::Over(None),
            Stage::Pairs => likeliest.map_or(Stage::Over(None), |other| Stage::Confirm(other, 1)),
            Stage::Confirm(other, rounds) if rounds < MOST_ROUNDS && self.confirmed().is_none() => {
                Stage::Confirm(other, rounds + 1)
            }
            Stage::Confirm(other, _) => Stage::Over(Some(other)),
            Stage::Over(other) => Stage::Over(other),
        };
    }
}

#[cfg(test)]
mod tests;
