//! Builds the timeline of each test from recorded executions: the input of the score.
//!
//! 1. A test that failed and passed in the same source (a report, or an unflake run) was flaky
//!    there, unless the run itself judged otherwise.
//! 2. So was one that failed, and passed with the same code in the same job of another run.
//! 3. A run may have several sources. A test that failed in one of them, such as one job, failed in
//!    the run.
//! 4. A failure of work in progress counts only if it is proven flaky.
//! 5. Runs in which most tests failed, where usually few do, are excluded: a machine or network was
//!    broken.
//! 6. A skipped test has not run.

use std::collections::{HashMap, HashSet};

use unflake_model::Outcome;

use crate::score::estimate::{Score, ScoredRun, score};

/// Minimum number of tests for a run to be excluded.
const FEWEST_TESTS: u32 = 10;

/// A report or an unflake run. Numbers are only identities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineSource {
    /// Sources of one run share its number. Runs are numbered from 0 in time order.
    pub run: u32,
    /// `None`: the code that ran is unknown.
    pub code: Option<u32>,
    pub job: u32,
    /// From an unfinished branch, or with uncommitted files.
    pub in_progress: bool,
}

/// Results of all tests, numbered from 0, in all runs.
#[derive(Default)]
pub struct Timeline {
    sources: Vec<TimelineSource>,
    /// Entries of each test: the source, and in the lowest bits whether it failed and whether it
    /// passed there, and whether the failure was found to be real.
    entries: Vec<Vec<u32>>,
    /// Seconds that each test spent failing or being rerun.
    lost: Vec<f32>,
}

const FAILED: u32 = 1;
const PASSED: u32 = 2;
const REAL: u32 = 4;
const BITS: u32 = 3;
const OUTCOME: u32 = FAILED | PASSED | REAL;

/// History and score of one test.
#[derive(Clone, Debug, PartialEq)]
pub struct TestStanding {
    pub test: usize,
    pub score: Score,
    /// Its runs, oldest first, with the result of each; without excluded runs. Empty for a test
    /// that never failed in them.
    pub strip: Vec<(u32, ScoredRun)>,
    pub seconds_lost: f32,
}

impl Timeline {
    /// Subsequent executions come from this source.
    pub fn begin(&mut self, source: TimelineSource) {
        self.sources.push(source);
    }

    pub fn add(&mut self, test: usize, again: bool, outcome: Outcome, seconds: f32) {
        let bit = match outcome {
            outcome if outcome.is_failure() => FAILED,
            outcome if outcome.is_pass() => PASSED,
            _ => return,
        };
        if test >= self.entries.len() {
            self.entries.resize_with(test + 1, Vec::new);
            self.lost.resize(test + 1, 0.0);
        }
        if bit == FAILED || again {
            self.lost[test] += seconds;
        }
        let source = (self.sources.len() as u32).saturating_sub(1) << BITS;
        match self.entries[test].last_mut() {
            Some(last) if *last & !OUTCOME == source => *last |= bit,
            _ => self.entries[test].push(source | bit),
        }
    }

    /// The verdict of the source on a test that failed there. It counts, not whether some attempt
    /// passed: a test that fails first and passes then in every process is broken.
    pub fn judge(&mut self, test: usize, verdict: ScoredRun) {
        let source = (self.sources.len() as u32).saturating_sub(1) << BITS;
        let last = self.entries.get_mut(test).and_then(|entries| entries.last_mut());
        if let Some(last) = last.filter(|last| **last & !OUTCOME == source) {
            *last = source
                | match verdict {
                    ScoredRun::Passed => PASSED,
                    ScoredRun::Flaked => FAILED | PASSED,
                    // A crash is real though it may pass when it runs again.
                    ScoredRun::Real if *last & PASSED == 0 => FAILED | REAL,
                    ScoredRun::Failed | ScoredRun::Real => FAILED,
                };
        }
    }

    /// Numbers of the runs that are excluded because most tests failed in them.
    pub fn excluded_runs(&self) -> HashSet<u32> {
        // Tests and failures per run.
        let mut runs = vec![(0_u32, 0_u32); self.runs()];
        for entry in self.entries.iter().flatten() {
            let run = &mut runs[self.run_of(*entry)];
            run.0 += 1;
            run.1 += u32::from(entry & FAILED != 0 && entry & PASSED == 0);
        }
        let seen = || runs.iter().filter(|(seen, _)| *seen > 0);
        let mut shares: Vec<f64> = seen().map(|(seen, failed)| f64::from(*failed) / f64::from(*seen)).collect();
        shares.sort_by(f64::total_cmp);
        let usual = shares.get(shares.len() / 2).copied().unwrap_or(0.0);
        let is_bad = |(seen, failed): &(u32, u32)| *seen >= FEWEST_TESTS && 2 * failed > *seen && usual < 0.25;
        (0..).zip(&runs).filter(|(_, counts)| is_bad(counts)).map(|(run, _)| run).collect()
    }

