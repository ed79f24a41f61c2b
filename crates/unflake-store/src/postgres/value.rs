//! Converts values between SQLite's types and the binary format of PostgreSQL.
//!
//! PostgreSQL's texts cannot contain the character 0, but test output can. It is escaped as the
//! characters 1 and `0`, and 1 itself as 1 and `1`.

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};

use super::wire::WireReader;
use crate::database::{DatabaseError, Result};

const ESCAPE: u8 = 1;

// Object ids of the types in our tables and queries.
const BOOL: u32 = 16;
const BYTEA: u32 = 17;
const INT8: u32 = 20;
const INT4: u32 = 23;
const TEXT: u32 = 25;
const FLOAT8: u32 = 701;

/// The types of a statement's parameters.
pub(super) fn parameters(mut reader: WireReader) -> Vec<u32> {
    (0..reader.short()).map(|_| reader.long()).collect()
}

/// The types of a statement's result columns.
pub(super) fn columns(mut reader: WireReader) -> Vec<u32> {
    let count = reader.short();
    let column = |_| {
        reader.text();
        // The object id of the table and the column number.
        reader.bytes(6);
        let kind = reader.long();
        reader.bytes(8);
        kind
    };
    (0..count).map(column).collect()
}

/// Writes the number of parameters, then each with its length.
pub(super) fn encode(params: &[&dyn ToSql], types: &[u32], out: &mut Vec<u8>) -> Result<()> {
    if params.len() != types.len() {
        return Err(DatabaseError::Unreadable(format!(
            "{} values for a question that has {}",
            params.len(),
            types.len()
        )));
    }
    out.extend((params.len() as u16).to_be_bytes());
    for (param, kind) in params.iter().zip(types) {
        match param.to_sql()? {
            ToSqlOutput::Borrowed(value) => encode_one(value, *kind, out)?,
            ToSqlOutput::Owned(value) => encode_one((&value).into(), *kind, out)?,
            _ => return Err(DatabaseError::Unreadable("a value that only SQLite knows".to_owned())),
        }
    }
    Ok(())
}

fn encode_one(value: ValueRef, kind: u32, out: &mut Vec<u8>) -> Result<()> {
    let at = out.len();
    out.extend([0; 4]);
    match (value, kind) {
        (ValueRef::Null, _) => {
            out[at..].copy_from_slice(&(-1_i32).to_be_bytes());
            return Ok(());
        }
        // SQLite stores NaN as NULL.
        (ValueRef::Real(number), FLOAT8) if number.is_nan() => return encode_one(ValueRef::Null, kind, reset(out, at)),
        (ValueRef::Integer(number), INT8) => out.extend(number.to_be_bytes()),
        (ValueRef::Integer(number), INT4) if i32::try_from(number).is_ok() => out.extend((number as i32).to_be_bytes()),
        (ValueRef::Integer(number), FLOAT8) => out.extend((number as f64).to_be_bytes()),
        (ValueRef::Real(number), FLOAT8) => out.extend(number.to_be_bytes()),
        (ValueRef::Text(text), TEXT) => escape(text, out),
        (ValueRef::Blob(bytes), BYTEA) => out.extend(bytes),
        (value, _) => {
            return Err(DatabaseError::Unreadable(format!(
                "a value of type {} for one of type {kind}",
                value.data_type()
            )));
        }
    }
    let length =
        u32::try_from(out.len() - at - 4).map_err(|_| DatabaseError::Unreadable("a text of gigabytes".to_owned()))?;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

fn reset(out: &mut Vec<u8>, length: usize) -> &mut Vec<u8> {
    out.truncate(length);
    out
}

fn escape(text: &[u8], out: &mut Vec<u8>) {
    for part in text.split_inclusive(|byte| *byte <= ESCAPE) {
        match part.split_last() {
            Some((last @ &(0 | ESCAPE), before)) => {
                out.extend(before);
                out.extend([ESCAPE, b'0' + last]);
            }
            _ => out.extend(part),
        }
    }
}

/// Unescapes in place: the text only gets shorter. Returns its new length.
fn unescape(text: &mut [u8]) -> usize {
    let Some(mut to) = text.iter().position(|byte| *byte == ESCAPE) else { return text.len() };
    let mut from = to;
    while from < text.len() {
        let marked = text[from] == ESCAPE && from + 1 < text.len();
        text[to] = if marked { text[from + 1].wrapping_sub(b'0') } else { text[from] };
        from += 1 + usize::from(marked);
        to += 1;
    }
    to
}

/// One row of a result, stored in the buffer of its message.
pub(crate) struct PgRow<'a> {
    body: &'a [u8],
    /// The start and length of each value; None is NULL.
    cells: Vec<Option<(usize, usize)>>,
    types: &'a [u32],
}

