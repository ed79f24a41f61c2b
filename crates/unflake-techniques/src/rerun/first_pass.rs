//! Spreads the first pass over several processes: whole files, so that shared fixtures are set up
//! once, and in each process in the order of the suite.

use std::collections::HashMap;
use std::sync::Arc;

use unflake_model::{Test, TestId};

/// How the first pass runs.
#[derive(Default)]
pub(crate) struct FirstPass {
    /// How long tests took before.
    pub(crate) seconds: HashMap<TestId, f64>,
    /// In how many processes it may run.
    pub(crate) processes: usize,
    /// The tests of each process. Empty: all run in the process of the user's command.
    pub(crate) shares: Vec<Vec<TestId>>,
}

impl FirstPass {
    pub(crate) fn listed(&mut self, tests: &[&Test]) {
        self.shares = shares(tests, self.processes, &self.seconds);
        if self.shares.len() < 2 {
            self.shares.clear();
        }
    }
}

/// The tests of each process. `seconds`: how long tests took before; where none is known, every test
/// counts the same. There are fewer processes where there are fewer files.
fn shares(tests: &[&Test], processes: usize, seconds: &HashMap<TestId, f64>) -> Vec<Vec<TestId>> {
    let known = || tests.iter().filter_map(|test| seconds.get(&test.id));
    // A test that has never run takes as long as the others do on average.
    let usual = known().sum::<f64>() / known().count().max(1) as f64;
    let weight = |test: &Test| match usual > 0.0 {
        true => seconds.get(&test.id).copied().unwrap_or(usual),
        false => 1.0,
    };
    let mut files: Vec<(Option<&Arc<str>>, f64)> = Vec::new();
    let mut file_of: HashMap<Option<&Arc<str>>, usize> = HashMap::new();
    for test in tests {
        let at = *file_of.entry(test.file.as_ref()).or_insert_with(|| {
            files.push((test.file.as_ref(), 0.0));
            files.len() - 1
        });
        files[at].1 += weight(test);
    }
    // The longest first, each to the process with the least to do.
    files.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let mut loads = vec![0.0_f64; processes.max(1)];
    let mut process_of = HashMap::new();
    for (file, seconds) in files {
        let at = (0..loads.len()).min_by(|a, b| loads[*a].total_cmp(&loads[*b])).unwrap_or(0);
        loads[at] += seconds;
        process_of.insert(file, at);
    }
    let mut shares = vec![Vec::new(); loads.len()];
    for test in tests {
        shares[process_of[&test.file.as_ref()]].push(test.id.clone());
    }
    shares.retain(|share| !share.is_empty());
    shares
}

#[cfg(test)]
mod tests {
    use unflake_model::{Event, Isolation, Placement, Purpose, Session};

    use super::*;
    use crate::rerun::ladder::{Ladder, Rungs};
    use crate::simulation::listed;
    use crate::{NeverExcuse, Recordings, Technique};

    fn tests(ids: &[&str]) -> Vec<Test> {
        let test = |id: &&str| {
            let file = Some(id.split("::").next().unwrap().into());
            Test { id: TestId::new(*id), file, line: None, command: Vec::new() }
        };
        ids.iter().map(test).collect()
    }

    fn spread(ids: &[&str], processes: usize, seconds: &[(&str, f64)]) -> Vec<Vec<String>> {
        let seconds = seconds.iter().map(|(id, seconds)| (TestId::new(*id), *seconds)).collect();
        let shares = shares(&tests(ids).iter().collect::<Vec<_>>(), processes, &seconds);
        shares.into_iter().map(|share| share.iter().map(|id| id.as_str().to_owned()).collect()).collect()
    }

    #[test]
    fn one_file_runs_in_the_process_of_the_user() {
        let shares = |ids: &[&str]| {
            let mut first_pass = FirstPass { processes: 2, ..FirstPass::default() };
            first_pass.listed(&tests(ids).iter().collect::<Vec<_>>());
            first_pass.shares.len()
        };
        assert_eq!(shares(&["a::1", "a::2"]), 0);
        assert_eq!(shares(&["a::1", "b::1"]), 2);
    }

    #[test]
    fn files_stay_together_and_keep_the_order_of_the_suite() {
        let ids = ["a::1", "b::1", "c::1", "a::2", "b::2", "c::2", "c::3"];
        assert_eq!(spread(&ids, 2, &[]), [vec!["c::1", "c::2", "c::3"], vec!["a::1", "b::1", "a::2", "b::2"]]);
    }

    #[test]
    fn known_times_decide_and_new_tests_take_the_average() {
        let ids = ["a::1", "b::1", "c::1", "d::1"];
        let seconds = [("a::1", 9.0), ("b::1", 1.0), ("c::1", 2.0)];
        assert_eq!(spread(&ids, 2, &seconds), [vec!["a::1"], vec!["b::1", "c::1", "d::1"]]);
    }

    #[test]
    fn there_are_no_more_processes_than_files() {
        assert_eq!(spread(&["a::1", "a::2"], 4, &[]), [vec!["a::1", "a::2"]]);
        assert_eq!(spread(&[], 4, &[]), [] as [Vec<String>; 0]);
    }

    #[test]
    fn a_first_pass_in_several_processes_is_a_session_for_each() {
        let mut ladder = Ladder::new(Rungs::default(), NeverExcuse::default());
        ladder.observe(&Event::FirstPassSpread { processes: 2 }, Recordings::EMPTY);
        let mut event = listed(&["a::1", "b::1", "a::2"], false);
        if let Event::TestsListed { tests, .. } = &mut event {
            tests.iter_mut().for_each(|test| test.file = Some(test.id.as_str()[..1].into()));
        }
        ladder.observe(&event, Recordings::EMPTY);
        let sessions = ladder.next_sessions(Recordings::EMPTY);
        let what = |session: &Session| (session.tests.clone(), session.purpose, session.place, session.again);
        let fork = Placement::Fresh(Isolation::Fork);
        let expected = [
            (vec!["a::1".into(), "a::2".into()], Purpose::Suite, fork, 1),
            (vec!["b::1".into()], Purpose::Suite, fork, 1),
        ];
        assert_eq!(sessions.iter().map(what).collect::<Vec<_>>(), expected);
    }
}
