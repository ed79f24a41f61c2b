//! Files that outlive a process: does a failing test pass without what it left behind?
//!
//! A test that appends to a fixed file, or creates a fixed directory, fails in every process from its
//! second run on. Before such a failure is called real, the test runs where the files that it wrote
//! are missing: first all of them, then each alone.

use unflake_model::{FactorKind, LeftFile, Outcome, SessionId, World};

/// Rounds of trials that a test can ask for: all files, single ones, all again.
pub(crate) const HIDING_ROUNDS: u32 = 3;

/// With more files, which of them matters is not searched.
const MOST_SINGLE: usize = 4;

/// Files that a failing test wrote, and its outcomes without them.
#[derive(Default)]
pub(crate) struct LeftFiles {
    pub(crate) files: Vec<LeftFile>,
    trials: Vec<HidingTrial>,
    /// The factor that hides a file.
    hides: Option<FactorKind>,
}

struct HidingTrial {
    session: SessionId,
    files: Vec<LeftFile>,
    outcome: Option<Outcome>,
}

impl LeftFiles {
    /// The next sets of files to hide, each in a session of its own.
    pub(crate) fn next(&self) -> Vec<Vec<LeftFile>> {
        match self.trials.as_slice() {
            _ if self.files.is_empty() => Vec::new(),
            [] => vec![self.files.clone()],
            [all] if all.passed() => match self.files.len() {
                1 => vec![self.files.clone()],
                many if many > MOST_SINGLE => vec![self.files.clone()],
                _ => self.files.iter().map(|file| vec![file.clone()]).collect(),
            },
            // No single file decides: are all of them together still enough?
            [all, single @ ..] if all.passed() && self.files.len() > 1 && !single.iter().any(HidingTrial::passed) => {
                match single.last() {
                    Some(last) if last.files.len() > 1 => Vec::new(),
                    _ => vec![self.files.clone()],
                }
            }
            _ => Vec::new(),
        }
    }

    pub(crate) fn requested(&mut self, session: SessionId, files: Vec<LeftFile>, hides: FactorKind) -> World {
        self.hides = Some(hides);
        let world = self.world_without(&files);
        self.trials.push(HidingTrial { session, files, outcome: None });
        world
    }

    pub(crate) fn has_requested(&self, session: SessionId) -> bool {
        self.trials.iter().any(|trial| trial.session == session)
    }

    pub(crate) fn observe(&mut self, session: SessionId, outcome: Outcome) {
        if let Some(trial) = self.trials.iter_mut().find(|trial| trial.session == session) {
            trial.outcome = Some(outcome);
        }
    }

    /// The files without which it passes, twice. Empty: none are known.
    pub(crate) fn decisive(&self) -> Vec<LeftFile> {
        let [all, others @ ..] = self.trials.as_slice() else { return Vec::new() };
        let deciding = others.iter().find(|trial| trial.passed());
        deciding.filter(|_| all.passed()).map(|trial| trial.files.clone()).unwrap_or_default()
    }

    pub(crate) fn world_without(&self, files: &[LeftFile]) -> World {
        let Some(hides) = self.hides else { return World::default() };
        World::of(files.iter().filter_map(|file| hides.set(&file.path).ok()).collect())
    }
}

impl HidingTrial {
    fn passed(&self) -> bool {
        self.outcome.is_some_and(Outcome::is_pass)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unflake_model::{FactorDeclaration, declare_factors};

    static HIDES: FactorDeclaration = FactorDeclaration { name: "hides", ..FactorDeclaration::EMPTY };

    /// Runs trials until there are no more; `passes` says without which files the test passes.
    /// Returns the hidden files of each trial, and the decisive ones.
    fn run(files: &[&str], passes: impl Fn(&[&str]) -> bool) -> (Vec<String>, String) {
        declare_factors([&HIDES]);
        let hides = FactorKind::named("hides").unwrap();
        let file = |path: &&str| LeftFile { path: (*path).to_owned(), is_leftover: true };
        let mut hidden = LeftFiles { files: files.iter().map(file).collect(), ..LeftFiles::default() };
        let mut tried = Vec::new();
        loop {
            let next = hidden.next();
            if next.is_empty() {
                return (tried, names(&hidden.decisive()).join(" "));
            }
            for set in next {
                let session = SessionId(tried.len() as u32);
                let passed = passes(&names(&set));
                tried.push(names(&set).join(" "));
                hidden.requested(session, set, hides);
                hidden.observe(session, if passed { Outcome::Passed } else { Outcome::Failed });
            }
        }
    }

    fn names(files: &[LeftFile]) -> Vec<&str> {
        files.iter().map(|file| file.path.as_str()).collect()
    }

    #[track_caller]
    fn check(files: &[&str], passes: impl Fn(&[&str]) -> bool, tried: &[&str], decisive: &str) {
        assert_eq!(run(files, passes), (tried.iter().map(|one| (*one).to_owned()).collect(), decisive.to_owned()));
    }

    #[test]
    fn one_file_decides_if_the_test_passes_twice_without_it() {
        check(&["a"], |_| true, &["a", "a"], "a");
        check(&["a"], |_| false, &["a"], "");
        check(&[], |_| true, &[], "");
    }

    #[test]
    fn of_several_files_the_one_that_matters_is_named() {
        check(&["a", "b", "c"], |hidden| hidden.contains(&"b"), &["a b c", "a", "b", "c"], "b");
        check(&["a", "b"], |hidden| hidden.len() == 2, &["a b", "a", "b", "a b"], "a b");
    }

    #[test]
    fn of_many_files_none_is_singled_out() {
        check(&["a", "b", "c", "d", "e"], |_| true, &["a b c d e", "a b c d e"], "a b c d e");
    }

    #[test]
    fn a_pass_that_does_not_repeat_decides_nothing() {
        let passes = std::cell::Cell::new(true);
        check(&["a"], |_| passes.replace(false), &["a", "a"], "");
    }
}
