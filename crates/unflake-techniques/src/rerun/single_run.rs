//! One test, once, in an environment of its own: for whoever wants to see what it does.

use unflake_model::{Event, Finding, Isolation, Purpose, Session, SessionId, TestId};

use crate::Technique;

pub struct SingleRun {
    wanted: String,
    /// The tests that have that name, or where there is none that have it as a part of theirs.
    pub matching: Vec<TestId>,
    asked: bool,
}

impl SingleRun {
    pub fn new(wanted: &str) -> Self {
        Self { wanted: wanted.to_owned(), matching: Vec::new(), asked: false }
    }
}

impl Technique for SingleRun {
    fn hear(&mut self, event: &Event) {
        if let Event::TestsListed { tests, .. } = event {
            let ids = || tests.iter().map(|test| test.id.clone());
            let named: Vec<TestId> = ids().filter(|id| id.as_str() == self.wanted).collect();
            let part: Vec<TestId> = ids().filter(|id| id.as_str().contains(&self.wanted)).collect();
            self.matching = if named.is_empty() { part } else { named };
        }
    }

    fn ask(&mut self) -> Vec<Session> {
        let [test] = &self.matching[..] else { return Vec::new() };
        if std::mem::replace(&mut self.asked, true) {
            return Vec::new();
        }
        vec![Session::fresh(SessionId(1), Purpose::Look, Isolation::Fork, vec![test.clone()])]
    }

    fn findings(&self) -> Vec<Finding> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use unflake_model::Test;

    use super::*;

    fn asked(wanted: &str) -> (Vec<Session>, usize) {
        let mut once = SingleRun::new(wanted);
        let test = |id: &str| Test { id: id.into(), file: None, line: None, command: Vec::new() };
        let tests = vec![test("shop adds"), test("shop adds_twice"), test("shop pays")];
        once.hear(&Event::TestsListed { tests, deselected: 0, isolated: true });
        let sessions = once.ask();
        assert!(once.ask().is_empty());
        (sessions, once.matching.len())
    }

    #[test]
    fn a_whole_name_goes_before_a_part() {
        assert_eq!(asked("shop adds").0[0].tests, ["shop adds".into()]);
        assert_eq!(asked("pays").0[0].tests, ["shop pays".into()]);
    }

    #[test]
    fn what_is_not_clear_is_not_run() {
        assert_eq!((asked("adds").0.len(), asked("adds").1), (0, 2));
        assert_eq!((asked("x").0.len(), asked("x").1), (0, 0));
    }
}
