//! Converts values between SQLite's types and those of PostgreSQL.
//!
//! PostgreSQL's texts cannot contain the character 0, but test output can. It is escaped as the
//! characters 1 and `0`, and 1 itself as 1 and `1`.

use std::error::Error;

use bytes::BytesMut;
use rusqlite::types::{ToSqlOutput, ValueRef};
use tokio_postgres::Row;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use crate::database::{DatabaseError, Result};

const ESCAPE: char = '\u{1}';

/// A parameter, converted from SQLite's types.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PgValue {
    Null,
    Integer(i64),
    Real(f64),
    /// Escaped.
    Text(String),
    Bytes(Vec<u8>),
}

impl PgValue {
    pub(super) fn new(value: &dyn rusqlite::ToSql) -> Result<Self> {
        match value.to_sql()? {
            ToSqlOutput::Borrowed(value) => Self::of(value),
            ToSqlOutput::Owned(value) => Self::of((&value).into()),
            _ => Err(DatabaseError::Unreadable("a value that only SQLite knows".to_owned())),
        }
    }

    fn of(value: ValueRef) -> Result<Self> {
        Ok(match value {
            // SQLite stores NaN as NULL.
            ValueRef::Real(number) if number.is_nan() => Self::Null,
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Integer(number),
            ValueRef::Real(number) => Self::Real(number),
            ValueRef::Text(text) => {
                let text = std::str::from_utf8(text).map_err(|error| DatabaseError::Unreadable(error.to_string()))?;
                Self::Text(escape(text))
            }
            ValueRef::Blob(bytes) => Self::Bytes(bytes.to_vec()),
        })
    }

    /// The type that the server is told. Of NULL, the server infers it.
    pub(super) fn kind(&self) -> Type {
        match self {
            Self::Null => Type::UNKNOWN,
            Self::Integer(_) => Type::INT8,
            Self::Real(_) => Type::FLOAT8,
            Self::Text(_) => Type::TEXT,
            Self::Bytes(_) => Type::BYTEA,
        }
    }

    pub(super) fn typed(self) -> (Self, Type) {
        let kind = self.kind();
        (self, kind)
    }

    /// Roughly the bytes that it takes on the wire.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::Null | Self::Integer(_) | Self::Real(_) => 8,
        }
    }
}

impl ToSql for PgValue {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Integer(number) if *kind == Type::FLOAT8 => (*number as f64).to_sql(kind, out),
            Self::Integer(number) => number.to_sql(kind, out),
            Self::Real(number) => number.to_sql(kind, out),
            Self::Text(text) => text.to_sql(kind, out),
            Self::Bytes(bytes) => bytes.to_sql(kind, out),
        }
    }

    /// The type is always the one that was declared.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for part in text.split_inclusive(['\0', ESCAPE]) {
        let before = part.trim_end_matches(['\0', ESCAPE]);
        out.push_str(before);
        match part[before.len()..].chars().next() {
            Some('\0') => out.push_str("\u{1}0"),
            Some(_) => out.push_str("\u{1}1"),
            None => {}
        }
    }
    out
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            ESCAPE => out.extend(characters.next().map(|marked| if marked == '0' { '\0' } else { ESCAPE })),
            c => out.push(c),
        }
    }
    out
}

/// One row of a result.
pub(crate) struct PgRow {
    row: Row,
    /// The texts that contain escaped characters, by column; few.
    unescaped: Vec<(usize, String)>,
    /// Columns before the first one that callers see.
    skipped: usize,
}

impl PgRow {
    pub(super) fn new(row: Row, skipped: usize) -> Self {
        let escaped = |at: usize| {
            let text = row.try_get::<_, Option<&str>>(at).ok()??;
            text.contains(ESCAPE).then(|| (at, unescape(text)))
        };
        let unescaped = (skipped..row.len()).filter_map(escaped).collect();
        Self { row, unescaped, skipped }
    }

    /// The number in a skipped column.
    pub(super) fn skipped_number(&self, at: usize) -> Result<i64> {
        self.read(at)
    }

    pub(crate) fn value(&self, at: usize) -> Result<ValueRef<'_>> {
        let at = at + self.skipped;
        let malformed = || DatabaseError::Unreadable(format!("column {at} of a row is not what it should be"));
        let column = self.row.columns().get(at).ok_or_else(malformed)?;
        if let Some((_, text)) = self.unescaped.iter().find(|(column, _)| *column == at) {
            return Ok(ValueRef::Text(text.as_bytes()));
        }
        let value = match *column.type_() {
            Type::BOOL => self.read::<Option<bool>>(at)?.map(|is| ValueRef::Integer(is.into())),
            Type::INT4 => self.read::<Option<i32>>(at)?.map(|number| ValueRef::Integer(number.into())),
            Type::INT8 => self.read::<Option<i64>>(at)?.map(ValueRef::Integer),
            Type::FLOAT8 => self.read::<Option<f64>>(at)?.map(ValueRef::Real),
            Type::TEXT => self.read::<Option<&str>>(at)?.map(|text| ValueRef::Text(text.as_bytes())),
            Type::BYTEA => self.read::<Option<&[u8]>>(at)?.map(ValueRef::Blob),
            _ => return Err(malformed()),
        };
        Ok(value.unwrap_or(ValueRef::Null))
    }

    fn read<'a, T: tokio_postgres::types::FromSql<'a>>(&'a self, at: usize) -> Result<T> {
        self.row.try_get(at).map_err(|error| DatabaseError::Unreadable(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaping_round_trips() {
        for text in ["", "plain", "\0", "\u{1}", "a\0b\u{1}\u{1}0\0", "\u{1}0", "\0\0é\u{1}"] {
            let escaped = escape(text);
            assert!(!escaped.contains('\0'));
            assert_eq!(unescape(&escaped), text);
        }
    }

    #[test]
    fn values_have_the_types_of_the_tables() {
        let kinds = |value: &dyn rusqlite::ToSql| PgValue::new(value).map(|value| value.kind()).unwrap();
        assert_eq!(kinds(&7), Type::INT8);
        assert_eq!(kinds(&true), Type::INT8);
        assert_eq!(kinds(&"a"), Type::TEXT);
        assert_eq!(kinds(&vec![0_u8]), Type::BYTEA);
        assert_eq!(kinds(&0.5), Type::FLOAT8);
        assert_eq!(kinds(&f64::NAN), Type::UNKNOWN);
        assert_eq!(kinds(&None::<String>), Type::UNKNOWN);
    }
}
