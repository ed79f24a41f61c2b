//! Infers invariants at one program point from rows of values. Time is linear in the rows, and
//! memory is independent of them.

use crate::layers::binary_invariants::ColumnPair;
use crate::layers::invariant::{Column, Invariant};
use crate::layers::unary_invariants::ColumnState;
use crate::layers::value::Value;

/// The maximum numbers of variables and of pairs at one program point; the first ones count.
const MAX_VARIABLES: usize = 100;
const MAX_PAIRS: usize = 500;

#[derive(Clone, Debug)]
pub struct ProgramPoint {
    rows: u32,
    /// Each variable, followed by its size.
    columns: Vec<ColumnState>,
    pairs: Vec<ColumnPair>,
    /// Whether variables or pairs were omitted.
    pub(crate) is_truncated: bool,
}

impl ProgramPoint {
    pub fn new(variables: usize) -> Self {
        let used = variables.min(MAX_VARIABLES);
        let column = |at: usize| Column { variable: at / 2, size: at % 2 == 1 };
        Self {
            rows: 0,
            columns: (0..2 * used).map(|at| ColumnState::new(column(at))).collect(),
            pairs: Vec::new(),
            is_truncated: variables > MAX_VARIABLES,
        }
    }

    /// Adds a row with one value for each variable.
    pub fn add_row(&mut self, row: &[Value]) {
        if self.rows == 0 {
            self.choose_pairs(row);
        }
        self.rows += 1;
        for (state, at) in self.columns.iter_mut().zip(0..) {
            let value = &row[at / 2];
            match at % 2 {
                0 => state.add_row(Some(value)),
                _ => state.add_row(value.size().map(Value::Int).as_ref()),
            }
        }
        let value = |column: Column| column.of(row).unwrap_or(Value::Null);
        self.pairs.retain_mut(|pair| pair.add_row(&value(pair.one), &value(pair.other)));
    }

    /// Chooses pairs by the types in the first row; a pair whose types change later is dropped.
    fn choose_pairs(&mut self, row: &[Value]) {
        let type_class = |column: Column| {
            column.of(row).and_then(|value| {
                Some(if value.number().is_some() { 1 } else { matches!(value, Value::Text(_)).then_some(2)? })
            })
        };
        let columns = (0..self.columns.len()).map(|at| Column { variable: at / 2, size: at % 2 == 1 });
        let columns: Vec<(Column, i32)> = columns.filter_map(|column| Some((column, type_class(column)?))).collect();
        for (at, (one, of)) in columns.iter().enumerate() {
            for (other, _) in columns[at + 1..].iter().filter(|other| other.1 == *of) {
                if self.pairs.len() == MAX_PAIRS {
                    self.is_truncated = true;
                    return;
                }
                self.pairs.push(ColumnPair::new(*one, *other));
            }
        }
    }

    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// The invariants that are unlikely to hold by accident, each with the number of supporting
    /// rows. Redundant ones are omitted.
    pub fn invariants(&self) -> Vec<(Invariant, u32)> {
        let at = |column: Column| &self.columns[2 * column.variable + usize::from(column.size)];
        let alone = self.columns.iter().flat_map(ColumnState::invariants);
        let of_two = self.pairs.iter().flat_map(|pair| pair.invariants(at(pair.one), at(pair.other)));
        let mut found: Vec<_> = alone.chain(of_two).collect();
        remove_copies(&mut found);
        found
    }
}

/// Of several equal variables only the first is compared with others.
fn remove_copies(found: &mut Vec<(Invariant, u32)>) {
    use crate::layers::invariant::Relation;
    let copies: Vec<Column> = found
        .iter()
        .filter_map(|(one, _)| match one {
            Invariant::Compare(_, Relation::Equal, copy) => Some(*copy),
            _ => None,
        })
        .collect();
    // Each copy is equal to the first variable, so equality between copies is redundant.
    found.retain(|(one, _)| match one {
        Invariant::Compare(first, _, second) | Invariant::Linear(second, _, first, _) => {
            !copies.contains(first)
                && (!copies.contains(second) || matches!(one, Invariant::Compare(_, Relation::Equal, _)))
        }
        _ => true,
    });
}

#[cfg(test)]
mod tests;
