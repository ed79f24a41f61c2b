//! The last rung of the ladder: a failure that the change cannot have caused.
//!
//! Two things are needed: nothing that the failing test depends on has changed, and the test passed
//! at the base. A pass there after other tests counts only if those depend on nothing that changed
//! either, since they may have set up what it needs; or if the same tests with the same files make
//! it fail now. A pass at the base now, against failures here every time, refutes the disjointness:
//! then an unseen dependency exists.

use unflake_model::{
    Comparison, Dependencies, Detail, Finding, Granularity, Intersect, IntersectKind, Outcome, TestId, TouchedPath,
};

use crate::change_impact::intersect::{Overlap, intersect};
use crate::finding::finding;

/// Runs at the base, and if all of them pass, runs here afterwards.
pub(crate) const AT_BASE: u32 = 3;
pub(crate) const HERE: u32 = 2;

/// What is known of a failing test and a change.
#[derive(Default)]
pub(crate) struct ChangeSuspicion {
    /// Its dependencies when it failed in its own environment.
    pub(crate) alone: Option<Box<Dependencies>>,
    /// The session that repeated everything before it in the suite, with the dependencies of those
    /// tests.
    pub(crate) preceding: Option<Predecessors>,
    /// Outcomes at the base, and outcomes here after that.
    pub(crate) at_base: Vec<Outcome>,
    pub(crate) here: Vec<Outcome>,
    /// Outcome at the base now, after the tests after which it had passed there.
    pub(crate) after_others: Option<Outcome>,
    /// Why it could not run at the base.
    pub(crate) no_base: Option<String>,
}

/// The preceding tests, repeated.
#[derive(Default)]
pub(crate) struct Predecessors {
    pub(crate) dependencies: Vec<(TestId, Box<Dependencies>)>,
    pub(crate) complete: bool,
}

/// The next check.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum NextCheck {
    Nothing,
    /// Whether anything that ran before it in the suite is affected.
    Predecessors,
    Base,
    /// At the base, after the tests after which it had passed there.
    BaseAfterOthers,
    Here,
}

/// Whether tests run at the base.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AtBase {
    /// If a pass is known and nothing cheaper tells what it is worth.
    #[default]
    Needed,
    Always,
    Never,
}

impl ChangeSuspicion {
    fn overlap(&self, compared: &Comparison, granularity: Granularity) -> Option<Overlap> {
        Some(intersect(&compared.changes, self.alone.as_deref()?, granularity))
    }

    /// `ran_before`: the tests that had run in its process in the suite.
    pub(crate) fn next(
        &self,
        test: &TestId,
        ran_before: &[TestId],
        compared: &Comparison,
        granularity: Granularity,
        verify: AtBase,
    ) -> NextCheck {
        let Some(overlap) = self.overlap(compared, granularity) else { return NextCheck::Nothing };
        if !overlap.is_empty() {
            return NextCheck::Nothing;
        }
        match compared.passed.get(test) {
            Some(before) if before.is_empty() => return NextCheck::Nothing,
            Some(before) if before == ran_before && self.preceding.is_none() => return NextCheck::Predecessors,
            _ => {}
        }
        if self.preceding_are_unaffected(compared, granularity) || verify == AtBase::Never || self.no_base.is_some() {
            return NextCheck::Nothing;
        }
        if compared.passed.contains_key(test) && self.after_others.is_none() {
            return NextCheck::BaseAfterOthers;
        }
        if self.after_others.is_some_and(|outcome| outcome.is_failure()) || verify == AtBase::Needed {
            return NextCheck::Nothing;
        }
        match (self.at_base.is_empty(), self.here.is_empty()) {
            (true, _) => NextCheck::Base,
            (false, true) if self.at_base.iter().all(|outcome| outcome.is_pass()) => NextCheck::Here,
            _ => NextCheck::Nothing,
        }
    }

    fn preceding_are_unaffected(&self, compared: &Comparison, granularity: Granularity) -> bool {
        let is_unaffected = |on: &Dependencies| {
            // The tests before each of them are checked on their own.
            let on = Dependencies { after: 0, ..on.clone() };
            intersect(&compared.changes, &on, granularity).is_empty()
        };
        self.preceding.as_ref().is_some_and(|preceding| {
            preceding.complete && preceding.dependencies.iter().all(|(_, on)| is_unaffected(on))
        })
    }

    /// Whether the change cannot have caused it, by everything known.
    pub(crate) fn excuses(&self, test: &TestId, compared: &Comparison, granularity: Granularity) -> bool {
        if !self.overlap(compared, granularity).is_some_and(|overlap| overlap.is_empty()) {
            return false;
        }
        let kept = match compared.passed.get(test) {
            Some(before) if before.is_empty() => true,
            Some(_) => {
                let fails_there_now = self.after_others.is_some_and(|outcome| outcome.is_failure());
                fails_there_now || self.preceding_are_unaffected(compared, granularity)
            }
            None => false,
        };
        let (passed, _) = counts(&self.at_base);
        let varies = self.here.iter().any(|outcome| outcome.is_pass()) || (passed as usize) < self.at_base.len();
        kept && !self.contradicts() || passed > 0 && varies
    }

    /// Passed at the base and failed here, every time.
    fn contradicts(&self) -> bool {
        let (passed, failed) = counts(&self.at_base);
        let (passed_here, failed_here) = counts(&self.here);
        passed > 0 && failed == 0 && passed_here == 0 && failed_here > 0
    }

