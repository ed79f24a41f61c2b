//! The flags of a GoogleTest program, from its command line, its flag files and its environment.
//!
//! A flag that changes which tests run or in which order is honored or refused, never dropped.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::driver::suite::ListError;

/// Flags that the driver sets itself, or that only concern output.
const OURS: [&str; 12] = [
    "filter",
    "repeat",
    "recreate_environments_when_repeating",
    "shuffle",
    "output",
    "color",
    "brief",
    "print_time",
    "break_on_failure",
    "fail_fast",
    "stream_result_to",
    "list_tests",
];
/// Variables that split the tests of a program among several machines.
pub(super) const SHARDS: [&str; 2] = ["GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX"];
/// GoogleTest takes seeds below this.
const SEEDS: u32 = 100_000;

/// What the user's flags ask for.
#[derive(Debug, Default, PartialEq)]
pub(super) struct GtestFlags {
    /// The arguments without the flags that the driver sets.
    pub(super) arguments: Vec<String>,
    /// The filter as it was given on the command line.
    pub(super) filter: Option<String>,
    /// The seed of a shuffled order.
    pub(super) shuffle: Option<u32>,
    pub(super) runs_disabled: bool,
    pub(super) shard: Option<Shard>,
    /// Messages for the user.
    pub(super) notes: Vec<String>,
}

/// The part of a program's tests that this machine runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shard {
    index: usize,
    of: usize,
}

impl Shard {
    /// GoogleTest accepts no wrong variables either.
    fn read(variable: &impl Fn(&str) -> Option<String>) -> Result<Option<Self>, ListError> {
        let [of, index] = SHARDS.map(|name| variable(name).filter(|text| !text.is_empty()));
        let (of, index) = match (of, index) {
            (None, None) => return Ok(None),
            (Some(of), Some(index)) => (of, index),
            _ => {
                let why = format!("{} and {} are only valid together", SHARDS[0], SHARDS[1]);
                return Err(ListError::refused(why, "set both, or none"));
            }
        };
        match (index.parse(), of.parse()) {
            (Ok(index), Ok(of)) if index < of => Ok(Some(Self { index, of }).filter(|shard| shard.of > 1)),
            _ => {
                let why = format!("{}={of} and {}={index} are not valid", SHARDS[0], SHARDS[1]);
                Err(ListError::refused(why, "the index is below the total, and starts at 0"))
            }
        }
    }

    /// Whether it has the test of this number. Disabled tests are not counted.
    pub(super) fn has(self, number: usize) -> bool {
        number % self.of == self.index
    }
}

