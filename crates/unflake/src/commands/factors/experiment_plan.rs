//! What an experiment tries: the controlled baseline, settings of every factor, and combinations of
//! several, as far as this machine can set them.

use jiff::Zoned;
use unflake_model::{Factor, FactorEffect, FactorKind, FactorPlan, Moment, PlanContext, UntriedFactor, World};
use unflake_runners::RunnerSelection;
use unflake_techniques::CombinedScreen;
use unflake_worlds::{OpenWorld, clock_changes};

/// Combinations of settings of one family.
const MAX_FAMILY_MIXES: usize = 3;

pub(crate) struct Plan {
    pub(crate) baseline: Vec<Factor>,
    /// Changes of one factor each.
    pub(crate) singles: Vec<Vec<Factor>>,
    pub(crate) mixes: Vec<Vec<Factor>>,
    pub(crate) untried: Vec<UntriedFactor>,
}

pub(crate) fn context(now: &Zoned, command: &[String]) -> PlanContext {
    let (date, time) = (now.date(), now.time());
    PlanContext {
        now: Moment {
            year: date.year(),
            month: date.month(),
            day: date.day(),
            hour: time.hour(),
            minute: time.minute(),
            second: time.second(),
            offset: None,
        },
        zone: now.time_zone().iana_name().map(str::to_owned),
        cores: std::thread::available_parallelism().map_or(1, |cores| cores.get()),
        command: command.to_vec(),
        tool_variables: unflake_runners::tool_variables(),
    }
}

/// Whether to try many factors at once first: where each run starts a slow process.
pub(crate) fn combined(runner: &RunnerSelection) -> CombinedScreen {
    match runner.can(|runner| runner.slow_starts) {
        true => CombinedScreen::First,
        false => CombinedScreen::Never,
    }
}

/// `only`: the factors to try; empty: all. `runner`: what the command leads to.
pub(crate) fn plan(context: &PlanContext, only: &[FactorKind], runner: &RunnerSelection) -> Plan {
    let is_wanted = |kind: FactorKind| only.is_empty() || only.contains(&kind);
    let (has_agent, declared) = (!runner.agents().is_empty(), runner.factors());
    let mut plan = Plan { baseline: Vec::new(), singles: Vec::new(), mixes: Vec::new(), untried: Vec::new() };
    for kind in FactorKind::all() {
        let mut untried = |why: String| {
            plan.untried.extend(is_wanted(kind).then(|| UntriedFactor { name: kind.name.to_owned(), why }));
        };
        let is_declared = declared.iter().any(|factor| factor.name == kind.name);
        let excluded = kind.declared_only.filter(|_| !is_declared).or(kind.agent_only.filter(|_| !has_agent));
        if let Some(why) = excluded {
            untried(why.to_owned());
            continue;
        }
        if let Some(setting) = (kind.baseline)(context) {
            let factor = set(kind, &setting);
            match OpenWorld::new(&World::of(vec![factor.clone()])) {
                Ok(_) => plan.baseline.push(factor),
                Err(error) => untried(format!("{setting}: {}", error.why)),
            }
        }
        if is_wanted(kind) {
            let FactorPlan { settings, missing } = (kind.plan)(context);
            missing.into_iter().for_each(untried);
            let factors: Vec<Factor> = settings.iter().map(|setting| set(kind, setting)).collect();
            match kind.repeatable {
                true => plan.singles.extend((!factors.is_empty()).then_some(factors)),
                false => plan.singles.extend(factors.into_iter().map(|factor| vec![factor])),
            }
        }
    }
    plan.mixes = mixes(&plan.singles, context);
    plan
}

fn set(kind: FactorKind, setting: &str) -> Factor {
    kind.set(setting).expect("a declaration plans its own settings")
}

