//! Invariants: properties of the values at a program point.

use std::fmt;

use crate::layers::value::Value;

/// What an invariant is about: a variable, or the number of elements in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Column {
    pub variable: usize,
    pub size: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Invariant {
    /// At most three different values.
    OneOf(Column, Vec<Value>),
    NotNull(Column),
    Type(Column, String),
    AtLeast(Column, i64),
    AtMost(Column, i64),
    /// How a number compares with 0.
    Sign(Column, Relation),
    NonZero(Column),
    Compare(Column, Relation, Column),
    /// The first is `a` times the second plus `b`.
    Linear(Column, f64, Column, f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Less,
    LessOrEqual,
    Equal,
    GreaterOrEqual,
    Greater,
}

impl Relation {
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Equal => "==",
            Self::GreaterOrEqual => ">=",
            Self::Greater => ">",
        }
    }

    pub(crate) fn holds(self, one: f64, other: f64) -> bool {
        match self {
            Self::Less => one < other,
            Self::LessOrEqual => one <= other,
            Self::Equal => one == other,
            Self::GreaterOrEqual => one >= other,
            Self::Greater => one > other,
        }
    }
}

impl Column {
    /// None: the value has no size.
    pub(crate) fn of(self, row: &[Value]) -> Option<Value> {
        let value = &row[self.variable];
        if self.size { value.size().map(Value::Int) } else { Some(value.clone()) }
    }

    fn number(self, row: &[Value]) -> Option<f64> {
        self.of(row)?.number()
    }
}

/// Whether a point is on a line, within floating-point precision.
pub(crate) fn on_line(y: f64, a: f64, x: f64, b: f64) -> bool {
    let found = a * x + b;
    (y - found).abs() <= 1e-9 * y.abs().max(found.abs()).max(b.abs()).max(1.0)
}

impl Invariant {
    /// Whether it holds for these values of the variables.
    pub fn holds(&self, row: &[Value]) -> bool {
        let number = |column: &Column| column.number(row);
        match self {
            Self::OneOf(column, values) => column.of(row).is_some_and(|value| values.contains(&value)),
            Self::NotNull(column) => column.of(row).is_some_and(|value| !value.is_null()),
            Self::Type(column, kind) => column.of(row).is_some_and(|value| value.kind() == Some(kind)),
            Self::AtLeast(column, least) => number(column).is_some_and(|value| value >= *least as f64),
            Self::AtMost(column, most) => number(column).is_some_and(|value| value <= *most as f64),
            Self::Sign(column, relation) => number(column).is_some_and(|value| relation.holds(value, 0.0)),
            Self::NonZero(column) => number(column).is_some_and(|value| value != 0.0),
            Self::Compare(one, Relation::Equal, other) => {
                one.of(row).is_some_and(|value| other.of(row).as_ref() == Some(&value))
                    || number(one).is_some_and(|value| number(other) == Some(value))
            }
            Self::Compare(one, relation, other) => {
                number(one).zip(number(other)).is_some_and(|(one, other)| relation.holds(one, other))
            }
            Self::Linear(y, a, x, b) => number(y).zip(number(x)).is_some_and(|(y, x)| on_line(y, *a, x, *b)),
        }
    }

    /// Formats it with the names of the variables.
    pub fn text(&self, variables: &[String]) -> String {
        let name = |column: &Column| {
            let name = &variables[column.variable];
            if column.size { format!("size of {name}") } else { name.clone() }
        };
        match self {
            Self::OneOf(column, values) => match &values[..] {
                [Value::Null] => format!("{} is null", name(column)),
                [only] => format!("{} == {only}", name(column)),
                values => {
                    let values: Vec<String> = values.iter().map(Value::to_string).collect();
                    format!("{} is one of {}", name(column), values.join(", "))
                }
            },
            Self::NotNull(column) => format!("{} is not null", name(column)),
            Self::Type(column, kind) => format!("{} is of type {kind}", name(column)),
            Self::AtLeast(column, least) => format!("{} >= {least}", name(column)),
            Self::AtMost(column, most) => format!("{} <= {most}", name(column)),
            Self::Sign(column, relation) => format!("{} {} 0", name(column), relation.sign()),
            Self::NonZero(column) => format!("{} != 0", name(column)),
            Self::Compare(one, relation, other) => format!("{} {} {}", name(one), relation.sign(), name(other)),
            Self::Linear(y, a, x, b) => {
                let times = if *a == 1.0 { String::new() } else { format!("{} * ", ShortNumber(*a)) };
                let and = match *b {
                    0.0 => String::new(),
                    b if b < 0.0 => format!(" - {}", ShortNumber(-b)),
                    b => format!(" + {}", ShortNumber(b)),
                };
                format!("{} == {times}{}{and}", name(y), name(x))
            }
        }
    }
}

/// Formats a number without rounding noise in its last digits.
struct ShortNumber(f64);

impl fmt::Display for ShortNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounded: f64 = format!("{:.9e}", self.0).parse().unwrap_or(self.0);
        rounded.fmt(f)
    }
}