impl GtestFlags {
    pub(super) fn read(
        words: &[String],
        here: &Path,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ListError> {
        let words = with_flag_files(words, here);
        // A flag on the command line replaces a variable; the last one counts.
        let value = |flag: &str| {
            let given = words.iter().rev().find(|word| flag_of(word) == Some(flag));
            let text = |word: &String| word.split_once('=').map_or("", |(_, value)| value).to_owned();
            given.map(text).or_else(|| variable(&format!("GTEST_{}", flag.to_uppercase())))
        };
        let is_set = |flag: &str| value(flag).is_some_and(|text| !text.starts_with(['0', 'f', 'F']));
        if let Some(times) = value("repeat").filter(|times| times != "1") {
            let why = format!("--gtest_repeat={times} is not supported: unflake decides how often a test runs");
            return Err(ListError::refused(why, "leave it out, or use `unflake stress`"));
        }
        if is_set("fail_fast") {
            return Err(ListError::refused(
                "--gtest_fail_fast is not supported: unflake runs all tests",
                "leave it out",
            ));
        }
        let mut notes = Vec::new();
        if is_set("break_on_failure") {
            notes.push("--gtest_break_on_failure is not used: there is no debugger".to_owned());
        }
        let seed = value("random_seed").and_then(|seed| seed.parse().ok()).filter(|seed| *seed != 0);
        let shuffle = is_set("shuffle").then(|| seed.unwrap_or_else(new_seed));
        if let Some(seed) = shuffle {
            notes.push(format!("the first pass runs in a shuffled order: --gtest_shuffle --gtest_random_seed={seed}"));
        }
        let runs_disabled = is_set("also_run_disabled_tests");
        let shard = Shard::read(&variable)?;
        let (ours, arguments): (Vec<String>, Vec<String>) =
            words.into_iter().partition(|word| flag_of(word).is_some_and(|flag| OURS.contains(&flag)));
        let filter = ours.into_iter().rfind(|word| flag_of(word) == Some("filter"));
        Ok(Self { arguments, filter, shuffle, runs_disabled, shard, notes })
    }
}

/// The variables that would set what the driver sets. The filter of the user stays.
pub(super) fn our_variables() -> impl Iterator<Item = String> {
    let but_the_filter = OURS.iter().filter(|flag| **flag != "filter");
    but_the_filter.map(|flag| format!("GTEST_{}", flag.to_uppercase())).chain(SHARDS.map(str::to_owned))
}

/// The name of a GoogleTest flag, without prefix and value.
fn flag_of(word: &str) -> Option<&str> {
    let rest = word.strip_prefix("--gtest_").or_else(|| word.strip_prefix("-gtest_"))?;
    rest.split('=').next()
}

/// The arguments with the flags of flag files in their place.
fn with_flag_files(words: &[String], here: &Path) -> Vec<String> {
    let content = |word: &String| {
        let path = word.split_once('=').filter(|_| flag_of(word) == Some("flagfile"))?.1;
        fs::read_to_string(here.join(path)).ok()
    };
    let expand = |word: &String| match content(word) {
        Some(text) => text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect(),
        None => vec![word.clone()],
    };
    words.iter().flat_map(expand).collect()
}

fn new_seed() -> u32 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.subsec_nanos() % (SEEDS - 1) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str, variables: &[(&str, &str)]) -> Result<GtestFlags, ListError> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let variable = |name: &str| {
            let found = variables.iter().find(|(one, _)| *one == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        GtestFlags::read(&words, Path::new("/nowhere"), variable)
    }

    #[test]
    fn an_order_is_honored_from_flags_and_variables() {
        let seed = |words: &str, variables: &[(&str, &str)]| read(words, variables).unwrap().shuffle;
        assert_eq!(seed("--gtest_shuffle --gtest_random_seed=7", &[]), Some(7));
        assert_eq!(seed("--gtest_shuffle=0", &[("GTEST_SHUFFLE", "1")]), None);
        assert_eq!(seed("", &[("GTEST_SHUFFLE", "1"), ("GTEST_RANDOM_SEED", "9")]), Some(9));
        assert!(seed("-gtest_shuffle", &[]).is_some_and(|seed| (1..SEEDS).contains(&seed)));
        assert_eq!(seed("--gtest_random_seed=7", &[]), None);
    }

    #[test]
    fn flags_that_change_what_runs_are_not_dropped() {
        for refused in ["--gtest_repeat=3", "--gtest_repeat=-1", "--gtest_fail_fast"] {
            assert!(read(refused, &[]).is_err(), "{refused}");
        }
        for refused in [("GTEST_REPEAT", "2"), ("GTEST_FAIL_FAST", "1"), ("GTEST_TOTAL_SHARDS", "2")] {
            assert!(read("", &[refused]).is_err(), "{refused:?}");
        }
        let flags = read("--gtest_repeat=1 --gtest_fail_fast=0 --gtest_random_seed=3 --own", &[]).unwrap();
        assert_eq!(flags.arguments, ["--gtest_random_seed=3", "--own"]);
        assert!(read("", &[("GTEST_ALSO_RUN_DISABLED_TESTS", "1")]).unwrap().runs_disabled);
        assert!(!read("--gtest_also_run_disabled_tests=false", &[]).unwrap().runs_disabled);
        assert_eq!(read("--gtest_filter=A --gtest_filter=B", &[]).unwrap().filter.as_deref(), Some("--gtest_filter=B"));
    }

    #[test]
    fn shards_count_what_would_run() {
        let shard = |of: &str, index: &str| read("", &[(SHARDS[0], of), (SHARDS[1], index)]).map(|flags| flags.shard);
        let second = shard("3", "1").unwrap().unwrap();
        assert_eq!((0..6).filter(|number| second.has(*number)).collect::<Vec<_>>(), [1, 4]);
        assert_eq!(shard("1", "0").unwrap(), None);
        assert!(shard("0", "0").is_err() && shard("2", "2").is_err());
    }

    #[test]
    fn flag_files_are_read() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("flags"), "--gtest_shuffle\n\n--gtest_random_seed=5\n").unwrap();
        let words = ["--gtest_flagfile=flags".to_owned()];
        let flags = GtestFlags::read(&words, place.path(), |_| None).unwrap();
        assert_eq!((flags.shuffle, flags.arguments), (Some(5), vec!["--gtest_random_seed=5".to_owned()]));
    }
}
