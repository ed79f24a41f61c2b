//! CPU load and delays.

use std::fmt;
use std::str::FromStr;

use unflake_model::{
    Amount, FactorDeclaration, FactorEffect, FactorPhrase, FactorPlan, FactorProbe, FactorScale, ProbeStep,
    ProbeVerdict, ScaleShape,
};

use super::judges::longer_by;
use super::{as_number, canonical, judged, number_in, parsed, whole_number};

pub(super) static LOAD: FactorDeclaration = FactorDeclaration {
    name: "load",
    title: "CPU load",
    plural: "loads",
    syntax: "number of busy processes: `2`",
    parse: |text| number_in(text, 1..=1024),
    scale: Some(FactorScale {
        number: as_number,
        with_number: whole_number,
        shape: ScaleShape::Amount { grows: |_| true, whole: true },
    }),
    phrase: FactorPhrase::When(|setting, threshold| {
        let or_more = if threshold { " or more" } else { "" };
        format!("with {setting}{or_more} busy processes at the same time")
    }),
    effect: FactorEffect::Process(|setting, setup| {
        setup.busy_processes = parsed(setting);
        Ok(())
    }),
    timing: true,
    exclusive: true,
    plan: |context| FactorPlan { settings: vec![(8 * context.cores).min(128).to_string()], missing: None },
    probes: &[FactorProbe {
        label: "",
        steps: |target| Ok(vec![ProbeStep::unset("busy"), ProbeStep::under("busy", (4 * target.cores).to_string())]),
        judge: |answers| {
            judged(answers, |texts| {
                let rounds = |text: &str| text.parse::<f64>().unwrap_or(0.0);
                let (without, with) = (rounds(texts[0]), rounds(texts[1]));
                ProbeVerdict::yes_if(with < without * 0.6, || {
                    format!("it gets as much done: {} rounds, and {} without load", texts[1], texts[0])
                })
            })
        },
    }],
    ..FactorDeclaration::EMPTY
};

/// Delays at sleeps, waits and locks.
#[derive(Clone, Copy)]
struct Delays {
    max: Amount,
    /// One in this many calls is delayed, at random.
    one_in: u32,
    seed: u64,
}

impl FromStr for Delays {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (text, seed) = text.split_once('@').unwrap_or((text, "0"));
        let (max, one_in) = text.split_once('/').unwrap_or((text, "10"));
        let one_in = one_in.parse().ok().filter(|one_in| *one_in > 0).ok_or(())?;
        Ok(Self { max: max.parse().map_err(drop)?, one_in, seed: seed.parse().map_err(drop)? })
    }
}

impl fmt::Display for Delays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}@{}", self.max, self.one_in, self.seed)
    }
}

pub(super) static DELAYS: FactorDeclaration = FactorDeclaration {
    name: "delays",
    title: "delays",
    plural: "delays",
    syntax: "`20ms` at most; `20ms/5@7`: 1 in 5 calls, seed 7",
    parse: canonical::<Delays>,
    scale: Some(FactorScale {
        number: |setting| setting.parse::<Delays>().ok().map(|delays| delays.max.seconds()),
        with_number: |setting, seconds| {
            let Delays { one_in, seed, .. } = parsed(setting);
            Some(format!("{}us/{one_in}@{seed}", (seconds * 1e6).round()))
        },
        shape: ScaleShape::Amount { grows: |_| true, whole: false },
    }),
    phrase: FactorPhrase::When(|setting, threshold| {
        let max = parsed::<Delays>(setting).max;
        match threshold {
            true => format!("when waits and locks are delayed by up to {} or more", rounded(max)),
            false => format!("when waits and locks are delayed by up to {max}"),
        }
    }),
    effect: FactorEffect::Process(|setting, setup| {
        let Delays { max, one_in, seed } = parsed(setting);
        setup.shim.push(format!("delays={},{one_in},{}", max.microseconds() * 1_000, seed as i64));
        Ok(())
    }),
    timing: true,
    plan: |_| ["100ms/2@1"].into(),
    probes: &[FactorProbe {
        label: "",
        steps: |_| Ok(vec![ProbeStep::unset("sleeps"), ProbeStep::under("sleeps", "50ms/1@1")]),
        judge: |answers| longer_by(answers, 150),
    }],
    ..FactorDeclaration::EMPTY
};

pub(super) fn rounded(time: Amount) -> String {
    match time.seconds() {
        seconds if seconds >= 1.0 => format!("{seconds:.1} s"),
        seconds => format!("{:.0} ms", seconds * 1000.0),
    }
}
