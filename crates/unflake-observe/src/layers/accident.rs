//! The probability that an invariant holds by accident. Below [`ACCIDENT`] it is reported.
//!
//! The assumptions are those of dynamic invariant detection (Ernst et al., Daikon): rows are
//! independent, and alternatives are equally likely.
//! - A two-sided property (null or not, one type or another, constant or not, positive or not, x
//!   before y) holds in one row by accident with probability 1/2.
//! - Of k observed values, each is as likely as one more that was not observed: all n rows miss
//!   that one with (k/(k+1))ⁿ. This applies to one-of, and to bounds, where k is the span from the
//!   smallest to the largest value and the missed value is just beyond it.
//! - A number in a span of r integers is 0 with 1/r, so n rows miss it with (1−1/r)ⁿ; it equals
//!   another number, or is on a given line, with 1/r. A span of fractions counts as 1000 wide, and
//!   no span counts as wider.
//! - For two variables only rows that differ from the previous row count: repetitions are no
//!   evidence.

pub(crate) const ACCIDENT: f64 = 0.01;
const WIDEST: f64 = 1000.0;

pub(crate) fn two_sided(rows: u32) -> f64 {
    power(0.5, rows)
}

pub(crate) fn one_more(values: f64, rows: u32) -> f64 {
    power(values / (values + 1.0), rows)
}

pub(crate) fn misses(span: f64, rows: u32) -> f64 {
    power(1.0 - 1.0 / span, rows)
}

pub(crate) fn meets(span: f64, rows: u32) -> f64 {
    power(1.0 / span.clamp(2.0, WIDEST), rows)
}

/// The number of values from one number to another.
pub(crate) fn span(least: f64, most: f64, whole: bool) -> f64 {
    if whole { most - least + 1.0 } else { WIDEST }
}

fn power(each: f64, rows: u32) -> f64 {
    each.powf(f64::from(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_needed_for_significance() {
        let needed = |chance: &dyn Fn(u32) -> f64| (0..).find(|rows| chance(*rows) < ACCIDENT).unwrap();
        assert_eq!(needed(&two_sided), 7);
        assert_eq!(needed(&|rows| one_more(2.0, rows)), 12);
        assert_eq!(needed(&|rows| one_more(3.0, rows)), 17);
        assert_eq!(needed(&|rows| misses(21.0, rows)), 95);
        assert_eq!(needed(&|rows| meets(10.0, rows)), 3);
        assert_eq!(needed(&|rows| meets(1.0, rows)), 7);
    }
}