    /// Scores every test that was ever seen.
    pub fn standings(&self, excluded_runs: &HashSet<u32>) -> Vec<TestStanding> {
        let bad: Vec<bool> = (0..self.runs() as u32).map(|run| excluded_runs.contains(&run)).collect();
        let mut of_passes: HashMap<usize, Score> = HashMap::new();
        let mut standings = Vec::new();
        for (test, entries) in self.entries.iter().enumerate().filter(|(_, entries)| !entries.is_empty()) {
            let seconds_lost = self.lost[test];
            if entries.iter().all(|entry| entry & FAILED == 0 || bad[self.run_of(*entry)]) {
                let runs = self.runs_seen(entries, &bad);
                let score = *of_passes.entry(runs).or_insert_with(|| Score::of_passes(runs));
                standings.push(TestStanding { test, score, strip: Vec::new(), seconds_lost });
                continue;
            }
            let strip = self.strip(entries, excluded_runs);
            let seen: Vec<ScoredRun> = strip.iter().map(|(_, seen)| *seen).collect();
            standings.push(TestStanding { test, score: score(&seen), strip, seconds_lost });
        }
        standings
    }

    /// Number of runs.
    fn runs(&self) -> usize {
        self.sources.iter().map(|source| source.run as usize + 1).max().unwrap_or(0)
    }

    fn run_of(&self, entry: u32) -> usize {
        self.sources[(entry >> BITS) as usize].run as usize
    }

    /// Number of runs with this test. Entries of one run are mostly adjacent.
    fn runs_seen(&self, entries: &[u32], bad: &[bool]) -> usize {
        let mut last = None;
        let runs = entries.iter().map(|entry| self.run_of(*entry));
        runs.filter(|run| last.replace(*run) != Some(*run) && !bad[*run]).count()
    }

    fn strip(&self, entries: &[u32], excluded_runs: &HashSet<u32>) -> Vec<(u32, ScoredRun)> {
        let results: Vec<(TimelineSource, u32)> =
            entries.iter().map(|entry| (self.sources[(entry >> BITS) as usize], entry & OUTCOME)).collect();
        let passed_with: HashSet<(u32, u32)> = results
            .iter()
            .filter(|(_, bits)| bits & PASSED != 0)
            .filter_map(|(source, _)| Some((source.code?, source.job)))
            .collect();
        let mut runs: HashMap<u32, ScoredRun> = HashMap::new();
        for (source, bits) in &results {
            let proven = source.code.is_some_and(|code| passed_with.contains(&(code, source.job)));
            let seen = match *bits {
                PASSED => ScoredRun::Passed,
                bits if proven || bits & PASSED != 0 => ScoredRun::Flaked,
                _ if source.in_progress => continue,
                bits if bits & REAL != 0 => ScoredRun::Real,
                _ => ScoredRun::Failed,
            };
            let so_far = runs.entry(source.run).or_insert(seen);
            *so_far = worse(*so_far, seen);
        }
        let mut strip: Vec<(u32, ScoredRun)> =
            runs.into_iter().filter(|(run, _)| !excluded_runs.contains(run)).collect();
        strip.sort_unstable_by_key(|(run, _)| *run);
        strip
    }
}

