//! The path from a fresh environment to a state: which tests run on it, and where the paths of
//! several sessions diverge. Pure: knows nothing of processes.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use unflake_model::{Session, SessionId, TestId};

/// What leads from one state to the next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PathStep {
    /// The agent takes a snapshot. An environment with a snapshot is in another state than one
    /// without.
    Snapshot,
    Test(TestId),
}

/// Identifies a state by how it was reached from a fresh environment: the number of steps, and a
/// hash of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StateKey {
    pub(crate) steps: usize,
    hash: u64,
}

impl StateKey {
    pub(crate) const FRESH: Self = Self { steps: 0, hash: 0 };
}

/// The steps to the state in which a session starts, and the states between them.
#[derive(Debug)]
pub(crate) struct StatePath {
    steps: Vec<PathStep>,
    /// `states[n]` is the state after the first `n` steps.
    states: Vec<StateKey>,
}

impl StatePath {
    /// None for a session that starts fresh and asks nothing about the state.
    pub(crate) fn of(session: &Session) -> Option<Self> {
        let snapshot = session.probe.iter().map(|_| PathStep::Snapshot);
        let prefix = session.tests.iter().take(session.prefix as usize).cloned().map(PathStep::Test);
        let steps: Vec<PathStep> = snapshot.chain(prefix).collect();
        (!steps.is_empty()).then(|| Self::new(steps))
    }

    fn new(steps: Vec<PathStep>) -> Self {
        let mut states = vec![StateKey::FRESH];
        for (n, step) in steps.iter().enumerate() {
            let mut hasher = DefaultHasher::new();
            (states[n].hash, step).hash(&mut hasher);
            states.push(StateKey { steps: n + 1, hash: hasher.finish() });
        }
        Self { steps, states }
    }

    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    pub(crate) fn state_after(&self, steps: usize) -> StateKey {
        self.states[steps]
    }

    /// The tests between two states.
    pub(crate) fn tests(&self, from: usize, to: usize) -> impl Iterator<Item = &TestId> {
        self.steps[from..to].iter().filter_map(|step| match step {
            PathStep::Test(test) => Some(test),
            PathStep::Snapshot => None,
        })
    }

    /// Whether the step after so many steps is a snapshot.
    pub(crate) fn is_snapshot_at(&self, steps: usize) -> bool {
        self.steps.get(steps) == Some(&PathStep::Snapshot)
    }

    pub(crate) fn passes(&self, state: StateKey) -> bool {
        self.states.get(state.steps) == Some(&state)
    }

    /// Number of steps that it has in common with another path, from the start.
    pub(crate) fn common_steps(&self, other: &Self) -> usize {
        let states = &self.states[..self.states.len().min(other.states.len())];
        states.partition_point(|state| other.passes(*state)) - 1
    }

    /// The next step after `from` at which another path diverges or ends, or the end of this path.
    pub(crate) fn next_stop<'a>(&self, from: usize, others: impl Iterator<Item = &'a Self>) -> usize {
        let stops = others.map(|other| self.common_steps(other)).filter(|stop| *stop > from);
        stops.min().unwrap_or(self.len()).max(from).min(self.len())
    }
}

/// Sorts sessions so that those with a common prefix are adjacent: each state is reached once and
/// released after the last session that needs it. At a branching point the branch with fewer
/// sessions comes first: the state there is kept for the shorter time, and at most log2(sessions)
/// states are kept at once. Sessions that start fresh come first, in their order.
pub(crate) fn depth_first(mut sessions: Vec<Session>) -> Vec<Session> {
    let paths: Vec<Option<StatePath>> = sessions.iter().map(StatePath::of).collect();
    let mut passing: HashMap<StateKey, (usize, usize)> = HashMap::new();
    for state in paths.iter().flatten().flat_map(|path| &path.states[1..]) {
        let first_met = passing.len();
        passing.entry(*state).or_insert((0, first_met)).0 += 1;
    }
    let key = |path: &Option<StatePath>| -> Vec<(usize, usize)> {
        path.iter().flat_map(|path| &path.states[1..]).map(|state| passing[state]).collect()
    };
    let keys: HashMap<SessionId, _> = sessions.iter().map(|session| session.id).zip(paths.iter().map(key)).collect();
    sessions.sort_by(|one, other| keys[&one.id].cmp(&keys[&other.id]));
    sessions
}

#[cfg(test)]
mod tests {
    use unflake_model::{Isolation, Probe, Purpose};

    use super::*;

    /// `a b | v`: prefix a b, then v. A leading `?` requests a probe.
    fn session(id: u32, text: &str) -> Session {
        let (text, probe) = match text.strip_prefix('?') {
            Some(text) => (text, Some(Probe::default())),
            None => (text, None),
        };
        let tests: Vec<&str> = text.split_whitespace().collect();
        let prefix = tests.iter().position(|word| *word == "|").unwrap_or(0) as u32;
        let tests = tests.into_iter().filter(|word| *word != "|").map(TestId::from).collect();
        Session { prefix, probe, ..Session::fresh(SessionId(id), Purpose::Search, Isolation::Fork, tests) }
    }

    fn path(text: &str) -> StatePath {
        StatePath::of(&session(0, text)).unwrap()
    }

    fn sorted(texts: &[&str]) -> Vec<u32> {
        let sessions = (0..).zip(texts).map(|(id, text)| session(id, text)).collect();
        depth_first(sessions).iter().map(|session| session.id.0).collect()
    }

    #[test]
    fn paths_share_their_common_prefix() {
        let long = path("a b c | v");
        assert_eq!(long.common_steps(&path("a b | w")), 2);
        assert_eq!(long.common_steps(&path("b c | v")), 0);
        assert_eq!(long.common_steps(&path("a x c | v")), 1);
        assert_eq!(long.common_steps(&path("a b c | w")), 3);
        assert!(long.passes(path("a b | v").state_after(2)));
        assert!(!long.passes(path("b a | v").state_after(2)));
        assert!(long.passes(StateKey::FRESH));
    }

    #[test]
    fn a_path_with_a_snapshot_shares_nothing_with_one_without() {
        assert_eq!(path("?a | v").common_steps(&path("a | v")), 0);
        assert_eq!(path("?a | v").common_steps(&path("?b | v")), 1);
        assert_eq!(path("?a | v").tests(0, 2).collect::<Vec<_>>(), [&TestId::from("a")]);
        assert!(StatePath::of(&session(0, "a v")).is_none());
    }

    #[test]
    fn a_path_stops_where_another_diverges_or_ends() {
        let long = path("a b c d | v");
        let others = [path("a b x | v"), path("a b c | v"), path("z | v")];
        assert_eq!(long.next_stop(0, others.iter()), 2);
        assert_eq!(long.next_stop(2, others.iter()), 3);
        assert_eq!(long.next_stop(3, others.iter()), 4);
        assert_eq!(long.next_stop(4, others.iter()), 4);
        assert_eq!(long.next_stop(0, [].iter()), 4);
        assert_eq!(long.next_stop(0, [path("a b c d e f | v")].iter()), 4);
    }

    #[test]
    fn sessions_with_a_common_prefix_are_adjacent() {
        assert_eq!(sorted(&["a b c | v", "x | v", "a | v", "y v", "a b | v", "x y | v"]), [3, 1, 5, 2, 4, 0]);
        assert_eq!(sorted(&["b | v", "a | v", "?a | v"]), [0, 1, 2]);
        // The branch with fewer sessions comes first.
        assert_eq!(sorted(&["a b c | v", "a b d | v", "a x | v"]), [2, 0, 1]);
    }
}
