//! Factors as settings that an agent can set in a forked process.

use std::collections::BTreeMap;

use unflake_model::{Factor, FactorEffect, ProcessSetup};

const PREFIX: &str = "UNFLAKE_";
/// The setting that has the words of the preloaded shim. Agents follow some of them.
const UNDER: &str = "under";

/// The settings of an agent for these factors, by the names of their variables without the prefix.
/// Factors that cannot be set on this machine are left out.
pub fn fork_settings(factors: &[Factor]) -> BTreeMap<String, String> {
    let mut setup = ProcessSetup::default();
    for factor in factors.iter().filter(|factor| factor.kind().in_forks) {
        if let FactorEffect::Process(effect) = factor.kind().effect {
            let _ = effect(factor.setting(), &mut setup);
        }
    }
    let of_agent =
        |(name, value): (String, Option<String>)| Some((name.strip_prefix(PREFIX)?.to_ascii_lowercase(), value?));
    let mut settings: BTreeMap<String, String> = setup.variables.into_iter().filter_map(of_agent).collect();
    if !setup.shim.is_empty() {
        settings.insert(UNDER.to_owned(), setup.shim.join(";"));
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_gets_what_a_new_process_would_have_in_variables() {
        unflake_model::declare_factors(crate::factors());
        let factors: Vec<Factor> =
            ["schedule=7:20", "time-zone=Asia/Tokyo"].iter().map(|text| text.parse().unwrap()).collect();
        let expected = BTreeMap::from([("under".to_owned(), "schedule=7,20".to_owned())]);
        assert_eq!(fork_settings(&factors), expected);
    }
}
