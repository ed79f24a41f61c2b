//! Test groups of nextest: how many tests of a group may run at once, from `.config/nextest.toml`.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Value;

/// Tests that match the filter are in the group.
#[derive(Debug, PartialEq)]
pub(super) struct GroupRule {
    pub(super) filter: String,
    pub(super) group: String,
    /// None: the group that limits nothing.
    pub(super) max_threads: Option<u32>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct NextestConfig {
    test_groups: BTreeMap<String, TestGroup>,
    profile: BTreeMap<String, NextestProfile>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct TestGroup {
    max_threads: Value,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NextestProfile {
    overrides: Vec<NextestOverride>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct NextestOverride {
    filter: Option<String>,
    test_group: Option<String>,
}

/// The rules that apply in a profile, the strongest first. Those of the default profile follow.
pub(super) fn rules(config: &str, profile: &str, cores: u32) -> Vec<GroupRule> {
    let Ok(config) = toml::from_str::<NextestConfig>(config) else { return Vec::new() };
    let threads = |group: &str| match &config.test_groups.get(group)?.max_threads {
        Value::Integer(number) => u32::try_from(*number).ok(),
        // `num-cpus`
        _ => Some(cores),
    };
    let names = if profile == "default" { vec!["default"] } else { vec![profile, "default"] };
    let overrides = names.into_iter().filter_map(|name| config.profile.get(name)).flat_map(|one| &one.overrides);
    let rule = |one: &NextestOverride| {
        let (filter, group) = (one.filter.clone()?, one.test_group.clone()?);
        Some(GroupRule { filter, max_threads: threads(&group), group })
    };
    overrides.filter_map(rule).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_of_a_profile_come_before_those_of_the_default_profile() {
        let config = "
            [test-groups]
            files = { max-threads = 1 }
            many = { max-threads = 'num-cpus' }
            [[profile.default.overrides]]
            filter = 'test(file)'
            test-group = 'files'
            [[profile.default.overrides]]
            filter = 'test(slow)'
            retries = 2
            [[profile.ci.overrides]]
            filter = 'test(file_a)'
            test-group = 'many'
            [[profile.ci.overrides]]
            filter = 'test(file_b)'
            test-group = '@global'";
        let rule = |filter: &str, group: &str, max_threads| GroupRule {
            filter: filter.to_owned(),
            group: group.to_owned(),
            max_threads,
        };
        let default = rule("test(file)", "files", Some(1));
        assert_eq!(rules(config, "default", 8), [default]);
        let ci = [
            rule("test(file_a)", "many", Some(8)),
            rule("test(file_b)", "@global", None),
            rule("test(file)", "files", Some(1)),
        ];
        assert_eq!(rules(config, "ci", 8), ci);
        assert_eq!(rules("not toml [", "default", 8), []);
    }
}
