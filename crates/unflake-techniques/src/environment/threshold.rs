//! The setting from which on a factor makes the difference, by bisection between a setting that
//! does and one that does not.

use unflake_model::{Moment, ScaleShape};

use crate::environment::experiment::Effect;
use crate::environment::trials::{TrialRunner, TrialWorld};
use crate::search::scheduler::join_all;

/// Runs per setting, where every run so far had the same outcome and where not.
const CLEAR: u32 = 2;
const UNCLEAR: u32 = 5;
/// Settings that are tried for one threshold.
const MAX_TRIES: u32 = 60;
/// How often a number is halved or doubled to reach the other side.
const GALLOPS: u32 = 8;
/// Numbers that differ by less than this share are equal.
const SAME: f64 = 0.1;
const HOUR: i64 = 3600;
pub(crate) const DAY: i64 = 24 * HOUR;
/// How far from a date the other side is searched.
const AHEAD: [i64; 5] = [DAY, 10 * DAY, 100 * DAY, 1000 * DAY, 3650 * DAY];

/// Where the settings that make the difference start and end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Edge {
    /// From `from` on, and not yet at `not`.
    Number { not: f64, from: f64 },
    /// Seconds: from `from` on, until before `until`. None: as far as was tried.
    Dates { from: Option<i64>, until: Option<i64>, recurrence: Option<Recurrence> },
}

/// How a single day that makes the difference recurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recurrence {
    MonthEnd,
    Monthly,
    Yearly,
    Weekly,
}

impl Recurrence {
    /// Whether a day is one of those on which `first` recurs.
    pub(crate) fn includes(self, first: i64, day: i64) -> bool {
        let (Some(one), Some(other)) = (Moment::at(first), Moment::at(day)) else { return false };
        match self {
            Self::MonthEnd => is_month_end(day),
            Self::Monthly => one.day == other.day,
            Self::Yearly => (one.month, one.day) == (other.month, other.day),
            Self::Weekly => first.div_euclid(DAY).rem_euclid(7) == day.div_euclid(DAY).rem_euclid(7),
        }
    }
}

fn is_month_end(day: i64) -> bool {
    Moment::at(day + DAY).is_some_and(|next| next.day == 1)
}

/// Tries settings of one factor of an effect.
struct ThresholdProbe<'a> {
    runner: &'a TrialRunner,
    effect: &'a Effect,
    at: usize,
    runs: u32,
}

impl ThresholdProbe<'_> {
    /// Whether the factor makes the difference with this number. None: it could not be tried.
    async fn differs(&self, number: f64) -> Option<bool> {
        let mut factors = self.effect.factors.clone();
        factors[self.at] = factors[self.at].with_number(number)?;
        let world = TrialWorld::With(factors);
        if self.runner.failures(&world).runs < self.runs {
            self.runner.run(&[(world.clone(), self.runs)]).await;
        }
        let found = self.runner.failures(&world);
        (found.runs > 0).then(|| (found.share() > 0.5) == self.effect.fails)
    }
}

/// None: its settings have no order, or every setting makes the difference.
pub(crate) async fn edge(runner: &TrialRunner, effect: &Effect) -> Option<Edge> {
    let at = effect.factors.iter().position(|factor| factor.number().is_some())?;
    let runs = if effect.there.is_mixed() || effect.baseline.is_mixed() { UNCLEAR } else { CLEAR };
    let probe = ThresholdProbe { runner, effect, at, runs };
    let factor = &effect.factors[at];
    let number = factor.number()?;
    match factor.kind().scale?.shape {
        ScaleShape::Moments => {
            let mut baseline = runner.baseline.iter().filter(|other| other.kind() == factor.kind());
            dates(&probe, number as i64, baseline.next()?.number()? as i64).await
        }
        ScaleShape::Amount { grows, whole } => numbers(&probe, number, grows(number), whole).await,
    }
}

async fn numbers(probe: &ThresholdProbe<'_>, number: f64, grows: bool, whole: bool) -> Option<Edge> {
    let (mut from, mut not) = (number, None);
    for _ in 0..GALLOPS {
        let next = if grows { from / 2.0 } else { from * 2.0 };
        match probe.differs(next).await {
            Some(true) => from = next,
            Some(false) => {
                not = Some(next);
                break;
            }
            // Nothing of it, which is the baseline.
            None => {
                not = grows.then_some(0.0);
                break;
            }
        }
    }
    let mut not = not?;
    for _ in 0..MAX_TRIES {
        let close = if whole { (from - not).abs() <= 1.0 } else { (from - not).abs() <= SAME * from.max(not) };
        if close || probe.runner.is_exhausted() {
            break;
        }
        let middle = if whole || not == 0.0 { (from + not) / 2.0 } else { (from * not).sqrt() };
        let middle = if whole { middle.floor() } else { middle };
        match probe.differs(middle).await {
            Some(true) => from = middle,
            Some(false) => not = middle,
            None => break,
        }
    }
    Some(Edge::Number { not, from })
}

