//! The way to a state: which tests have run since an environment was fresh, and where the ways of several sessions part.
//! Nothing here knows of processes.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use unflake_model::{Session, SessionId, TestId};

/// What brings an environment from one state to the next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// What was there is remembered. An environment that remembers is another than one that does not.
    Remember,
    Test(TestId),
}

/// What an environment has behind it, and so the state it is in: how many steps since it was fresh, and a mark of which
/// they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Past {
    pub(crate) steps: usize,
    mark: u64,
}

impl Past {
    pub(crate) const FRESH: Self = Self { steps: 0, mark: 0 };
}

/// The steps to the state in which a session wants to begin, and the states on the way.
#[derive(Debug)]
pub(crate) struct Path {
    steps: Vec<Step>,
    /// `pasts[n]` is where the first `n` steps lead.
    pasts: Vec<Past>,
}

impl Path {
    /// None for a session that begins in a fresh state and asks nothing of it.
    pub(crate) fn of(session: &Session) -> Option<Self> {
        let remember = session.probe.iter().map(|_| Step::Remember);
        let prefix = session.tests.iter().take(session.prefix as usize).cloned().map(Step::Test);
        let steps: Vec<Step> = remember.chain(prefix).collect();
        (!steps.is_empty()).then(|| Self::new(steps))
    }

    fn new(steps: Vec<Step>) -> Self {
        let mut pasts = vec![Past::FRESH];
        for (n, step) in steps.iter().enumerate() {
            let mut hasher = DefaultHasher::new();
            (pasts[n].mark, step).hash(&mut hasher);
            pasts.push(Past { steps: n + 1, mark: hasher.finish() });
        }
        Self { steps, pasts }
    }

    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    pub(crate) fn past(&self, steps: usize) -> Past {
        self.pasts[steps]
    }

    /// The tests between two states.
    pub(crate) fn tests(&self, from: usize, to: usize) -> impl Iterator<Item = &TestId> {
        self.steps[from..to].iter().filter_map(|step| match step {
            Step::Test(test) => Some(test),
            Step::Remember => None,
        })
    }

    /// Whether remembering is what comes after so many steps.
    pub(crate) fn remembers_at(&self, steps: usize) -> bool {
        self.steps.get(steps) == Some(&Step::Remember)
    }

    pub(crate) fn passes(&self, past: Past) -> bool {
        self.pasts.get(past.steps) == Some(&past)
    }

    /// How many steps it has in common with another.
    pub(crate) fn shared_with(&self, other: &Self) -> usize {
        let pasts = &self.pasts[..self.pasts.len().min(other.pasts.len())];
        pasts.partition_point(|past| other.passes(*past)) - 1
    }

    /// Where whoever goes this way from `from` stops next: where another parts from it or ends, or at its own end.
    pub(crate) fn next_stop<'a>(&self, from: usize, others: impl Iterator<Item = &'a Self>) -> usize {
        let stops = others.map(|other| self.shared_with(other)).filter(|stop| *stop > from);
        stops.min().unwrap_or(self.len()).max(from).min(self.len())
    }
}

/// Puts sessions whose ways begin alike beside each other, so that each state is reached once and can go when the last that
/// wants it has gone by. Where ways part, the one that fewer go comes first: then the state at the parting waits for the
/// shorter time, and at most as many wait at once as the number of sessions has binary digits. Sessions that begin fresh come
/// before all, as they are.
pub(crate) fn depth_first(mut sessions: Vec<Session>) -> Vec<Session> {
    let paths: Vec<Option<Path>> = sessions.iter().map(Path::of).collect();
    let mut passing: HashMap<Past, (usize, usize)> = HashMap::new();
    for past in paths.iter().flatten().flat_map(|path| &path.pasts[1..]) {
        let first_met = passing.len();
        passing.entry(*past).or_insert((0, first_met)).0 += 1;
    }
    let key = |path: &Option<Path>| -> Vec<(usize, usize)> {
        path.iter().flat_map(|path| &path.pasts[1..]).map(|past| passing[past]).collect()
    };
    let keys: HashMap<SessionId, _> = sessions.iter().map(|session| session.id).zip(paths.iter().map(key)).collect();
    sessions.sort_by(|one, other| keys[&one.id].cmp(&keys[&other.id]));
    sessions
}

#[cfg(test)]
mod tests {
    use unflake_model::{Isolation, Probe, Purpose};

    use super::*;

    /// `a b | v`: after a and b, v. A leading `?` asks for the state.
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

    fn path(text: &str) -> Path {
        Path::of(&session(0, text)).unwrap()
    }

    fn sorted(texts: &[&str]) -> Vec<u32> {
        let sessions = (0..).zip(texts).map(|(id, text)| session(id, text)).collect();
        depth_first(sessions).iter().map(|session| session.id.0).collect()
    }

    #[test]
    fn ways_share_what_they_have_in_common_from_the_beginning() {
        let long = path("a b c | v");
        assert_eq!(long.shared_with(&path("a b | w")), 2);
        assert_eq!(long.shared_with(&path("b c | v")), 0);
        assert_eq!(long.shared_with(&path("a x c | v")), 1);
        assert_eq!(long.shared_with(&path("a b c | w")), 3);
        assert!(long.passes(path("a b | v").past(2)));
        assert!(!long.passes(path("b a | v").past(2)));
        assert!(long.passes(Past::FRESH));
    }

    #[test]
    fn whoever_remembers_shares_nothing_with_whoever_does_not() {
        assert_eq!(path("?a | v").shared_with(&path("a | v")), 0);
        assert_eq!(path("?a | v").shared_with(&path("?b | v")), 1);
        assert_eq!(path("?a | v").tests(0, 2).collect::<Vec<_>>(), [&TestId::from("a")]);
        assert!(Path::of(&session(0, "a v")).is_none());
    }

    #[test]
    fn stops_are_where_another_way_parts_or_ends() {
        let way = path("a b c d | v");
        let others = [path("a b x | v"), path("a b c | v"), path("z | v")];
        assert_eq!(way.next_stop(0, others.iter()), 2);
        assert_eq!(way.next_stop(2, others.iter()), 3);
        assert_eq!(way.next_stop(3, others.iter()), 4);
        assert_eq!(way.next_stop(4, others.iter()), 4);
        assert_eq!(way.next_stop(0, [].iter()), 4);
        assert_eq!(way.next_stop(0, [path("a b c d e f | v")].iter()), 4);
    }

    #[test]
    fn ways_that_begin_alike_are_gone_one_after_the_other() {
        assert_eq!(sorted(&["a b c | v", "x | v", "a | v", "y v", "a b | v", "x y | v"]), [3, 1, 5, 2, 4, 0]);
        assert_eq!(sorted(&["b | v", "a | v", "?a | v"]), [0, 1, 2]);
        // What fewer want comes first: the short branch before the long one.
        assert_eq!(sorted(&["a b c | v", "a b d | v", "a x | v"]), [2, 0, 1]);
    }
}