    pub(crate) fn finding(
        &self,
        test: &TestId,
        compared: &Result<Comparison, String>,
        granularity: Granularity,
    ) -> Option<Finding> {
        let alone = self.alone.as_deref()?;
        let mut detail = Intersect {
            kind: IntersectKind::Unknown,
            granularity,
            base: None,
            base_passed: None,
            considered: Vec::new(),
            touched: Vec::new(),
            files: alone.files() as u32,
            unknown: Vec::new(),
        };
        match compared {
            Err(why) => detail.unknown.push(why.clone()),
            Ok(compared) => {
                let overlap = intersect(&compared.changes, alone, granularity);
                let (passed, failed) = counts(&self.at_base);
                detail.base = Some(compared.changes.base.clone());
                detail.base_passed = match (passed, failed) {
                    (0, 0) => compared.passed.contains_key(test).then_some(true),
                    (passed, _) => Some(passed > 0),
                };
                detail.considered = compared.changes.files.iter().map(|change| change.path.clone()).collect();
                detail.touched = overlap.touched;
                detail.unknown = overlap.unknown;
                if self.contradicts() && detail.touched.is_empty() {
                    let (_, here) = counts(&self.here);
                    detail.unknown.push(format!(
                        "it passed {passed} of {passed} runs at the base and failed {here} of {here} runs here, so it depends on the \
                         change in a way that was not recorded"
                    ));
                }
                detail.kind = match (detail.touched.is_empty(), detail.unknown.is_empty()) {
                    (false, _) => IntersectKind::Affected,
                    (true, true) => IntersectKind::Unaffected,
                    (true, false) => IntersectKind::Unknown,
                };
            }
        }
        let sentence = self.sentence(&detail, test, compared);
        Some(finding(test, Detail::Intersect(detail), sentence, Vec::new()))
    }

    fn sentence(&self, detail: &Intersect, test: &TestId, compared: &Result<Comparison, String>) -> String {
        match detail.kind {
            IntersectKind::Affected => affected(&detail.touched),
            IntersectKind::Unknown => {
                let more = match detail.unknown.len() {
                    1 => String::new(),
                    all => format!(" (and {} more reasons)", all - 1),
                };
                format!("unknown whether your change caused it: {}{more}", detail.unknown[0])
            }
            IntersectKind::Unaffected => {
                let mut sentence = disjoint(detail);
                let (passed, failed) = counts(&self.at_base);
                sentence.push_str(&match (passed, failed) {
                    (0, 0) => match (compared.as_ref().is_ok_and(|one| one.passed.contains_key(test)), &self.no_base) {
                        (_, Some(why)) => format!("; it could not run at the base: {why}"),
                        (true, _) => match self.after_others {
                            Some(outcome) if outcome.is_failure() => {
                                "; with the files of the base it passed before and fails now".to_owned()
                            }
                            Some(_) => "; at the base it passes after the tests that ran before it".to_owned(),
                            None => "; it passed at the base".to_owned(),
                        },
                        (false, _) => "; not known to pass at the base (--verify-base runs it there)".to_owned(),
                    },
                    (0, failed) => format!("; it also fails at the base ({failed} of {failed} runs)"),
                    (passed, failed) => format!("; it passed {passed} of {} runs at the base", passed + failed),
                });
                sentence
            }
        }
    }

    /// The sentence of a verdict that rests on this.
    pub(crate) fn excuse(
        &self,
        test: &TestId,
        compared: &Result<Comparison, String>,
        granularity: Granularity,
    ) -> String {
        let Some(Finding { detail: Detail::Intersect(detail), .. }) = self.finding(test, compared, granularity) else {
            return String::new();
        };
        let base = detail.base.as_ref().map_or(String::new(), |base| {
            format!(" ({}, {})", base.revision.get(..10).unwrap_or(&base.revision), base.chosen.words())
        });
        let (passed, failed) = counts(&self.at_base);
        let there = match (passed, failed) {
            (0, 0) if self.after_others.is_some() => {
                "with the files of the base the test passed before and fails now".to_owned()
            }
            (0, 0) => "the test passed at the base".to_owned(),
            (passed, failed) => format!("the test passed {passed} of {} runs at the base", passed + failed),
        };
        format!("cannot come from your change: {}; {there}{base}", disjoint(&detail))
    }
}

fn disjoint(detail: &Intersect) -> String {
    match detail.files {
        1 => "it does not touch the one file that this test ran or read".to_owned(),
        files => format!("it touches none of the {files} files that this test ran or read"),
    }
}

fn affected(touched: &[TouchedPath]) -> String {
    let first = &touched[0];
    let mut sentence = format!("your change touches {}, which {}", first.path, first.how);
    if !first.functions.is_empty() {
        sentence.push_str(&format!(" ({})", first.functions.join(", ")));
    }
    if let Some(via) = &first.via {
        sentence.push_str(&format!(", first at {via}"));
    }
    match touched.len() - 1 {
        0 => {}
        1 => sentence.push_str(", and 1 more file"),
        more => sentence.push_str(&format!(", and {more} more files")),
    }
    sentence
}

/// Numbers of passes and failures.
fn counts(outcomes: &[Outcome]) -> (u32, u32) {
    let count = |wanted: fn(Outcome) -> bool| outcomes.iter().filter(|outcome| wanted(**outcome)).count() as u32;
    (count(Outcome::is_pass), count(Outcome::is_failure))
}

#[cfg(test)]
mod tests;
