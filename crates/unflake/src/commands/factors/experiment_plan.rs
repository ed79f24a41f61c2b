//! What an experiment tries: the controlled baseline, telling settings of every factor, and mixes of several, as far as this
//! machine has them.

use std::env;
use std::process::Command;

use jiff::civil::{Date, DateTime, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Zoned};
use unflake_model::{Factor, FactorKind, UntriedFactor};
use unflake_worlds::World;

/// +14, −12, half an hour beside the others, and one that changes its clocks.
const ZONES: [&str; 4] = ["Pacific/Kiritimati", "Etc/GMT+12", "Asia/Kolkata", "America/New_York"];
/// Zones whose changes of the clock are tried, beside that of this machine.
const CHANGING: [&str; 2] = ["Europe/Berlin", "America/New_York"];
/// Variables, or beginnings of their names, without which little works, or which are factors of their own.
const ESSENTIAL: [&str; 27] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "LC_",
    "TZ",
    "TMP",
    "TEMP",
    "PWD",
    "OLDPWD",
    "SHLVL",
    "_",
    "PYTHON",
    "PYTEST",
    "VIRTUAL_ENV",
    "CONDA",
    "LD_",
    "XDG_",
    "UNFLAKE_",
    "SSL_",
    "JAVA_HOME",
    "CARGO",
    "RUSTUP",
    "NODE",
];

/// Why memory limits are not tried with drivers.
const MEMORY_OF_DRIVERS: &str = "a limit on addresses keeps a virtual machine, or a program with a sanitizer, from \
                                 starting at all: `unflake under --memory …` shows it";

pub(crate) struct Plan {
    pub(crate) baseline: Vec<Factor>,
    pub(crate) singles: Vec<Vec<Factor>>,
    pub(crate) mixes: Vec<Vec<Factor>>,
    pub(crate) untried: Vec<UntriedFactor>,
}

/// `only`: the kinds to try; empty: all. `injected`: an agent runs inside the runner, so the factors
/// that runners declare apply.
pub(crate) fn plan(now: &Zoned, command: &[String], cores: usize, only: &[FactorKind], injected: bool) -> Plan {
    let mut untried = Vec::new();
    let today = now.date();
    let wanted = |kind: FactorKind| only.is_empty() || only.contains(&kind);
    let baseline = ["locale=C.UTF-8", "time-zone=UTC", "random-seed=0", "listing=sorted"];
    let mut baseline = set(baseline.map(str::to_owned));
    baseline.insert(0, date(today.at(12, 0, 0, 0)));
    baseline.retain(|factor| can_be_set(factor, &mut untried));

    let mut singles: Vec<Vec<Factor>> = Vec::new();
    singles.extend(dates(today).into_iter().map(|moment| vec![date(moment)]));
    let here = now.time_zone().iana_name().filter(|zone| !["UTC", "Etc/UTC", "Etc/Unknown"].contains(zone));
    let zones = ZONES.into_iter().chain(here.filter(|zone| !ZONES.contains(zone)));
    singles.extend(set(zones.map(|zone| format!("time-zone={zone}"))).into_iter().map(|zone| vec![zone]));
    let one_each = [
        "speed=10".to_owned(),
        "random-seed=1".to_owned(),
        "random-seed=2".to_owned(),
        "random-seed=3".to_owned(),
        "random-seed=4".to_owned(),
        "random-seed=5".to_owned(),
        "order=0".to_owned(),
        "order=1".to_owned(),
        format!("beside={}", (2 * cores).clamp(4, 64)),
        format!("load={}", (8 * cores).min(128)),
        "memory=512M".to_owned(),
        "open-files=64".to_owned(),
        "delays=100ms/2@1".to_owned(),
        "network=off".to_owned(),
        "network=slow:200ms".to_owned(),
        "listing=reversed".to_owned(),
        "listing=shuffled:1".to_owned(),
        "state=fresh".to_owned(),
    ];
    singles.extend(set(one_each).into_iter().map(|factor| vec![factor]));
    if cores > 1 {
        singles.push(vec![Factor::Cores(1)]);
    } else {
        untried.push(not("cores", "there is a single core anyway"));
    }
    singles.extend(locales(&mut untried).into_iter().map(|locale| vec![locale]));
    match variables() {
        unset if unset.is_empty() => untried.push(not("variable", "no variable is set but those that are needed")),
        unset => singles.push(unset),
    }
    for kind in FactorKind::all() {
        let FactorKind::Declared(declared) = kind else { continue };
        if !injected {
            untried.push(not(kind.word(), declared.elsewhere));
            continue;
        }
        let set = |setting: &str| kind.set(setting).expect("a declaration's own settings are settings");
        baseline.extend(declared.baseline.map(set));
        match (declared.plan)(command) {
            Ok(settings) => singles.extend(settings.iter().map(|setting| vec![set(setting)])),
            Err(why) => untried.push(not(kind.word(), &why)),
        }
    }
    if !injected {
        singles.retain(|single| single[0].kind() != FactorKind::Memory);
        untried.push(not("memory", MEMORY_OF_DRIVERS));
    }
    singles.retain(|single| wanted(single[0].kind()));
    untried.retain(|one| FactorKind::from_word(one.name.split('=').next().unwrap_or_default()).is_none_or(wanted));
    let of_others = |kind: FactorKind| matches!(kind, FactorKind::Declared(_) | FactorKind::Memory);
    let wanted = |kind: FactorKind| wanted(kind) && (injected || !of_others(kind));
    let mixes = if only.is_empty() || only.len() > 1 { mixes(now, here, &wanted) } else { Vec::new() };
    Plan { baseline, singles, mixes, untried }
}

