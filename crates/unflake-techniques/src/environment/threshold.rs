//! From where on a setting makes the difference: between one that does and one that does not, by halves.

use unflake_model::{ClockSetting, Factor, FactorKind, Moment, Network};

use crate::environment::experiment::Effect;
use crate::environment::trials::{Bench, World};
use crate::search::scheduler::join_all;

/// How often a setting is tried: where it has done the same every time, and where it has not.
const CLEAR: u32 = 2;
const UNCLEAR: u32 = 5;
/// So many settings are tried for one edge.
const TRIES: u32 = 60;
/// How often a number is halved or doubled to get to the other side.
const GALLOPS: u32 = 8;
/// Numbers that differ by less than this part are the same.
const SAME: f64 = 0.1;
const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;
/// How far from a date the other side is looked for.
const AHEAD: [i64; 5] = [DAY, 10 * DAY, 100 * DAY, 1000 * DAY, 3650 * DAY];

/// Where settings that make the difference begin and end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Edge {
    /// From the second on it is so; at the first it is not.
    Number { not: f64, from: f64 },
    /// Seconds: it is so from the first on, and from the second on not any more. None: as far as was tried.
    Dates { from: Option<i64>, until: Option<i64>, again: Option<Again> },
}

/// When a day that makes the difference comes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    Yearly,
    Monthly,
    Weekly,
}

/// Tries settings of one factor of an effect.
struct Probe<'a> {
    bench: &'a Bench,
    effect: &'a Effect,
    at: usize,
    runs: u32,
}

impl Probe<'_> {
    /// Whether it makes the difference when set to this number. None: that could not be tried.
    async fn is_so(&self, number: f64) -> Option<bool> {
        let mut factors = self.effect.factors.clone();
        factors[self.at] = factors[self.at].with_number(number)?;
        let world = World::With(factors);
        if self.bench.failures(&world).runs < self.runs {
            self.bench.run(&[(world.clone(), self.runs)]).await;
        }
        let found = self.bench.failures(&world);
        (found.runs > 0).then(|| (found.share() > 0.5) == self.effect.fails)
    }
}

/// None: its settings have no order, or there is no end to them.
pub(crate) async fn edge(bench: &Bench, effect: &Effect) -> Option<Edge> {
    let has_edge =
        |factor: &Factor| factor.number().is_some() && !matches!(factor, Factor::Date(ClockSetting::Shifted(_)));
    let at = effect.factors.iter().position(has_edge)?;
    let runs = if effect.there.is_mixed() || effect.baseline.is_mixed() { UNCLEAR } else { CLEAR };
    let probe = Probe { bench, effect, at, runs };
    let number = effect.factors[at].number()?;
    match &effect.factors[at] {
        Factor::Date(_) => dates(&probe, number as i64).await,
        factor => numbers(&probe, factor, number).await,
    }
}

/// Whether more of it is worse.
fn grows(factor: &Factor) -> bool {
    match factor {
        Factor::Speed(millionths) => *millionths > 1_000_000,
        Factor::Network(Network::Slow(_)) => true,
        _ => matches!(factor.kind(), FactorKind::Load | FactorKind::Delays | FactorKind::Beside),
    }
}

async fn numbers(probe: &Probe<'_>, factor: &Factor, number: f64) -> Option<Edge> {
    let (mut so, mut not) = (number, None);
    for _ in 0..GALLOPS {
        let next = if grows(factor) { so / 2.0 } else { so * 2.0 };
        match probe.is_so(next).await {
            Some(true) => so = next,
            Some(false) => {
                not = Some(next);
                break;
            }
            // There is none of it then, and that is the baseline.
            None => {
                not = grows(factor).then_some(0.0);
                break;
            }
        }
    }
    let mut not = not?;
    let whole =
        matches!(factor.kind(), FactorKind::Load | FactorKind::Beside | FactorKind::Cores | FactorKind::OpenFiles);
    for _ in 0..TRIES {
        let close = if whole { (so - not).abs() <= 1.0 } else { (so - not).abs() <= SAME * so.max(not) };
        if close || probe.bench.is_over() {
            break;
        }
        let middle = if whole || not == 0.0 { (so + not) / 2.0 } else { (so * not).sqrt() };
        let middle = if whole { middle.floor() } else { middle };
        match probe.is_so(middle).await {
            Some(true) => so = middle,
            Some(false) => not = middle,
            None => break,
        }
    }
    Some(Edge::Number { not, from: so })
}

async fn dates(probe: &Probe<'_>, here: i64) -> Option<Edge> {
    let baseline = probe.bench.baseline.iter().find_map(|factor| match factor {
        Factor::Date(ClockSetting::At(_)) => factor.number(),
        _ => None,
    })? as i64;
    let edges = join_all(vec![first_beyond(probe, here, baseline, -1), first_beyond(probe, here, baseline, 1)]).await;
    let [from, until] = edges[..] else { return None };
    let again = match (from, until) {
        (Some(from), Some(until)) if until - from <= DAY => again(probe, here).await,
        _ => None,
    };
    Some(Edge::Dates { from, until, again })
}

