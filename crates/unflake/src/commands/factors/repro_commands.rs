//! The commands that show what an experiment found.

use jiff::Zoned;
use unflake_model::{Factor, FactorKind, Finding, Influence, Rate, Reproduction, Shows};
use unflake_report::quote;

use crate::commands::factors::command::influence;

/// Of seeds of which every fifth fails, one does among these in 99 of 100 cases.
const SEEDS: u32 = 20;

/// With which it fails most, and least.
pub(crate) type Commands = (Option<String>, Option<String>);

/// Turns the plain commands of the findings into those of their worlds, and returns the commands
/// with which the test fails most and least.
pub(crate) fn commands(findings: &mut [Finding], baseline: &[Factor], here: &Zoned) -> Commands {
    let clock = clock(baseline, here);
    let mut ends = (None, None);
    for finding in findings {
        let Some(plain) = finding.command().map(str::to_owned) else { continue };
        let Some(influence) = influence(finding) else { continue };
        if !influence.plan.is_empty() {
            // No command has the one seed that fails, or that passes, nor an order of another world.
            let sets = |world: &[Factor]| !draws(&influence.setting) && !has(world, FactorKind::Order);
            let command = |world: &[Factor]| sets(world).then(|| under(world, &plain));
            ends = (command(&influence.worst), command(&influence.best));
        }
        finding.reproduce = reproductions(influence, &plain, baseline, &clock);
    }
    ends
}

/// The failing world; where the setting makes the test pass, also that one.
fn reproductions(influence: &Influence, plain: &str, baseline: &[Factor], clock: &[Factor]) -> Vec<Reproduction> {
    let setting = &influence.setting;
    let command = |factors: &[Factor], rate: Rate| {
        let shows = match rate.seen {
            0 => Shows::Passes,
            failed if failed == rate.of && !depends_on_speed(setting) => Shows::Fails,
            _ => Shows::SometimesFails,
        };
        Reproduction { command: under(factors, plain), shows }
    };
    match influence.fails {
        // Which seed fails depends on the words of the command, so several are tried.
        _ if draws(setting) => vec![Reproduction { command: any_seed(setting, plain), shows: Shows::SometimesFails }],
        true => vec![command(&on_the_clock(setting, clock), influence.rate)],
        false if setting.is_empty() => vec![command(baseline, influence.baseline)],
        // The plain command has the order already.
        false if has(setting, FactorKind::Order) => vec![command(setting, influence.rate)],
        false => {
            vec![command(baseline, influence.baseline), command(&on_the_clock(setting, clock), influence.rate)]
        }
    }
}

fn has(world: &[Factor], kind: FactorKind) -> bool {
    world.iter().any(|factor| factor.kind() == kind)
}

/// Whether the seed of random numbers is part of a setting.
fn draws(setting: &[Factor]) -> bool {
    has(setting, FactorKind::RandomSeed)
}

/// Whether the speed of the machine decides too, which is another each time.
fn depends_on_speed(setting: &[Factor]) -> bool {
    has(setting, FactorKind::Load) || has(setting, FactorKind::Delays)
}

/// What the baseline's clock says and this one need not: it is another hour, or another zone.
fn clock(baseline: &[Factor], here: &Zoned) -> Vec<Factor> {
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

/// The command in that world.
fn under(factors: &[Factor], plain: &str) -> String {
    let flags: String = factors.iter().filter_map(option).collect();
    let command = if flags.is_empty() { plain.to_owned() } else { format!("unflake under{flags} -- {plain}") };
    match factors.iter().find(|factor| factor.kind() == FactorKind::Beside) {
        // Fails where one of the copies does.
        Some(Factor::Beside(copies)) => format!("seq {copies} | xargs -P {copies} -I {{copy}} {command}"),
        _ => command,
    }
}

/// The command with one seed after the other, until one fails.
fn any_seed(factors: &[Factor], plain: &str) -> String {
    let others = factors.iter().filter(|factor| factor.kind() != FactorKind::RandomSeed);
    let flags: String = others.filter_map(option).collect();
    format!("(for seed in $(seq {SEEDS}); do unflake under{flags} --random-seed=$seed -- {plain} || exit; done)")
}

/// The option of `unflake under`. The order of tests and copies beside each other are part of the
/// command.
fn option(factor: &Factor) -> Option<String> {
    let is_option = !matches!(factor.kind(), FactorKind::Order | FactorKind::Beside);
    is_option.then(|| format!(" {}", quote(&factor.flag())))
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
        let shown =
            |setting: &[&str], here: &Zoned| under(&on_the_clock(&set(setting), &clock(&baseline, here)), "pytest");
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
    fn several_processes_fail_where_one_does() {
        assert_eq!(
            any_seed(&set(&["random-seed=5", "cores=1"]), "pytest a.py"),
            "(for seed in $(seq 20); do unflake under --cores=1 --random-seed=$seed -- pytest a.py || exit; done)"
        );
        assert_eq!(under(&set(&["beside=4"]), "pytest a.py"), "seq 4 | xargs -P 4 -I {copy} pytest a.py");
        assert_eq!(
            under(&set(&["beside=4", "cores=1"]), "pytest a.py"),
            "seq 4 | xargs -P 4 -I {copy} unflake under --cores=1 -- pytest a.py"
        );
    }

    #[test]
    fn the_failing_world_comes_first() {
        let baseline = set(&["locale=C.UTF-8", "time-zone=UTC"]);
        let rate = |seen| Rate { seen, of: 5, low: 0.0, high: 1.0 };
        let shown = |fails, at_setting, at_baseline| {
            let influence = Influence {
                kind: "locale".to_owned(),
                setting: set(&["locale=de_DE.UTF-8"]),
                fails,
                threshold: None,
                rate: rate(at_setting),
                baseline: rate(at_baseline),
                chance: 0.001,
                plan: Vec::new(),
                untried: Vec::new(),
                worst: Vec::new(),
                best: Vec::new(),
                runs: 10,
            };
            let all = reproductions(&influence, "pytest", &baseline, &[]);
            all.into_iter().map(|one| (one.command, one.shows)).collect::<Vec<_>>()
        };
        let setting = "unflake under --locale=de_DE.UTF-8 -- pytest".to_owned();
        let usual = "unflake under --locale=C.UTF-8 --time-zone=UTC -- pytest".to_owned();
        assert_eq!(shown(true, 5, 0), [(setting.clone(), Shows::Fails)]);
        assert_eq!(shown(true, 4, 0), [(setting.clone(), Shows::SometimesFails)]);
        assert_eq!(shown(false, 0, 5), [(usual, Shows::Fails), (setting, Shows::Passes)]);
    }
}
