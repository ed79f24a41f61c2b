//! Configurations of a measurement: named sets of circumstances, as in Table 4.2 of Gao's
//! dissertation, and what runs under each showed.

use serde::{Deserialize, Serialize};

use crate::{LayerMeasure, World};

/// A named set of circumstances.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunConfiguration {
    pub name: String,
    /// One for each run.
    pub runs: Vec<RunCircumstances>,
    /// Why it cannot be run here; then it has no runs.
    pub missing: Option<String>,
}

/// What is chosen for one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunCircumstances {
    /// None: nothing is chosen.
    pub world: Option<World>,
    /// Shuffles the tests. None: the runner's order.
    pub order: Option<u64>,
}

/// What a configuration showed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConfigurationMeasure {
    pub name: String,
    /// The options of `unflake under` that all its runs had.
    pub settings: Vec<String>,
    /// What its runs drew: names of options.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drawn: Vec<String>,
    pub runs: u32,
    pub layers: Vec<LayerMeasure>,
    /// Why it could not be run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

impl RunConfiguration {
    /// The options that all runs have, and the names of those that differ.
    pub fn settings(&self) -> (Vec<String>, Vec<String>) {
        let of_run = |run: &RunCircumstances| run.world.as_ref().map(World::options).unwrap_or_default();
        let Some((first, rest)) = self.runs.split_first() else { return Default::default() };
        let in_all = |option: &String| rest.iter().all(|run| of_run(run).contains(option));
        let (same, others): (Vec<String>, Vec<String>) = of_run(first).into_iter().partition(in_all);
        let name = |option: String| option.trim_start_matches("--").split('=').next().unwrap_or_default().to_owned();
        let mut drawn: Vec<String> = others.into_iter().map(name).collect();
        drawn.extend(self.runs.iter().any(|run| run.order.is_some()).then(|| "order".to_owned()));
        (same, drawn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_settings_and_drawn_ones_are_told_apart() {
        let run = |seed, order| RunCircumstances { world: Some(World { seed, ..World::default() }), order };
        let of = |runs: Vec<RunCircumstances>| RunConfiguration { runs, ..RunConfiguration::default() }.settings();
        assert_eq!(of(vec![run(Some(1), None), run(Some(1), None)]), (vec!["--seed=1".to_owned()], Vec::new()));
        let drawn = vec!["seed".to_owned(), "order".to_owned()];
        assert_eq!(of(vec![run(Some(1), Some(2)), run(Some(3), Some(4))]), (Vec::new(), drawn));
        assert_eq!(of(vec![RunCircumstances::default()]), (Vec::new(), Vec::new()));
        assert_eq!(of(Vec::new()), (Vec::new(), Vec::new()));
    }
}
