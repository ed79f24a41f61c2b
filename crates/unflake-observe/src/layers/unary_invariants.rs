//! Infers invariants of one variable, row by row.

use crate::layers::accident::{ACCIDENT, misses, one_more, span, two_sided};
use crate::layers::invariant::{Column, Invariant, Relation};
use crate::layers::value::Value;

/// A variable with more different values is not one-of.
const FEW: usize = 3;

/// The state of a column. Its size does not depend on the number of rows.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    column: Column,
    rows: u32,
    /// The different values in order of appearance, while there are few.
    few: Option<Vec<Value>>,
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

impl Seen {
    pub(crate) fn new(column: Column) -> Self {
        let numbers = Numbers { least: f64::INFINITY, most: f64::NEG_INFINITY, whole: true, zero: false };
        let (few, numbers) = (Some(Vec::new()), Some(numbers));
        Self { column, rows: 0, few, nulls: 0, kind: None, mixed: false, numbers }
    }

    pub(crate) fn see(&mut self, value: Option<&Value>) {
        self.rows += 1;
        let Some(value) = value else {
            (self.few, self.numbers, self.mixed) = (None, None, true);
            return;
        };
        match (value.kind(), &self.kind) {
            (None, _) => self.nulls += 1,
            (Some(kind), None) => self.kind = Some(kind.to_owned()),
            (Some(kind), Some(before)) => self.mixed |= kind != before,
        }
        if let Some(few) = &mut self.few
            && !few.contains(value)
        {
            few.push(value.clone());
            if few.len() > FEW || !value.is_known() {
                self.few = None;
            }
        }
        match (value.number(), &mut self.numbers) {
            (Some(number), Some(seen)) => {
                seen.least = seen.least.min(number);
                seen.most = seen.most.max(number);
                seen.whole &= matches!(value, Value::Int(_));
                seen.zero |= number == 0.0;
            }
            _ => self.numbers = None,
        }
    }

    /// None if any value is not a number.
    pub(crate) fn numbers(&self) -> Option<Numbers> {
        self.numbers.filter(|_| self.rows > 0)
    }

    pub(crate) fn is_constant(&self) -> bool {
        self.few.as_ref().is_some_and(|few| few.len() == 1)
    }

    /// The invariants; stronger ones replace weaker ones.
    pub(crate) fn invariants(&self) -> Vec<(Invariant, u32)> {
        let (column, rows) = (self.column, self.rows);
        if two_sided(rows) >= ACCIDENT {
            return Vec::new();
        }
        let mut found = Vec::new();
        let of_bool = self.kind.as_deref() == Some("bool") && self.nulls == 0;
        if let Some(few) = &self.few
            && one_more(few.len() as f64, rows) < ACCIDENT
            && !(of_bool && few.len() == 2)
        {
            let mut few = few.clone();
            few.sort_by_key(Value::to_string);
            return vec![(Invariant::OneOf(column, few), rows)];
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