async fn dates(probe: &ThresholdProbe<'_>, here: i64, baseline: i64) -> Option<Edge> {
    let edges = join_all(vec![first_beyond(probe, here, baseline, -1), first_beyond(probe, here, baseline, 1)]).await;
    let [from, until] = edges[..] else { return None };
    let recurrence = match (from, until) {
        (Some(from), Some(until)) if until - from <= DAY => recurrence(probe, here).await,
        _ => None,
    };
    Some(Edge::Dates { from, until, recurrence })
}

/// Where the difference starts before `here`, or ends after it.
async fn first_beyond(probe: &ThresholdProbe<'_>, here: i64, baseline: i64, sign: i64) -> Option<i64> {
    let (inside, outside) = other_side(probe, here, baseline, sign).await?;
    Some(match sign > 0 {
        true => first_of(probe, inside, outside, false).await,
        false => first_of(probe, outside, inside, true).await,
    })
}

/// The nearest known moment without the difference on one side of `here`, with the farthest one
/// before it that has it. None: there is none as far as was tried.
async fn other_side(probe: &ThresholdProbe<'_>, here: i64, baseline: i64, sign: i64) -> Option<(i64, i64)> {
    let mut inside = here;
    for ahead in AHEAD {
        let mut next = here + sign * ahead;
        if (baseline - here) * sign > 0 && (baseline - next) * sign <= 0 {
            return Some((inside, baseline));
        }
        if probe.differs(next as f64).await.is_none() {
            next = here + sign * ahead / 2;
        }
        match probe.differs(next as f64).await {
            Some(true) => inside = next,
            Some(false) => return Some((inside, next)),
            None => return None,
        }
    }
    None
}

/// The first second after `low` that is like `high`: at that the difference is there or not, as
/// `wanted` says, and at `low` the opposite.
async fn first_of(probe: &ThresholdProbe<'_>, mut low: i64, mut high: i64, wanted: bool) -> i64 {
    for _ in 0..MAX_TRIES {
        if high - low <= 1 || probe.runner.is_exhausted() {
            break;
        }
        let middle = roundest(low, high);
        match probe.differs(middle as f64).await {
            Some(differs) if differs == wanted => {
                high = middle;
                // Most limits are round moments.
                match probe.differs((middle - 1) as f64).await {
                    Some(differs) if differs == wanted => high = middle - 1,
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

/// The start of a year, month, day, hour or minute in the middle half, or else the middle.
fn roundest(low: i64, high: i64) -> i64 {
    let quarter = (high - low) / 4;
    let (least, most) = (low + quarter.max(1), high - quarter.max(1));
    let middle = low + (high - low) / 2;
    let Some(moment) = Moment::at(most) else { return middle };
    let day = most - most.rem_euclid(DAY);
    let month = day - i64::from(moment.day - 1) * DAY;
    let previous_month = |month: i64| month - DAY * Moment::at(month - 1).map_or(30, |last| i64::from(last.day));
    let year = (1..moment.month).fold(month, |month, _| previous_month(month));
    let rounds = [year, month, day, most - most.rem_euclid(HOUR), most - most.rem_euclid(60)];
    rounds.into_iter().find(|round| (least..=most).contains(round)).unwrap_or(middle)
}

/// Whether the same day of another month, year or week makes the difference too.
async fn recurrence(probe: &ThresholdProbe<'_>, here: i64) -> Option<Recurrence> {
    let moment = Moment::at(here)?;
    let next = |fits: &dyn Fn(i64, Moment) -> bool| {
        let later = (1..10 * 366).map(|day| here + day * DAY);
        later.filter_map(|day| Some((day, Moment::at(day)?))).find(|(day, moment)| fits(*day, *moment))
    };
    if is_month_end(here) {
        let (other, _) = next(&|day, other| is_month_end(day) && other.day != moment.day && other.month != 2)?;
        let (february, _) = next(&|day, other| is_month_end(day) && other.month == 2)?;
        if probe.differs(other as f64).await? && probe.differs(february as f64).await? {
            return Some(Recurrence::MonthEnd);
        }
    }
    let (next_month, _) = next(&|_, other| other.day == moment.day && other.month != moment.month)?;
    if probe.differs(next_month as f64).await? {
        return Some(Recurrence::Monthly);
    }
    let (next_year, _) = next(&|_, other| (other.day, other.month) == (moment.day, moment.month))?;
    if probe.differs(next_year as f64).await? {
        return Some(Recurrence::Yearly);
    }
    let weekly = probe.differs((here + 7 * DAY) as f64).await? && probe.differs((here + 14 * DAY) as f64).await?;
    weekly.then_some(Recurrence::Weekly)
}

#[cfg(test)]
mod tests {
    use unflake_model::ClockSetting;

    use super::*;

    fn at(text: &str) -> i64 {
        text.parse::<ClockSetting>().unwrap_or_else(|_| panic!("{text}")).number() as i64
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

    #[test]
    fn recurring_days_are_recognized() {
        let (first, leap) = (at("2027-01-31"), at("2028-02-29"));
        assert!(Recurrence::MonthEnd.includes(first, leap) && !Recurrence::Monthly.includes(first, leap));
        assert!(Recurrence::Yearly.includes(first, at("2030-01-31T01:00:00")));
        assert!(Recurrence::Weekly.includes(first, at("2027-02-07")));
        assert!(!Recurrence::Weekly.includes(first, at("2027-02-08")));
    }
}
