//! The schedule: threads and tasks are delayed at lines that a seed or a list chooses.

use std::fmt;
use std::str::FromStr;

use unflake_model::{FactorDeclaration, FactorEffect, FactorPhrase, FactorPlan};

use super::{canonical, parsed};

const MAX_RATE: u32 = 1_000_000;

/// A rate at which no program reaches a change point.
const NEVER: u32 = 1_000_000_000;
const OFF: &str = "off";

/// Where threads and tasks are delayed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Schedule {
    /// Nowhere, but lines are watched as they are with the others, which slows a test down, too.
    Off,
    /// One in `rate` executions of lines, at random. Without a rate the seed decides that, too.
    Seeded {
        seed: u64,
        rate: Option<u32>,
    },
    /// Threads are delayed also as long as there is one. Those that the main thread creates have the
    /// delays of this one of them, counted from 1. 0: each its own.
    FromStart {
        seed: u64,
        thread: u32,
    },
    At(Vec<ChangePoint>),
    /// A thread waits at a line until another one has passed a second line.
    Held {
        at: ChangePoint,
        after: ChangePoint,
    },
}

/// `FILE:LINE`, for every thread and time, or `FILE:LINE#TIME@THREAD=MILLISECONDS` with any of the three.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ChangePoint(String);

impl FromStr for ChangePoint {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (point, length) = text.rsplit_once('=').map_or((text, None), |(point, length)| (point, Some(length)));
        let (place, thread) = point.split_once('@').map_or((point, None), |(place, thread)| (place, Some(thread)));
        let (place, time) = place.split_once('#').map_or((place, None), |(place, time)| (place, Some(time)));
        let (file, line) = place.rsplit_once(':').ok_or(())?;
        let is_word = |text: &str| !text.is_empty() && !text.contains([',', ';', ' ']);
        let is_number = |text: &str| text.parse::<u32>().is_ok_and(|number| number.to_string() == text);
        let fits = is_word(file)
            && is_number(line)
            && [time, length].into_iter().flatten().all(is_number)
            && thread.is_none_or(|thread| is_word(thread) && !thread.contains('='));
        fits.then(|| Self(text.to_owned())).ok_or(())
    }
}

impl fmt::Display for ChangePoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Schedule {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text == OFF {
            return Ok(Self::Off);
        }
        if let Some((seed, thread)) = text.split_once('+').filter(|_| !text.contains(':')) {
            let (seed, thread) = (seed.parse().map_err(drop)?, thread.parse().map_err(drop)?);
            return if thread < MAX_RATE { Ok(Self::FromStart { seed, thread }) } else { Err(()) };
        }
        if text.starts_with(|letter: char| letter.is_ascii_digit())
            && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b':')
        {
            let (seed, rate) = text.split_once(':').map_or((text, None), |(seed, rate)| (seed, Some(rate)));
            let rate = rate.map(|rate| rate.parse().ok().filter(|rate| (1..=MAX_RATE).contains(rate)).ok_or(()));
            return Ok(Self::Seeded { seed: seed.parse().map_err(drop)?, rate: rate.transpose()? });
        }
        if let Some((at, after)) = text.split_once(" after ") {
            return Ok(Self::Held { at: at.parse()?, after: after.parse()? });
        }
        text.split(',').map(str::parse).collect::<Result<_, _>>().map(Self::At)
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str(OFF),
            Self::Seeded { seed, rate: None } => write!(f, "{seed}"),
            Self::Seeded { seed, rate: Some(rate) } => write!(f, "{seed}:{rate}"),
            Self::FromStart { seed, thread } => write!(f, "{seed}+{thread}"),
            Self::At(points) => f.write_str(&joined(points)),
            Self::Held { at, after } => write!(f, "{at} after {after}"),
        }
    }
}

fn joined(points: &[ChangePoint]) -> String {
    points.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

pub(super) static SCHEDULE: FactorDeclaration = FactorDeclaration {
    name: "schedule",
    title: "schedule",
    plural: "schedules",
    syntax: "a seed; `7:20`: 1 in 20 lines; `a.py:3` or `a.py:3 after a.py:8`; `off`",
    parse: canonical::<Schedule>,
    phrase: FactorPhrase::When(|setting, _| match parsed(setting) {
        Schedule::Off => "when lines are watched and nothing is delayed".to_owned(),
        Schedule::Seeded { .. } => format!("when threads and tasks are delayed by the schedule {setting}"),
        Schedule::FromStart { seed, .. } => format!("when threads are delayed from the start by the schedule {seed}"),
        Schedule::At(points) => format!("when threads and tasks are delayed at {}", joined(&points)),
        Schedule::Held { at, after } => format!("when {at} runs after {after}"),
    }),
    effect: FactorEffect::Process(|setting, setup| {
        // Agents read the same settings as the shim.
        setup.shim.push(match parsed(setting) {
            Schedule::Off => format!("schedule=0,{NEVER}"),
            Schedule::Seeded { seed, rate } => format!("schedule={seed},{}", rate.unwrap_or(0)),
            Schedule::FromStart { seed, thread } => format!("schedule={seed},0;from-start={thread}"),
            Schedule::At(points) => format!("delay-at={}", joined(&points)),
            Schedule::Held { at, after } => format!("hold={at} after {after}"),
        });
        setup.runtime_support = true;
        Ok(())
    }),
    timing: true,
    at_lines: true,
    in_forks: true,
    plan: |_| FactorPlan {
        settings: Vec::new(),
        missing: Some("each seed is one of very many orders; `unflake under --schedule SEED` tries one".to_owned()),
    },
    ..FactorDeclaration::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_a_seed_a_list_of_points_or_an_order() {
        let fixed = [
            "off",
            "7+0",
            "7+2",
            "7",
            "7:20",
            "a.py:3",
            "src/a.py:3#2@main",
            "src/a.rs:3#2@main.0=500",
            "a.py:3=20",
            "a.py:3@more-1,b.py:5#1",
            "a.py:3 after b.py:5#2",
        ];
        for text in fixed {
            assert_eq!(canonical::<Schedule>(text).as_deref(), Some(text));
        }
        assert_eq!("007:1".parse::<Schedule>().map(|schedule| schedule.to_string()), Ok("7:1".to_owned()));
        for text in [
            "",
            "7+",
            "+2",
            "7:",
            ":7",
            "7:0",
            "-1",
            "7:2:3",
            "a.py",
            "a.py:x",
            "a.py:3,",
            "a;b.py:3",
            "a.py:3 after ",
            "a.py:3#",
            "a.py:3=",
            "a.py:3=x",
            "a.py:3@a=b=4",
        ] {
            assert!(text.parse::<Schedule>().is_err(), "{text}");
        }
    }
}
