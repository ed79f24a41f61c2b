//! Which shard of a suite this run is, from the command line and the CI.

use std::env;
use std::str::FromStr;

use crate::args::options::groups::ShardArgs;
use crate::config::settings::Settings;
use crate::error::CommandError;
use crate::project::ci;

/// `2/8`: the second of eight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShardNumber {
    /// From 1.
    pub(crate) number: u32,
    pub(crate) count: u32,
}

/// More than there are machines, and few enough for a split of them to be small.
const MOST_SHARDS: u32 = 10_000;

impl FromStr for ShardNumber {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text
            .split_once('/')
            .and_then(|(number, count)| Some(Self { number: number.parse().ok()?, count: count.parse().ok()? }));
        numbers
            .filter(|shard| (1..=shard.count).contains(&shard.number) && shard.count <= MOST_SHARDS)
            .ok_or_else(|| "give one such as 2/8, the second of eight shards".to_owned())
    }
}

/// The shard that this run is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShardSpec {
    pub(crate) shard: ShardNumber,
    /// What the shards of one suite have in common, if anything says so.
    pub(crate) group: Option<String>,
}

impl ShardSpec {
    /// None where the whole suite runs. `is_selection`: the user named the tests to run.
    pub(crate) fn new(args: &ShardArgs, is_selection: bool, settings: &Settings) -> Result<Option<Self>, CommandError> {
        let Some(shard) = args.shard else { return Ok(None) };
        if is_selection {
            return Err(CommandError::usage("--shard splits the whole suite, and you chose tests")
                .hint("select tests in your test command instead, which all shards share"));
        }
        if !settings.runner().can(|runner| !runner.lists_by_running) {
            return Err(CommandError::usage("--shard: your command lists its tests only by running all of them")
                .hint("split the tests in your command, and give all parts one history"));
        }
        let of_ci = || ci::detect(&|name| env::var(name).ok()).run.map(|run| format!("ci {run}"));
        Ok(Some(Self { shard, group: args.shard_group.clone().or_else(of_ci) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_numbered_from_1() {
        let parsed = |text: &str| text.parse::<ShardNumber>().ok().map(|shard| (shard.number, shard.count));
        assert_eq!(parsed("2/8"), Some((2, 8)));
        assert_eq!(parsed("1/1"), Some((1, 1)));
        for text in ["0/8", "9/8", "8", "a/b", "1/0", "-1/2", "1/2/3", "1/99999"] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }
}