/// Clock changes, settings of one family together, and everything that changes the timing. Each
/// with other settings, so that few worlds cover many combinations.
fn mixes(singles: &[Vec<Factor>], context: &PlanContext) -> Vec<Vec<Factor>> {
    let kinds: Vec<FactorKind> = singles.iter().map(|single| single[0].kind()).collect();
    let of_process = |kind: FactorKind| matches!(kind.effect, FactorEffect::Process(_));
    let combinable = |factor: &&Factor| {
        let kind = factor.kind();
        of_process(kind) && !kind.exclusive && !kind.repeatable
    };
    let all = || singles.iter().map(|single| &single[0]).filter(combinable);
    let of_kind = |kind: FactorKind| all().filter(move |factor| factor.kind() == kind);

    let changes = clock_changes(context);
    let changes = changes.iter().map(|change| change.iter().filter_map(|factor| factor.parse().ok()).collect());
    let mut mixes: Vec<Vec<Factor>> =
        changes.filter(|mix: &Vec<Factor>| mix.iter().all(|factor| kinds.contains(&factor.kind()))).collect();
    let mut families: Vec<&str> = kinds.iter().map(|kind| kind.family).filter(|family| !family.is_empty()).collect();
    families.sort_unstable();
    families.dedup();
    for family in families {
        let mut members: Vec<FactorKind> = kinds.iter().filter(|kind| kind.family == family).copied().collect();
        members.dedup();
        let nth = |at: usize| members.iter().filter_map(|kind| of_kind(*kind).nth(at).cloned()).collect();
        mixes.extend((0..MAX_FAMILY_MIXES).map(nth));
    }
    let others: Vec<&Factor> = all().filter(|factor| !factor.kind().timing).collect();
    for (at, mix) in mixes.iter_mut().enumerate() {
        let mut added = others.iter().cycle().skip(2 * at).take(others.len());
        let is_new = |mix: &[Factor], other: &Factor| mix.iter().all(|known| known.kind() != other.kind());
        let wanted = mix.len() + 2;
        while let (true, Some(other)) = (mix.len() < wanted, added.next()) {
            if is_new(mix, other) {
                mix.push((*other).clone());
            }
        }
    }
    let mut timing: Vec<Factor> = all().filter(|factor| factor.kind().timing).cloned().collect();
    timing.dedup_by_key(|factor| factor.kind());
    mixes.push(timing);
    mixes.retain(|mix| mix.len() > 1);
    mixes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::under::declare_all;
    use unflake_runners::RunnerOptions;

    /// What is tried with a command.
    fn planned(only: &[&str], command: &str) -> Plan {
        declare_all();
        let command: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let runner = unflake_runners::select(&command, &RunnerOptions::default());
        let now: Zoned = "2026-11-15T23:00:00+01:00[Europe/Berlin]".parse().unwrap();
        let only: Vec<FactorKind> = only.iter().map(|name| FactorKind::named(name).unwrap()).collect();
        plan(&PlanContext { cores: 2, ..context(&now, &command) }, &only, &runner)
    }

    fn words(list: &[Vec<Factor>]) -> Vec<String> {
        list.iter().map(|one| one.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn every_factor_is_tried_or_has_a_reason() {
        for command in ["pytest", "mvn test", "cargo test"] {
            let plan = planned(&[], command);
            for kind in FactorKind::all() {
                let is_tried = plan.singles.iter().any(|single| single[0].kind() == kind);
                let has_reason = plan.untried.iter().any(|one| one.name == kind.name);
                assert!(is_tried || has_reason, "{kind}");
            }
            for single in &plan.singles {
                assert!(single.iter().all(|factor| factor.kind() == single[0].kind()), "{single:?}");
                assert!(single.iter().all(|factor| !plan.baseline.contains(factor)), "{single:?}");
            }
        }
    }

    #[test]
    fn factors_of_a_language_are_tried_with_its_runners_only() {
        let tried = |name: &str, command: &str| {
            let plan = planned(&[], command);
            plan.singles.iter().any(|single| single[0].kind().name == name)
        };
        assert!(tried("hash-seed", "pytest") && !tried("hash-seed", "mvn test"));
        assert!(tried("collection-order", "mvn test") && !tried("collection-order", "pytest"));
        assert!(!tried("collection-order", "cargo test") && !tried("hash-seed", "cargo test"));
    }

    #[test]
    fn only_selected_factors_are_tried() {
        let plan = planned(&["date"], "pytest");
        assert!(plan.singles.iter().all(|single| single[0].kind().name == "date") && plan.untried.is_empty());
        assert_eq!(plan.mixes, Vec::<Vec<Factor>>::new());
        assert!(plan.baseline.len() > 3, "{:?}", plan.baseline);
    }

    #[test]
    fn mixes_combine_each_factor_once() {
        let mixes = words(&planned(&["date", "time-zone"], "pytest").mixes);
        assert_eq!(mixes[0], "date=2027-03-28T01:30:00 time-zone=Europe/Berlin");
        assert_eq!(mixes[1], "date=2027-10-31T02:30:00 time-zone=Europe/Berlin");
        assert_eq!(mixes[2], "date=2027-03-14T01:30:00 time-zone=America/New_York");
        for mix in planned(&[], "pytest").mixes {
            let mut kinds: Vec<FactorKind> = mix.iter().map(Factor::kind).collect();
            kinds.sort();
            kinds.dedup();
            assert!(kinds.len() == mix.len() && mix.len() > 1, "{mix:?}");
        }
    }
}