impl<'a> PgRow<'a> {
    pub(super) fn new(body: &'a mut Vec<u8>, types: &'a [u32]) -> Self {
        let mut cells = Vec::with_capacity(types.len());
        let mut at = 2;
        for kind in types {
            let mut reader = WireReader(body.get(at..).unwrap_or_default());
            let length = reader.long().cast_signed();
            at += 4;
            let Ok(length) = usize::try_from(length) else {
                cells.push(None);
                continue;
            };
            let end = (at + length).min(body.len());
            let unescaped = if *kind == TEXT { unescape(&mut body[at.min(end)..end]) } else { length };
            cells.push(Some((at, unescaped)));
            at += length;
        }
        Self { body, cells, types }
    }

    pub(crate) fn value(&self, at: usize) -> Result<ValueRef<'_>> {
        let malformed = || DatabaseError::Unreadable(format!("column {at} of a row is not what it should be"));
        let (Some(cell), Some(kind)) = (self.cells.get(at), self.types.get(at)) else { return Err(malformed()) };
        let Some((from, length)) = cell else { return Ok(ValueRef::Null) };
        let bytes = self.body.get(*from..from + length).ok_or_else(malformed)?;
        Ok(match *kind {
            BOOL => ValueRef::Integer(i64::from(bytes == [1])),
            INT4 => ValueRef::Integer(i32::from_be_bytes(bytes.try_into().map_err(|_| malformed())?).into()),
            INT8 => ValueRef::Integer(i64::from_be_bytes(bytes.try_into().map_err(|_| malformed())?)),
            FLOAT8 => ValueRef::Real(f64::from_be_bytes(bytes.try_into().map_err(|_| malformed())?)),
            TEXT => ValueRef::Text(bytes),
            BYTEA => ValueRef::Blob(bytes),
            _ => return Err(malformed()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaping_round_trips() {
        for text in ["", "plain", "\0", "\u{1}", "a\0b\u{1}\u{1}0\0", "\u{1}0", "\0\0é\u{1}"] {
            let mut escaped = Vec::new();
            escape(text.as_bytes(), &mut escaped);
            assert!(!escaped.contains(&0));
            let length = unescape(&mut escaped);
            assert_eq!(&escaped[..length], text.as_bytes());
        }
    }

    #[test]
    fn values_round_trip() {
        let types = [INT8, TEXT, BYTEA, FLOAT8, FLOAT8, TEXT, BOOL];
        let params: [&dyn ToSql; 6] = [&-7, &"a\0b", &vec![0_u8, 1, 255], &0.25, &f64::NAN, &None::<String>];
        let mut body = Vec::new();
        encode(&params, &types[..6], &mut body).unwrap();
        body.extend([0, 0, 0, 1, 1]);
        let row = PgRow::new(&mut body, &types);
        let values: Vec<_> = (0..7).map(|at| row.value(at).unwrap()).collect();
        let expected = [
            ValueRef::Integer(-7),
            ValueRef::Text(b"a\0b"),
            ValueRef::Blob(&[0, 1, 255]),
            ValueRef::Real(0.25),
            ValueRef::Null,
            ValueRef::Null,
            ValueRef::Integer(1),
        ];
        assert_eq!(values, expected);
        assert!(row.value(7).is_err());
        assert!(encode(&params, &[INT8], &mut Vec::new()).is_err());
    }

    #[test]
    fn truncated_rows_are_errors() {
        let mut body = vec![0, 1, 0, 0, 0, 8, 1, 2];
        let row = PgRow::new(&mut body, &[INT8, TEXT]);
        assert!(row.value(0).is_err());
    }
}