fn not(name: &str, why: &str) -> UntriedFactor {
    UntriedFactor { name: name.to_owned(), why: why.to_owned() }
}

fn set(words: impl IntoIterator<Item = String>) -> Vec<Factor> {
    words.into_iter().map(|word| word.parse().expect("ours are factors")).collect()
}

fn date(moment: DateTime) -> Factor {
    FactorKind::Date.set(&moment.strftime("%Y-%m-%dT%H:%M:%S").to_string()).expect("a moment is a setting")
}

fn can_be_set(factor: &Factor, untried: &mut Vec<UntriedFactor>) -> bool {
    match World::new(std::slice::from_ref(factor)) {
        Ok(_) => true,
        Err(cannot) => {
            untried.push(not(&factor.to_string(), &cannot.why));
            false
        }
    }
}

/// A year ago, a Sunday, the 31st, the leap day, the last seconds of a year, the first of a month, and after the end of 32 bits.
fn dates(today: Date) -> Vec<DateTime> {
    let after = |fits: &dyn Fn(Date) -> bool| {
        let mut days = std::iter::successors(today.tomorrow().ok(), |day| day.tomorrow().ok());
        days.find(|day| fits(*day)).unwrap_or(today)
    };
    let noon = |day: Date| day.at(12, 0, 0, 0);
    let year_ago = today.checked_sub(SignedDuration::from_hours(365 * 24)).unwrap_or(today);
    vec![
        noon(year_ago),
        noon(after(&|day| day.weekday() == Weekday::Sunday && day.day() < 29)),
        noon(after(&|day| day.day() == 31 && day.month() == 1)),
        noon(after(&|day| day.day() == 29 && day.month() == 2)),
        after(&|day| day.day() == 31 && day.month() == 12).at(23, 59, 30, 0),
        after(&|day| day.day() == 1 && day.month() != 1).at(0, 0, 30, 0),
        noon(Date::constant(2038, 1, 20)),
    ]
}

/// One with a decimal comma, one in which letters change otherwise, and the plainest.
fn locales(untried: &mut Vec<UntriedFactor>) -> Vec<Factor> {
    let listed = Command::new("locale").arg("-a").output().map(|output| output.stdout).unwrap_or_default();
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let utf8 = |name: &&str| name.to_lowercase().replace('-', "").ends_with("utf8");
    let find = |begins: &[&str]| {
        listed.lines().filter(utf8).find(|name| begins.iter().any(|begin| name.starts_with(begin))).map(str::to_owned)
    };
    let comma = find(&["de_", "fr_", "es_", "it_", "pl_", "ru_", "nl_", "pt_"]);
    if comma.is_none() {
        untried.push(not("locale=de_DE.UTF-8", "no locale with a decimal comma is installed (`locale -a`)"));
    }
    let names = [Some("C".to_owned()), comma, find(&["tr_"])];
    names.into_iter().flatten().map(Factor::Locale).collect()
}

fn variables() -> Vec<Factor> {
    let mut names: Vec<String> = env::vars().map(|(name, _)| name).collect();
    names.retain(|name| !ESSENTIAL.iter().any(|word| name == word || word.len() > 1 && name.starts_with(word)));
    names.sort();
    names.into_iter().map(|name| Factor::Variable { name, value: None }).collect()
}