/// Where it begins to be so before `here`, or ceases to be so after it.
async fn first_beyond(probe: &Probe<'_>, here: i64, baseline: i64, sign: i64) -> Option<i64> {
    let (so, not) = other_side(probe, here, baseline, sign).await?;
    Some(if sign > 0 { first_of(probe, so, not, false).await } else { first_of(probe, not, so, true).await })
}

/// The nearest known moment on one side of `here` at which it is not so, with the farthest before that at which it is. None: it is so
/// as far as was tried.
async fn other_side(probe: &Probe<'_>, here: i64, baseline: i64, sign: i64) -> Option<(i64, i64)> {
    let mut so = here;
    for ahead in AHEAD {
        let mut next = here + sign * ahead;
        // The baseline is where it is not so.
        if (baseline - here) * sign > 0 && (baseline - next) * sign <= 0 {
            return Some((so, baseline));
        }
        if probe.is_so(next as f64).await.is_none() {
            next = here + sign * ahead / 2;
        }
        match probe.is_so(next as f64).await {
            Some(true) => so = next,
            Some(false) => return Some((so, next)),
            None => return None,
        }
    }
    None
}

/// The first second of those from `low` to `high` that is as `high` is: at that it is so, or not, as `wanted` says, and at `low` the
/// other way round.
async fn first_of(probe: &Probe<'_>, mut low: i64, mut high: i64, wanted: bool) -> i64 {
    for _ in 0..TRIES {
        if high - low <= 1 || probe.bench.is_over() {
            break;
        }
        let middle = roundest(low, high);
        match probe.is_so(middle as f64).await {
            Some(so) if so == wanted => {
                high = middle;
                // People draw lines at round moments.
                match probe.is_so((middle - 1) as f64).await {
                    Some(so) if so == wanted => high = middle - 1,
                    Some(_) => return middle,
                    None => {}
                }
            }
            Some(_) => low = middle,
            None => break,
        }
    }
    high
}

/// The beginning of a year, of a month, of a day, of an hour or of a minute that lies in the middle half, or else the middle.
fn roundest(low: i64, high: i64) -> i64 {
    let quarter = (high - low) / 4;
    let (least, most) = (low + quarter.max(1), high - quarter.max(1));
    let middle = low + (high - low) / 2;
    let Some(moment) = Moment::at(most) else { return middle };
    let day = most - most.rem_euclid(DAY);
    let month = day - i64::from(moment.day - 1) * DAY;
    let begins = |months: i64| {
        (0..months).fold(month, |month, _| month - DAY * Moment::at(month - 1).map_or(30, |last| i64::from(last.day)))
    };
    let year = begins(i64::from(moment.month - 1));
    let rounds = [year, month, day, most - most.rem_euclid(HOUR), most - most.rem_euclid(60)];
    rounds.into_iter().find(|round| (least..=most).contains(round)).unwrap_or(middle)
}

/// Whether the same day of another year, another month or another week is such a day too.
async fn again(probe: &Probe<'_>, here: i64) -> Option<Again> {
    let moment = Moment::at(here)?;
    let same = |days: i64, fits: &dyn Fn(&Moment) -> bool| {
        let later = (1..10 * 366).filter_map(move |day| Moment::at(here + day * DAY).map(|moment| (day, moment)));
        later.filter(|(_, moment)| fits(moment)).map(|(day, _)| day).find(|day| *day >= days)
    };
    let next_month = same(1, &|other| other.day == moment.day && other.month != moment.month)?;
    let next_year = same(1, &|other| (other.day, other.month) == (moment.day, moment.month))?;
    if probe.is_so((here + next_month * DAY) as f64).await? {
        return Some(Again::Monthly);
    }
    if probe.is_so((here + next_year * DAY) as f64).await? {
        return Some(Again::Yearly);
    }
    let weekly = probe.is_so((here + 7 * DAY) as f64).await? && probe.is_so((here + 14 * DAY) as f64).await?;
    weekly.then_some(Again::Weekly)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> i64 {
        FactorKind::Date.set(text).unwrap().number().unwrap() as i64
    }

    #[test]
    fn round_moments_are_tried_first() {
        let check = |low: &str, high: &str, expected: &str| {
            let found = Moment::at(roundest(at(low), at(high))).unwrap();
            assert_eq!(ClockSetting::At(found).to_string(), expected);
        };
        check("2026-06-01", "2027-06-01", "2027-01-01T00:00:00");
        check("2026-02-20", "2026-03-10", "2026-03-01T00:00:00");
        check("2028-02-28", "2028-02-29", "2028-02-29T00:00:00");
        check("2028-02-29T00:30:00", "2028-02-29T04:30:00", "2028-02-29T03:00:00");
        check("2028-02-29T03:14:00", "2028-02-29T03:14:30", "2028-02-29T03:14:15");
        for seconds in 2..100 {
            let middle = roundest(1000, 1000 + seconds);
            assert!(middle > 1000 && middle < 1000 + seconds);
        }
    }
}
