//! The configurations of Table 4.2 of Gao's dissertation as worlds, one for each run.
//!
//! `best` controls everything. `uncontrolled` controls nothing: each run is a process of its own with
//! a random date, random seeds and a random order of tests. `no-init` leaves the date and the state of
//! the home directory as they are. The others are `best` with one change: delays, or another runtime.

use unflake_model::{ClockSetting, Factor, FactorKind, Moment, RunCircumstances, RunConfiguration, World};

use crate::search::rng::SeededRng;

/// Names of all configurations, in the order of the table.
pub const CONFIGURATIONS: [&str; 9] = [
    "best",
    "uncontrolled",
    "no-init",
    "delay-0ms",
    "delay-50ms",
    "delay-100ms",
    "delay-200ms",
    "other-vendor",
    "other-version",
];

/// What configurations are made of.
#[derive(Clone, Debug)]
pub struct ConfigurationParts {
    /// Settings that control everything that can be controlled here.
    pub baseline: Vec<Factor>,
    /// Dates are drawn around its beginning, so that the seed draws the same ones on other days.
    pub year: i16,
    /// A setting for another runtime of the same version and one for another version, or why there is
    /// none.
    pub other_vendor: Result<Factor, String>,
    pub other_version: Result<Factor, String>,
    /// What all random choices follow from.
    pub seed: u64,
}

/// Dates are drawn from so many seconds before and after.
const SECONDS_AROUND: i64 = 2 * 366 * 24 * 3600;

impl ConfigurationParts {
    /// The configuration of this name for so many runs. None: there is none.
    pub fn configuration(&self, name: &str, runs: u32) -> Option<RunConfiguration> {
        let fixed = |factors: Result<Vec<Factor>, String>| -> (Vec<RunCircumstances>, Option<String>) {
            match factors {
                Ok(factors) => {
                    let run = RunCircumstances { world: Some(World::of(factors)), order: None };
                    (vec![run; runs as usize], None)
                }
                Err(why) => (Vec::new(), Some(why)),
            }
        };
        let delay = |setting: &str| fixed(named("delays", setting).map(|delay| self.best_with(delay)));
        let runtime = |factor: &Result<Factor, String>| fixed(factor.clone().map(|factor| self.best_with(factor)));
        let (runs, missing) = match name {
            "best" | "delay-0ms" => fixed(Ok(self.best())),
            "uncontrolled" => ((0..runs).map(|run| self.uncontrolled(run)).collect(), None),
            "no-init" => fixed(Ok(self.without_initial_state())),
            // Where every wait is delayed, some runtimes take minutes to start.
            "delay-50ms" => delay("50ms/100@0"),
            "delay-100ms" => delay("100ms/100@0"),
            "delay-200ms" => delay("200ms/100@0"),
            "other-vendor" => runtime(&self.other_vendor),
            "other-version" => runtime(&self.other_version),
            _ => return None,
        };
        Some(RunConfiguration { name: name.to_owned(), runs, missing })
    }

    fn best(&self) -> Vec<Factor> {
        let fresh = named("state", "fresh").ok();
        self.baseline.iter().cloned().chain(fresh).collect()
    }

    fn best_with(&self, factor: Factor) -> Vec<Factor> {
        let mut factors = self.best();
        factors.retain(|known| known.kind() != factor.kind());
        factors.push(factor);
        factors
    }

    fn without_initial_state(&self) -> Vec<Factor> {
        self.baseline.iter().filter(|factor| factor.kind().name != "date").cloned().collect()
    }

    fn uncontrolled(&self, run: u32) -> RunCircumstances {
        let mut rng = SeededRng(self.seed.wrapping_add(u64::from(run) << 32));
        rng.next();
        let around = rng.below(2 * SECONDS_AROUND as usize) as i64 - SECONDS_AROUND;
        let noon = Moment { year: self.year, month: 1, day: 1, hour: 12, minute: 0, second: 0, offset: None };
        let moment = Moment::at(ClockSetting::At(noon).number() as i64 + around);
        let date = moment.and_then(|moment| named("date", &moment.to_string()).ok());
        // Small enough to be typed.
        let (seed, order) = (rng.next() >> 40, rng.next() >> 40);
        let world = World { seed: Some(seed), ..World::of(date.into_iter().collect()) };
        RunCircumstances { world: Some(world), order: Some(order) }
    }
}

fn named(name: &str, setting: &str) -> Result<Factor, String> {
    let kind = FactorKind::named(name).ok_or_else(|| format!("there is no factor {name}"))?;
    kind.set(setting).map_err(|_| format!("{name} cannot be {setting}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(seed: u64) -> ConfigurationParts {
        let none = || Err("no other runtime".to_owned());
        ConfigurationParts { baseline: Vec::new(), year: 2026, other_vendor: none(), other_version: none(), seed }
    }

    #[test]
    fn every_name_is_a_configuration() {
        // Delays are declared by another crate.
        for name in CONFIGURATIONS.into_iter().filter(|name| !name.starts_with("delay-") || *name == "delay-0ms") {
            let found = parts(1).configuration(name, 3).unwrap();
            let is_other = name.starts_with("other");
            assert_eq!((found.runs.len(), found.missing.is_some()), (if is_other { 0 } else { 3 }, is_other));
        }
        assert_eq!(parts(1).configuration("worst", 3), None);
    }

    #[test]
    fn uncontrolled_runs_differ_and_follow_from_the_seed() {
        let runs = |seed| parts(seed).configuration("uncontrolled", 20).unwrap().runs;
        let (one, again, other) = (runs(7), runs(7), runs(8));
        assert_eq!(one, again);
        for (at, run) in one.iter().enumerate() {
            assert!(!one[..at].contains(run) && !other.contains(run), "{run:?}");
            assert!(run.order.is_some() && run.world.as_ref().is_some_and(|world| world.seed.is_some()));
        }
    }
}
