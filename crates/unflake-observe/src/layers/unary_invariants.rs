//! Infers invariants of one variable, row by row.

use crate::layers::accident::{ACCIDENT, misses, one_more, span, two_sided};
use crate::layers::invariant::{Column, Invariant, Relation};
use crate::layers::value::Value;

/// A variable with more different values is not one-of.
const MAX_ONE_OF: usize = 3;

/// The state of a column. Its size does not depend on the number of rows.
#[derive(Clone, Debug)]
pub(crate) struct ColumnState {
    column: Column,
    rows: u32,
    /// The different values in order of appearance, while there are few.
    distinct: Option<Vec<Value>>,
    nulls: u32,
    /// The type of all non-null values, while there is only one.
    kind: Option<String>,
    mixed: bool,
    numbers: Option<Numbers>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    pub(crate) least: f64,
    pub(crate) most: f64,
    pub(crate) whole: bool,
    zero: bool,
}

impl ColumnState {
    pub(crate) fn new(column: Column) -> Self {
        let numbers = Numbers { least: f64::INFINITY, most: f64::NEG_INFINITY, whole: true, zero: false };
        let (distinct, numbers) = (Some(Vec::new()), Some(numbers));
        Self { column, rows: 0, distinct, nulls: 0, kind: None, mixed: false, numbers }
    }

    pub(crate) fn add_row(&mut self, value: Option<&Value>) {
        self.rows += 1;
        let Some(value) = value else {
            (self.distinct, self.numbers, self.mixed) = (None, None, true);
            return;
        };
        match (value.kind(), &self.kind) {
            (None, _) => self.nulls += 1,
            (Some(kind), None) => self.kind = Some(kind.to_owned()),
            (Some(kind), Some(before)) => self.mixed |= kind != before,
        }
        if let Some(distinct) = &mut self.distinct
            && !distinct.contains(value)
        {
            distinct.push(value.clone());
            if distinct.len() > MAX_ONE_OF || !value.is_known() {
                self.distinct = None;
            }
        }
        match (value.number(), &mut self.numbers) {
            (Some(number), Some(range)) => {
                range.least = range.least.min(number);
                range.most = range.most.max(number);
                range.whole &= matches!(value, Value::Int(_));
                range.zero |= number == 0.0;
            }
            _ => self.numbers = None,
        }
    }

    /// None if any value is not a number.
    pub(crate) fn numbers(&self) -> Option<Numbers> {
        self.numbers.filter(|_| self.rows > 0)
    }

    pub(crate) fn is_constant(&self) -> bool {
        self.distinct.as_ref().is_some_and(|distinct| distinct.len() == 1)
    }

    /// The invariants; stronger ones replace weaker ones.
    pub(crate) fn invariants(&self) -> Vec<(Invariant, u32)> {
        let (column, rows) = (self.column, self.rows);
        if two_sided(rows) >= ACCIDENT {
            return Vec::new();
        }
        let mut found = Vec::new();
        let of_bool = self.kind.as_deref() == Some("bool") && self.nulls == 0;
        if let Some(distinct) = &self.distinct
            && one_more(distinct.len() as f64, rows) < ACCIDENT
            && !(of_bool && distinct.len() == 2)
        {
            let mut distinct = distinct.clone();
            distinct.sort_by_key(Value::to_string);
            return vec![(Invariant::OneOf(column, distinct), rows)];
        }
        match &self.kind {
            // A size is always an integer, so its type says nothing.
            _ if column.size => {}
            Some(kind) if !self.mixed && self.nulls == 0 => found.push(Invariant::Type(column, kind.clone())),
            Some(_) if self.nulls == 0 => found.push(Invariant::NotNull(column)),
            _ => {}
        }
        if let Some(numbers) = self.numbers() {
            self.of_numbers(numbers, &mut found);
        }
        found.into_iter().map(|invariant| (invariant, rows)).collect()
    }

    fn of_numbers(&self, Numbers { least, most, whole, zero }: Numbers, found: &mut Vec<Invariant>) {
        let (column, rows) = (self.column, self.rows);
        let wide = span(least, most, whole);
        let bounded = whole && one_more(wide, rows) < ACCIDENT;
        match least {
            _ if bounded => found.push(Invariant::AtLeast(column, least as i64)),
            least if least > 0.0 => found.push(Invariant::Sign(column, Relation::Greater)),
            least if least == 0.0 && !column.size => found.push(Invariant::Sign(column, Relation::GreaterOrEqual)),
            _ => {}
        }
        match most {
            _ if bounded => found.push(Invariant::AtMost(column, most as i64)),
            most if most < 0.0 => found.push(Invariant::Sign(column, Relation::Less)),
            0.0 => found.push(Invariant::Sign(column, Relation::LessOrEqual)),
            _ => {}
        }
        if least < 0.0 && most > 0.0 && !zero && misses(wide, rows) < ACCIDENT {
            found.push(Invariant::NonZero(column));
        }
    }
}
