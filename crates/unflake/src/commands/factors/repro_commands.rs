//! The commands that show what an experiment found.

use jiff::Zoned;
use unflake_model::{Factor, FactorKind, Finding, Reproduction, Shows};
use unflake_report::quote;

use crate::commands::factors::command::influence;

/// Of seeds of which every fifth fails, one does among these in 99 of 100 cases.
const SEEDS: u32 = 20;

/// With which it fails most, and least.
pub(crate) type Commands = (Option<String>, Option<String>);

/// Makes commands of what is to be set: for each finding one that shows it, and those with which it fails most and least.
pub(crate) fn commands(findings: &mut [Finding], clock: &[Factor]) -> Commands {
    let mut ends = (None, None);
    for finding in findings {
        let Some(plain) = finding.command().map(str::to_owned) else { continue };
        let Some(influence) = influence(finding) else { continue };
        let by_seed = influence.setting.iter().any(|factor| factor.kind() == FactorKind::RandomSeed);
        // No command has the one seed that fails, or that passes.
        if !influence.plan.is_empty() && !by_seed {
            ends = (Some(under(&influence.worst, &plain, false)), Some(under(&influence.best, &plain, false)));
        }
        let command = under(&on_the_clock(&influence.setting, clock), &plain, by_seed);
        // Without the loop over seeds, the setting decides how the test ends.
        let shows = if influence.fails || by_seed { Shows::Fails } else { Shows::Passes };
        finding.reproduce = vec![Reproduction { command, shows }];
    }
    ends
}

/// What the baseline's clock says and this one need not: it is another hour, or another zone.
pub(crate) fn clock(baseline: &[Factor], here: &Zoned) -> Vec<Factor> {
    let zone = here.time_zone().iana_name().map(|zone| if zone == "Etc/UTC" { "UTC" } else { zone });
    let other = |factor: &&Factor| match factor {
        Factor::Date(_) => true,
        Factor::TimeZone(set) => zone != Some(set.as_str()),
        _ => false,
    };
    baseline.iter().filter(other).cloned().collect()
}

/// A moment and a zone make sense together only: what was seen of one holds with the other of the baseline.
fn on_the_clock(setting: &[Factor], clock: &[Factor]) -> Vec<Factor> {
    let is_of_it = |factor: &Factor| matches!(factor.kind(), FactorKind::Date | FactorKind::TimeZone);
    let is_set = |kind| setting.iter().any(|factor| factor.kind() == kind);
    let rest = clock.iter().filter(|factor| !is_set(factor.kind()));
    let rest = rest.filter(|_| setting.iter().any(is_of_it));
    rest.chain(setting).cloned().collect()
}

/// The command in that world. What a process draws follows from its words too, which are not the experiment's: where the seed matters,
/// seeds are tried until one fails.
fn under(factors: &[Factor], plain: &str, seed_matters: bool) -> String {
    let flag = |factor: &Factor| match factor.kind() {
        FactorKind::Order | FactorKind::Beside => String::new(),
        FactorKind::RandomSeed if seed_matters => " --random-seed=$seed".to_owned(),
        _ => format!(" {}", quote(&factor.flag())),
    };
    let flags: String = factors.iter().map(flag).collect();
    let mut shown = if flags.is_empty() { plain.to_owned() } else { format!("unflake under{flags} -- {plain}") };
    if let Some(Factor::Beside(copies)) = factors.iter().find(|factor| factor.kind() == FactorKind::Beside) {
        shown = format!("for copy in $(seq {copies}); do {shown} & done; wait");
    }
    if seed_matters {
        shown = format!("for seed in $(seq {SEEDS}); do {shown} || break; done");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(words: &[&str]) -> Vec<Factor> {
        unflake_model::declare_factors(unflake_runners::factors());
        words.iter().map(|word| word.parse().unwrap()).collect()
    }

    #[test]
    fn a_command_has_the_hour_at_which_a_zone_made_the_difference() {
        let tokyo: Zoned = "2026-11-16T07:08:00+09:00[Asia/Tokyo]".parse().unwrap();
        let greenwich: Zoned = "2026-11-16T07:08:00+00:00[UTC]".parse().unwrap();
        let baseline = set(&["date=2026-11-16T12:00:00", "locale=C.UTF-8", "time-zone=UTC", "hash-seed=0"]);
        let shown = |setting: &[&str], here: &Zoned| {
            under(&on_the_clock(&set(setting), &clock(&baseline, here)), "pytest", false)
        };
        let zone = "unflake under --date=2026-11-16 --time-zone=Pacific/Kiritimati -- pytest";
        assert_eq!(shown(&["time-zone=Pacific/Kiritimati"], &greenwich), zone);
        assert_eq!(shown(&["time-zone=Pacific/Kiritimati"], &tokyo), zone);
        assert_eq!(
            shown(&["date=2038-01-01T00:00:00"], &greenwich),
            "unflake under --date=2038-01-01T00:00:00 -- pytest"
        );
        assert_eq!(
            shown(&["date=2038-01-01T00:00:00"], &tokyo),
            "unflake under --time-zone=UTC --date=2038-01-01T00:00:00 -- pytest"
        );
        assert_eq!(shown(&["hash-seed=3"], &tokyo), "unflake under --hash-seed=3 -- pytest");
    }

    #[test]
    fn what_takes_several_processes_is_a_loop() {
        let shown = |setting: &[&str], seed_matters| under(&set(setting), "pytest a.py", seed_matters);
        assert_eq!(
            shown(&["random-seed=5"], true),
            "for seed in $(seq 20); do unflake under --random-seed=$seed -- pytest a.py || break; done"
        );
        assert_eq!(shown(&["beside=4"], false), "for copy in $(seq 4); do pytest a.py & done; wait");
        assert_eq!(
            shown(&["beside=4", "cores=1"], false),
            "for copy in $(seq 4); do unflake under --cores=1 -- pytest a.py & done; wait"
        );
    }
}