fn worse(one: ScoredRun, other: ScoredRun) -> ScoredRun {
    match (one, other) {
        (ScoredRun::Real, _) | (_, ScoredRun::Real) => ScoredRun::Real,
        (ScoredRun::Failed, _) | (_, ScoredRun::Failed) => ScoredRun::Failed,
        (ScoredRun::Flaked, _) | (_, ScoredRun::Flaked) => ScoredRun::Flaked,
        _ => ScoredRun::Passed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(run: u32, code: u32, job: u32) -> TimelineSource {
        TimelineSource { run, code: Some(code), job, in_progress: false }
    }

    /// Results per run of the only test that failed.
    fn seen(build: impl FnOnce(&mut Timeline)) -> Vec<ScoredRun> {
        let mut timeline = Timeline::default();
        build(&mut timeline);
        let bad = timeline.excluded_runs();
        timeline.standings(&bad).remove(0).strip.into_iter().map(|(_, seen)| seen).collect()
    }

    #[test]
    fn a_pass_in_the_same_report_proves_flakiness() {
        let results = seen(|timeline| {
            timeline.begin(source(0, 0, 0));
            timeline.add(0, false, Outcome::Failed, 1.0);
            timeline.add(0, true, Outcome::Passed, 1.0);
            timeline.begin(source(1, 1, 0));
            timeline.add(0, false, Outcome::Failed, 1.0);
            timeline.add(0, true, Outcome::Failed, 1.0);
        });
        assert_eq!(results, [ScoredRun::Flaked, ScoredRun::Failed]);
    }

    #[test]
    fn the_verdict_of_a_run_counts() {
        let judged = |rerun: Outcome, verdict: ScoredRun| {
            seen(|timeline| {
                timeline.begin(source(0, 0, 0));
                timeline.add(0, false, Outcome::Failed, 0.0);
                timeline.add(0, true, rerun, 0.0);
                timeline.judge(0, verdict);
                timeline.judge(7, ScoredRun::Flaked);
            })
        };
        assert_eq!(judged(Outcome::Passed, ScoredRun::Flaked), [ScoredRun::Flaked]);
        assert_eq!(judged(Outcome::Passed, ScoredRun::Failed), [ScoredRun::Failed]);
        assert_eq!(judged(Outcome::Passed, ScoredRun::Real), [ScoredRun::Failed], "it crashed, and passed then");
        assert_eq!(judged(Outcome::Failed, ScoredRun::Real), [ScoredRun::Real]);
    }

    #[test]
    fn a_pass_with_the_same_code_and_job_proves_flakiness() {
        let runs = |same_job: u32, same_code: u32| {
            seen(|timeline| {
                timeline.begin(source(0, 7, 0));
                timeline.add(0, false, Outcome::Failed, 1.0);
                timeline.begin(source(1, same_code, same_job));
                timeline.add(0, false, Outcome::Passed, 1.0);
            })
        };
        assert_eq!(runs(0, 7), [ScoredRun::Flaked, ScoredRun::Passed]);
        assert_eq!(runs(1, 7), [ScoredRun::Failed, ScoredRun::Passed], "another system may well fail always");
        assert_eq!(runs(0, 8), [ScoredRun::Failed, ScoredRun::Passed]);
    }

    #[test]
    fn jobs_of_one_run_are_one_run() {
        let results = seen(|timeline| {
            for run in 0..3 {
                for job in 0..2 {
                    timeline.begin(source(run, run, job));
                    timeline.add(0, false, if job == 1 { Outcome::Failed } else { Outcome::Passed }, 1.0);
                }
            }
        });
        assert_eq!(results, [ScoredRun::Failed; 3]);
    }

    #[test]
    fn work_in_progress_may_fail() {
        let results = seen(|timeline| {
            timeline.begin(TimelineSource { in_progress: true, ..source(0, 0, 0) });
            timeline.add(0, false, Outcome::Failed, 1.0);
            timeline.begin(TimelineSource { in_progress: true, ..source(1, 1, 0) });
            timeline.add(0, false, Outcome::Failed, 1.0);
            timeline.begin(source(2, 1, 0));
            timeline.add(0, false, Outcome::Passed, 1.0);
        });
        assert_eq!(results, [ScoredRun::Flaked, ScoredRun::Passed]);
    }

    #[test]
    fn runs_in_which_most_tests_failed_are_excluded() {
        let mut timeline = Timeline::default();
        for run in 0..20 {
            timeline.begin(source(run, run, 0));
            for test in 0..20 {
                let fails = run == 7 && test < 15 || test == 0 && run % 5 == 0;
                timeline.add(test, false, if fails { Outcome::Error } else { Outcome::Passed }, 1.0);
            }
        }
        let bad = timeline.excluded_runs();
        assert_eq!(bad, HashSet::from([7]));
        let standings = timeline.standings(&bad);
        assert_eq!((standings[0].score.runs, standings[0].score.failures), (19, 4));
        assert_eq!(standings[1].score.failures, 0, "it failed on that day only");
        assert_eq!((standings[19].score.runs, standings[19].strip.len()), (19, 0));
    }

    #[test]
    fn a_skipped_test_has_not_run() {
        let mut timeline = Timeline::default();
        timeline.begin(source(0, 0, 0));
        timeline.add(3, false, Outcome::Skipped, 0.0);
        assert_eq!(timeline.standings(&HashSet::new()), []);
    }
}
