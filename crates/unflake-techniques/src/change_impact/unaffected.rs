//! The last rung of the ladder: a failure that the change cannot have caused.
//!
//! Three things are needed: nothing that the failing test depends on has changed, the test passed at
//! the base, and now it fails there as it fails here, or its outcome varies. A pass at the base now,
//! against failures here every time, refutes the disjointness: then an unseen dependency exists. A
//! known pass after other tests is compared with a run after the same tests, since they may have set
//! up what it needs.

use std::collections::BTreeSet;

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
    /// Checks that were requested. Each is requested once, whatever comes of it.
    pub(crate) requested: BTreeSet<BaseCheck>,
    /// Outcomes at the base, and outcomes here after that.
    pub(crate) at_base: Vec<Outcome>,
    pub(crate) here: Vec<Outcome>,
    /// Outcome at the base now, after the tests after which it had passed there.
    pub(crate) after_others: Option<Outcome>,
    /// Why it could not run at the base.
    pub(crate) no_base: Option<String>,
}

/// A check that needs sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BaseCheck {
    /// At the base, alone.
    Alone,
    /// At the base, after the tests after which it had passed there.
    AfterOthers,
    /// Here once more: it passes at the base.
    Here,
}

impl BaseCheck {
    /// Number of checks, which is the number of rounds that a test can ask for.
    pub(crate) const ALL: u32 = 3;
}

/// Whether tests run at the base.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AtBase {
    /// If a pass there is known.
    #[default]
    Needed,
    Always,
    /// Then no failure is excused, because nothing shows that it does not pass there.
    Never,
}

impl ChangeSuspicion {
    fn overlap(&self, compared: &Comparison, granularity: Granularity) -> Option<Overlap> {
        Some(intersect(&compared.changes, self.alone.as_deref()?, granularity))
    }

    /// The next check that has not been requested, if it can lead to an excuse.
    pub(crate) fn next(
        &self,
        test: &TestId,
        compared: &Comparison,
        granularity: Granularity,
        verify: AtBase,
    ) -> Option<BaseCheck> {
        if !self.overlap(compared, granularity)?.is_empty() || self.no_base.is_some() {
            return None;
        }
        let known = compared.passed.get(test);
        let is_wanted = match verify {
            AtBase::Never => false,
            AtBase::Needed => known.is_some(),
            AtBase::Always => true,
        };
        let (passed, failed) = counts(&self.at_base);
        let next = match known {
            _ if !is_wanted => return None,
            _ if !self.requested.contains(&BaseCheck::Alone) => BaseCheck::Alone,
            _ if passed > 0 && failed == 0 => BaseCheck::Here,
            Some(before) if passed == 0 && failed > 0 && !before.is_empty() => BaseCheck::AfterOthers,
            _ => return None,
        };
        (!self.requested.contains(&next)).then_some(next)
    }

    /// Whether the change cannot have caused it, by everything known.
    pub(crate) fn excuses(&self, test: &TestId, compared: &Comparison, granularity: Granularity) -> bool {
        let is_disjoint = self.overlap(compared, granularity).is_some_and(|overlap| overlap.is_empty());
        let (passed, failed) = counts(&self.at_base);
        let varies = passed > 0 && (failed > 0 || self.here.iter().any(|outcome| outcome.is_pass()));
        is_disjoint && self.no_base.is_none() && (varies || self.fails_where_it_passed(compared.passed.get(test)))
    }

    /// Whether it fails now with the files with which it passed before, after the same tests.
    fn fails_where_it_passed(&self, known: Option<&Vec<TestId>>) -> bool {
        let (passed, failed) = counts(&self.at_base);
        let fails_alone = passed == 0 && failed > 0;
        match known {
            Some(before) if before.is_empty() => fails_alone,
            Some(_) => fails_alone && self.after_others.is_some_and(|outcome| outcome.is_failure()),
            None => false,
        }
    }

    /// Passed at the base and failed here, every time.
    fn contradicts(&self) -> bool {
        let (passed, failed) = counts(&self.at_base);
        let (passed_here, _) = counts(&self.here);
        passed > 0 && failed == 0 && passed_here == 0
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
                    (passed, _) => Some(passed > 0 || self.fails_where_it_passed(compared.passed.get(test))),
                };
                detail.considered = compared.changes.files.iter().map(|change| change.path.clone()).collect();
                detail.touched = overlap.touched;
                detail.unknown = overlap.unknown;
                if self.contradicts() && detail.touched.is_empty() {
                    detail.unknown.push(format!(
                        "it passed {passed} of {passed} runs at the base and fails here every time, so it depends on the change in \
                         a way that was not recorded"
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
                let known = compared.as_ref().is_ok_and(|one| one.passed.contains_key(test));
                let (passed, failed) = counts(&self.at_base);
                sentence.push_str(&match (passed, failed) {
                    _ if self.no_base.is_some() => {
                        format!("; it could not run at the base: {}", self.no_base.as_deref().unwrap_or_default())
                    }
                    (0, 0) if known => "; it passed at the base, which was not verified".to_owned(),
                    (0, 0) => "; not known to pass at the base (--verify-base runs it there)".to_owned(),
                    (0, failed) => match self.after_others {
                        Some(outcome) if outcome.is_pass() => {
                            "; at the base it passes after the tests that ran before it".to_owned()
                        }
                        _ if compared.as_ref().is_ok_and(|one| self.fails_where_it_passed(one.passed.get(test))) => {
                            "; with the files of the base it passed before and fails now".to_owned()
                        }
                        _ => format!("; it also fails at the base ({failed} of {failed} runs)"),
                    },
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
            (0, _) => "with the files of the base the test passed before and fails now".to_owned(),
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
