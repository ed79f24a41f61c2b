//! Finds a seed with which a flaky test fails every time, by running the command that is printed.
//!
//! What `unflake run` saw in its own processes says little about a plain command: addresses, for
//! example, follow from everything that a process did before. So the command itself is run: with
//! some seeds until it fails with one and passes with another, then again with the one that fails.

use std::path::{Path, PathBuf};
use std::time::Duration;

use unflake_model::{Finding, Reproduction, Shows, VerdictKind};
use unflake_report::quote;

use crate::interrupt::was_interrupted;
use crate::shell_command;

/// Seeds that are tried for a test, besides those with which it failed before.
const SEEDS: u64 = 4;
/// Further runs with a seed that fails.
const REPEATS: u32 = 2;
/// Commands that are run for all tests together. Tests without a known seed have half of them.
const COMMANDS: u32 = 24;
/// After a command that takes longer, no other is run.
const SLOW: Duration = Duration::from_secs(5);
/// The seeds of a world, by the option of one and how a sentence names it.
const PARTS: [(&str, &str); 3] =
    [("random-seed", "the random seed"), ("hash-seed", "the hash seed"), ("address-seed", "the address layout")];

pub(crate) struct SeedSearch {
    unflake: PathBuf,
    /// How many more commands may be run.
    left: u32,
}

/// A command fails with one seed, every time, and passes with another.
struct FailingSeed {
    fails: u64,
    passes: u64,
    /// The part of the world that decides, if one does so alone.
    decides: Option<&'static str>,
}

impl SeedSearch {
    /// None: this system cannot seed processes.
    pub(crate) fn new() -> Option<Self> {
        let unflake = std::env::current_exe().ok().filter(|_| unflake_worlds::can_seed())?;
        Some(Self { unflake, left: COMMANDS })
    }

    /// Gives the finding a command that fails every time, if a seed does that. `plain` runs the test
    /// alone.
    pub(crate) fn add_command(&mut self, finding: &mut Finding, plain: &str, here: &Path) {
        use VerdictKind::{FlakyBursty, FlakyIndependent, FlakySeedDependent};
        let kind = finding.verdict().map(|verdict| verdict.kind);
        let is_alone = finding.replays.iter().all(|replay| replay.at_once < 2);
        if !is_alone || !matches!(kind, Some(FlakyBursty | FlakyIndependent | FlakySeedDependent)) {
            return;
        }
        let known: Vec<u64> = finding.replays.iter().filter_map(|replay| replay.under.seed).collect();
        // Commands with seeds that are not checked are no help.
        finding.reproduce.truncate(finding.reproduce.len() - known.len());
        if known.is_empty() && self.left < COMMANDS / 2 {
            return;
        }
        let Some(found) = self.search(plain, known, here) else { return };
        let command = format!("unflake under --seed={} -- {plain}", found.fails);
        finding.reproduce = vec![Reproduction { command, shows: Shows::AlwaysFails }];
        finding.sentence.push_str(&format!("; fails with seed {}, passes with seed {}", found.fails, found.passes));
        if let Some(decides) = found.decides {
            finding.sentence.push_str(&format!(": {decides} decides"));
        }
    }

    fn search(&mut self, plain: &str, known: Vec<u64>, here: &Path) -> Option<FailingSeed> {
        let (mut fails, mut passes) = (None, None);
        let others = (1..=SEEDS).filter(|seed| !known.contains(seed)).collect::<Vec<_>>();
        for seed in known.iter().copied().chain(others) {
            match self.run(&format!("--seed={seed}"), plain, here)? {
                true => fails = fails.or(Some(seed)),
                false => passes = passes.or(Some(seed)),
            }
            if fails.is_some() && passes.is_some() {
                break;
            }
        }
        let (fails, passes) = (fails?, passes?);
        for _ in 0..REPEATS {
            if !self.run(&format!("--seed={fails}"), plain, here)? {
                return None;
            }
        }
        let decides = PARTS
            .iter()
            .find(|(option, _)| self.run(&format!("--seed={passes} --{option}={fails}"), plain, here) == Some(true));
        Some(FailingSeed { fails, passes, decides: decides.map(|(_, name)| *name) })
    }

    /// Whether the command fails in this world. None: it could not be run to its end.
    fn run(&mut self, options: &str, plain: &str, here: &Path) -> Option<bool> {
        if self.left == 0 || was_interrupted() {
            return None;
        }
        self.left -= 1;
        let unflake = quote(&self.unflake.to_string_lossy());
        let words = format!("exec {unflake} under --quiet {options} -- {plain}");
        let failed = shell_command::fails(&words, here, SLOW);
        if failed.is_none() {
            self.left = 0;
        }
        failed
    }
}
