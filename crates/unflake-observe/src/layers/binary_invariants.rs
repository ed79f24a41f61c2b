//! Infers invariants between two variables, row by row.

use crate::layers::accident::{ACCIDENT, meets, span, two_sided};
use crate::layers::invariant::{Column, Invariant, Relation, on_line};
use crate::layers::unary_invariants::{ColumnState, Numbers};
use crate::layers::value::Value;

/// The state of two columns. Its size does not depend on the number of rows.
#[derive(Clone, Debug)]
pub(crate) struct ColumnPair {
    pub(crate) one: Column,
    pub(crate) other: Column,
    before: Option<(Value, Value)>,
    /// Rows that differ from the previous row.
    changes: u32,
    equal: bool,
    /// None once a value is not a number.
    numbers: Option<InvariantComparison>,
}

#[derive(Clone, Debug)]
struct InvariantComparison {
    less: bool,
    same: bool,
    greater: bool,
    /// None once the points are not on a line.
    fit: Option<LinearFit>,
}

/// The second value as a linear function of the first.
#[derive(Clone, Copy, Debug)]
enum LinearFit {
    NoPoints,
    OnePoint(f64, f64),
    Fitted(f64, f64),
}

impl ColumnPair {
    pub(crate) fn new(one: Column, other: Column) -> Self {
        let numbers =
            Some(InvariantComparison { less: false, same: false, greater: false, fit: Some(LinearFit::NoPoints) });
        Self { one, other, before: None, changes: 0, equal: true, numbers }
    }

    /// Adds a row. False once no invariant can hold any more.
    pub(crate) fn add_row(&mut self, one: &Value, other: &Value) -> bool {
        if self.before.as_ref().is_some_and(|before| before.0 == *one && before.1 == *other) {
            return true;
        }
        self.before = Some((one.clone(), other.clone()));
        self.changes += 1;
        let numbers = one.number().zip(other.number());
        let same = one == other || numbers.is_some_and(|(one, other)| one == other);
        self.equal &= same && one.is_known() && !one.is_null();
        match (numbers, &mut self.numbers) {
            (Some((one, other)), Some(comparison)) => {
                comparison.less |= one < other;
                comparison.same |= one == other;
                comparison.greater |= one > other;
                comparison.fit = comparison.fit.and_then(|fit| fit.add_point(one, other));
            }
            _ => self.numbers = None,
        }
        let open = |numbers: &InvariantComparison| !(numbers.less && numbers.greater) || numbers.fit.is_some();
        self.equal || self.numbers.as_ref().is_some_and(open)
    }

    /// The invariants, given the state of each column. Constants and disjoint ranges yield nothing
    /// new.
    pub(crate) fn invariants(&self, one: &ColumnState, other: &ColumnState) -> Vec<(Invariant, u32)> {
        if one.is_constant() || other.is_constant() {
            return Vec::new();
        }
        let rows = self.changes;
        let (a, b) = (one.numbers(), other.numbers());
        if self.equal {
            let wide = a.map_or(2.0, |Numbers { least, most, whole, .. }| span(least, most, whole));
            let found = Invariant::Compare(self.one, Relation::Equal, self.other);
            return Vec::from_iter((meets(wide, rows) < ACCIDENT).then_some((found, rows)));
        }
        let (Some(a), Some(b), Some(comparison)) = (a, b, &self.numbers) else { return Vec::new() };
        let apart = a.most < b.least || b.most < a.least;
        let mut found = Vec::new();
        if let Some(LinearFit::Fitted(slope, start)) = comparison.fit
            && meets(span(b.least, b.most, b.whole), rows.saturating_sub(2)) < ACCIDENT
        {
            found.push((Invariant::Linear(self.other, slope, self.one, start), rows));
        }
        if two_sided(rows) < ACCIDENT && !apart && found.is_empty() {
            let relation = match (comparison.less, comparison.same, comparison.greater) {
                (true, _, true) => None,
                (true, true, false) => Some(Relation::LessOrEqual),
                (true, false, false) => Some(Relation::Less),
                (false, true, _) => Some(Relation::GreaterOrEqual),
                (false, false, _) => Some(Relation::Greater),
            };
            found.extend(relation.map(|relation| (Invariant::Compare(self.one, relation, self.other), rows)));
        }
        found
    }
}

impl LinearFit {
    /// Adds a point. None: it is not on the line, or the line is horizontal or vertical.
    fn add_point(self, x: f64, y: f64) -> Option<Self> {
        match self {
            Self::NoPoints => Some(Self::OnePoint(x, y)),
            Self::OnePoint(x1, y1) => {
                let slope = (y - y1) / (x - x1);
                let start = y1 - slope * x1;
                (slope.is_finite() && slope != 0.0 && start.is_finite()).then_some(Self::Fitted(slope, start))
            }
            Self::Fitted(slope, start) => on_line(y, slope, x, start).then_some(self),
        }
    }
}
