//! Commands that reproduce what an experiment found.

use unflake_model::{Factor, FactorEffect, Finding, Influence, Rate, Reproduction, Shows, World};

use crate::commands::factors::command::influence;
use crate::repro_command::{in_copies, in_world};

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
    let command = |factors: &[Factor], rates: &[Rate]| {
        let shows = expected(rates, influence.setting.iter().any(|one| one.kind().timing));
        Reproduction { command: under(&with_families(factors, baseline), plain), shows }
    };
    if influence.setting.is_empty() {
        // What decides is unknown, so the runs of all worlds say what to expect.
        let rates: Vec<Rate> = influence.plan.iter().map(|trial| trial.rate).chain([influence.rate]).collect();
        return vec![command(&[], &rates)];
    }
    let setting = command(&influence.setting, &[influence.rate]);
    if influence.fails {
        return vec![setting];
    }
    let replaced: Vec<Factor> = baseline.iter().filter(|factor| is_set(&influence.setting, factor)).cloned().collect();
    vec![command(&replaced, &[influence.baseline]), setting]
}

/// What these runs let expect of another one. `by_time`: the load of the machine may change it.
fn expected(rates: &[Rate], by_time: bool) -> Shows {
    let sum = |count: fn(&Rate) -> u32| rates.iter().map(count).sum();
    match Shows::counted(sum(|rate| rate.seen), sum(|rate| rate.of)) {
        Shows::Fails if by_time => Shows::SometimesFails,
        shows => shows,
    }
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
    let (of_process, others): (Vec<Factor>, Vec<Factor>) =
        factors.iter().cloned().partition(|factor| matches!(factor.kind().effect, FactorEffect::Process(_)));
    let command = in_world(plain, &World::of(of_process));
    let copies = others.iter().rfind(|factor| matches!(factor.kind().effect, FactorEffect::Copies));
    match copies {
        Some(copies) => in_copies(&command, copies.setting()),
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
    fn one_pass_in_any_world_makes_a_failure_uncertain() {
        let rate = |seen, of| Rate { seen, of, low: 0.0, high: 1.0 };
        assert_eq!(expected(&[rate(6, 6), rate(3, 3)], false), Shows::Fails);
        assert_eq!(expected(&[rate(6, 6), rate(2, 3)], false), Shows::SometimesFails);
        assert_eq!(expected(&[rate(6, 6)], true), Shows::SometimesFails);
        assert_eq!(expected(&[rate(0, 6)], true), Shows::Passes);
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
