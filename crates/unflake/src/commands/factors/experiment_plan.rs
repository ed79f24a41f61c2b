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

/// What says nothing where tests do not run in Python.
const NOT_ELSEWHERE: [(FactorKind, &str); 4] = [
    (FactorKind::HashSeed, "it is a matter of Python"),
    (FactorKind::SwitchInterval, "it is a matter of Python"),
    (FactorKind::Interpreter, "it is a matter of Python"),
    (
        FactorKind::Memory,
        "a limit on addresses keeps a JVM, or a program with a sanitizer, from starting at all: `unflake under memory=…` shows it",
    ),
];

pub(crate) struct Plan {
    pub(crate) baseline: Vec<Factor>,
    pub(crate) singles: Vec<Vec<Factor>>,
    pub(crate) mixes: Vec<Vec<Factor>>,
    pub(crate) untried: Vec<UntriedFactor>,
}

/// `only`: the kinds to be tried. Empty: all. `python`: whether tests run in Python, and not in processes of their own.
pub(crate) fn plan(now: &Zoned, command: &[String], cores: usize, only: &[FactorKind], python: bool) -> Plan {
    let mut untried = Vec::new();
    let today = now.date();
    let wanted = |kind: FactorKind| only.is_empty() || only.contains(&kind);
    let baseline = ["locale=C.UTF-8", "time-zone=UTC", "hash-seed=0", "random-seed=0", "listing=sorted"];
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
        "hash-seed=1".to_owned(),
        "hash-seed=2".to_owned(),
        "hash-seed=3".to_owned(),
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
        "switch-interval=10us".to_owned(),
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
    match interpreters(command) {
        Ok(others) => singles.extend(others.into_iter().map(|name| vec![Factor::Interpreter(name)])),
        Err(why) => untried.push(not("interpreter", &why)),
    }
    if !python {
        for (kind, why) in NOT_ELSEWHERE {
            singles.retain(|single| single[0].kind() != kind);
            baseline.retain(|factor| factor.kind() != kind);
            untried.retain(|one| one.name != kind.word());
            untried.push(not(kind.word(), why));
        }
    }
    singles.retain(|single| wanted(single[0].kind()));
    untried.retain(|one| FactorKind::from_word(one.name.split('=').next().unwrap_or_default()).is_none_or(wanted));
    let wanted = |kind: FactorKind| wanted(kind) && (python || NOT_ELSEWHERE.iter().all(|(other, _)| *other != kind));
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

/// Other interpreters for the command, where it takes one by its usual name.
fn interpreters(command: &[String]) -> Result<Vec<String>, String> {
    let usual = command.iter().position(|word| word == "python" || word == "python3").filter(|at| *at == 0);
    if usual.is_none() {
        return Err("the command does not begin with `python` or `python3`, so it has its own".to_owned());
    }
    let asked = |program: &str, script: &str| {
        let told = Command::new(program).args(["-c", script]).output().ok().filter(|told| told.status.success());
        told.map(|told| String::from_utf8_lossy(&told.stdout).trim().to_owned())
    };
    let version = "import sys; print('%d.%d' % sys.version_info[:2])";
    let ours = asked(&command[0], version).unwrap_or_default();
    let others = (8..16).map(|minor| format!("python3.{minor}")).filter(|name| !name.ends_with(&format!("on{ours}")));
    let there: Vec<String> = others.filter(|name| asked(name, "import pytest").is_some()).collect();
    if there.is_empty() { Err("no other interpreter here has pytest".to_owned()) } else { Ok(there) }
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
    let mixes = mixes.into_iter().map(|mix| set(mix.split(' ').map(str::to_owned)));
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
        let now: Zoned = "2026-11-15T23:00:00+01:00[Europe/Berlin]".parse().unwrap();
        plan(&now, &["pytest".to_owned()], 2, only, true)
    }

    fn words(list: &[Vec<Factor>]) -> Vec<String> {
        list.iter().map(|one| one.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn every_factor_is_tried_or_it_is_said_why_not() {
        let plan = planned(&[]);
        for kind in FactorKind::ALL {
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
