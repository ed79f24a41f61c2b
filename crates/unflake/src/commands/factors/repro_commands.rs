//! Commands that reproduce what an experiment found.

use unflake_model::{Factor, FactorEffect, Finding, Influence, Rate, Reproduction, Shows};
use unflake_report::quote;

use crate::commands::factors::command::influence;

/// Commands with which it fails most and least often.
pub(crate) type ExtremeCommands = (Option<String>, Option<String>);

/// Gives each finding the commands that reproduce it. The commands of the extremes are returned.
pub(crate) fn add_commands(findings: &mut [Finding], baseline: &[Factor]) -> ExtremeCommands {
    let mut extremes = (None, None);
    for finding in findings {
        let Some(plain) = finding.command().map(str::to_owned) else { continue };
        let Some(influence) = influence(finding) else { continue };
        if !influence.plan.is_empty() {
            extremes = (Some(under(&influence.worst, &plain)), Some(under(&influence.best, &plain)));
        }
        finding.reproduce = reproductions(influence, &plain, baseline);
    }
    extremes
}

/// The world in which it fails; where the setting makes it pass, that one too.
fn reproductions(influence: &Influence, plain: &str, baseline: &[Factor]) -> Vec<Reproduction> {
    let command = |factors: &[Factor], rate: Rate| {
        let shows = match rate.seen {
            0 => Shows::Passes,
            failed if failed == rate.of && !influence.setting.iter().any(|one| one.kind().timing) => Shows::Fails,
            _ => Shows::SometimesFails,
        };
        Reproduction { command: under(&with_families(factors, baseline), plain), shows }
    };
    let setting = command(&influence.setting, influence.rate);
    if influence.fails {
        return vec![setting];
    }
    let replaced: Vec<Factor> = baseline.iter().filter(|factor| is_set(&influence.setting, factor)).cloned().collect();
    vec![command(&replaced, influence.baseline), setting]
}

fn is_set(factors: &[Factor], wanted: &Factor) -> bool {
    factors.iter().any(|factor| factor.kind() == wanted.kind())
}

/// With the settings of the baseline for other factors of the same families.
fn with_families(factors: &[Factor], baseline: &[Factor]) -> Vec<Factor> {
    let is_related = |other: &&Factor| {
        let family = other.kind().family;
        !family.is_empty() && factors.iter().any(|factor| factor.kind().family == family)
    };
    let added = baseline.iter().filter(is_related).filter(|other| !is_set(factors, other));
    added.chain(factors).cloned().collect()
}

/// The command in that world. Other tests of an order are in the command itself.
fn under(factors: &[Factor], plain: &str) -> String {
    let (mut flags, mut copies) = (String::new(), None);
    for factor in factors {
        match factor.kind().effect {
            FactorEffect::Process(_) => flags += &format!(" {}", quote(&factor.flag())),
            FactorEffect::Copies => copies = Some(factor.setting()),
            FactorEffect::TestOrder | FactorEffect::None => {}
        }
    }
    let command = if flags.is_empty() { plain.to_owned() } else { format!("unflake under{flags} -- {plain}") };
    match copies {
        // Fails where one of the copies does.
        Some(copies) => format!("seq {copies} | xargs -P {copies} -I {{copy}} {command}"),
        None => command,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::under::declare_all;

    fn set(words: &[&str]) -> Vec<Factor> {
        declare_all();
        words.iter().map(|word| word.parse().unwrap()).collect()
    }

    #[test]
    fn factors_of_one_family_are_set_together() {
        let baseline = set(&["date=2026-11-16", "time-zone=UTC", "locale=C.UTF-8", "random-seed=0", "hash-seed=0"]);
        let command = |setting: &[&str]| under(&with_families(&set(setting), &baseline), "pytest");
        assert_eq!(
            command(&["time-zone=Pacific/Kiritimati"]),
            "unflake under --date=2026-11-16 --time-zone=Pacific/Kiritimati -- pytest"
        );
        assert_eq!(command(&["random-seed=3"]), "unflake under --hash-seed=0 --random-seed=3 -- pytest");
        assert_eq!(command(&["locale=C"]), "unflake under --locale=C -- pytest");
    }

    #[test]
    fn copies_run_at_the_same_time() {
        let command = |setting: &[&str]| under(&set(setting), "pytest a.py");
        assert_eq!(command(&["beside=4"]), "seq 4 | xargs -P 4 -I {copy} pytest a.py");
        assert_eq!(
            command(&["beside=4", "cores=1"]),
            "seq 4 | xargs -P 4 -I {copy} unflake under --cores=1 -- pytest a.py"
        );
    }
}