/// Around changes of the clock in zones that have them, and other settings that may do something together.
fn mixes(now: &Zoned, here: Option<&str>, wanted: &dyn Fn(FactorKind) -> bool) -> Vec<Vec<Factor>> {
    let mut mixes: Vec<String> = Vec::new();
    let others =
        ["hash-seed=1 listing=reversed", "hash-seed=2 state=fresh", "network=off listing=shuffled:1", "locale=C"];
    let changing = here.into_iter().chain(CHANGING.into_iter().filter(|zone| Some(*zone) != here));
    for (zone, moment) in changing.flat_map(|zone| changes(now, zone).into_iter().map(move |moment| (zone, moment))) {
        mixes.push(format!("date={moment} time-zone={zone} {}", others[mixes.len() % others.len()]));
    }
    let [_, _, _, leap, last, first, _] = dates(now.date())[..] else { return Vec::new() };
    let said = |moment: DateTime| moment.strftime("%Y-%m-%dT%H:%M:%S").to_string();
    mixes.push(format!("date={} time-zone=Pacific/Kiritimati hash-seed=3 state=fresh", said(leap)));
    mixes.push(format!("date={} time-zone=Etc/GMT+12 network=off listing=reversed", said(last)));
    mixes.push(format!("date={} time-zone=Asia/Kolkata hash-seed=1 random-seed=1", said(first)));
    mixes.push("delays=100ms/2@1 switch-interval=10us cores=1 network=slow:200ms hash-seed=2".to_owned());
    let declared = |word: &&str| word.split_once('=').is_some_and(|(name, _)| FactorKind::from_word(name).is_some());
    let mixes = mixes.iter().map(|mix| set(mix.split(' ').filter(declared).map(str::to_owned)));
    let mixes = mixes.map(|mix| mix.into_iter().filter(|factor| wanted(factor.kind())).collect::<Vec<_>>());
    mixes.filter(|mix| mix.len() > 1).collect()
}

/// Half an hour before the next two changes of the clock in a zone, as it is said there.
fn changes(now: &Zoned, zone: &str) -> Vec<String> {
    let Ok(zone) = TimeZone::get(zone) else { return Vec::new() };
    let ahead = zone.following(now.timestamp()).take(2);
    let before = ahead.filter_map(|change| change.timestamp().checked_sub(SignedDuration::from_mins(30)).ok());
    before.map(|moment| moment.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S").to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(only: &[FactorKind]) -> Plan {
        unflake_model::declare_factors(unflake_runners::factors());
        let now: Zoned = "2026-11-15T23:00:00+01:00[Europe/Berlin]".parse().unwrap();
        plan(&now, &["pytest".to_owned()], 2, only, true)
    }

    fn words(list: &[Vec<Factor>]) -> Vec<String> {
        list.iter().map(|one| one.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn every_factor_is_tried_or_it_is_said_why_not() {
        let plan = planned(&[]);
        for kind in FactorKind::all() {
            let tried = plan.singles.iter().any(|single| single[0].kind() == kind);
            let said = plan.untried.iter().any(|one| one.name.starts_with(kind.word()));
            assert!(tried || said, "{kind}");
        }
        for single in &plan.singles {
            assert!(single.iter().all(|factor| factor.kind() == single[0].kind()), "{single:?}");
            assert!(single.iter().all(|factor| !plan.baseline.contains(factor)), "{single:?}");
        }
    }

    #[test]
    fn dates_are_those_that_tests_trip_over() {
        assert_eq!(
            words(&planned(&[FactorKind::Date]).singles),
            [
                "date=2025-11-15",
                "date=2026-11-22",
                "date=2027-01-31",
                "date=2028-02-29",
                "date=2026-12-31T23:59:30",
                "date=2026-12-01T00:00:30",
                "date=2038-01-20",
            ]
        );
    }

    #[test]
    fn clocks_that_change_are_tried_where_they_do() {
        let mixes = words(&planned(&[FactorKind::Date, FactorKind::TimeZone]).mixes);
        assert_eq!(mixes[0], "date=2027-03-28T01:30:00 time-zone=Europe/Berlin");
        assert_eq!(mixes[1], "date=2027-10-31T02:30:00 time-zone=Europe/Berlin");
        assert_eq!(mixes[2], "date=2027-03-14T01:30:00 time-zone=America/New_York");
        assert!(planned(&[FactorKind::Date]).mixes.is_empty());
    }
}
