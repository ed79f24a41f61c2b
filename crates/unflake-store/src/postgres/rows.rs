//! Runs one statement for many rows at once: each of its parameters becomes an array.

use std::error::Error;

use bytes::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::dialect;
use super::value::PgValue;

/// The values of one parameter, row by row.
#[derive(Debug)]
pub(super) enum PgColumn {
    /// NULL in every row.
    Null,
    Integers(Vec<Option<i64>>),
    Reals(Vec<Option<f64>>),
    Texts(Vec<Option<String>>),
    Bytes(Vec<Option<Vec<u8>>>),
}

/// A statement, and its array parameters with their types.
pub(super) struct ArrayStatement {
    pub(super) sql: String,
    pub(super) params: Vec<(PgColumn, Type)>,
}

/// A query that runs for every row. Its first column is the number of the row, from 1.
pub(super) fn query(sql: &str, rows: Vec<Vec<PgValue>>) -> ArrayStatement {
    let source = RowSource::new(rows);
    let sql = dialect::fill(sql, &|parameter| source.terms[parameter - 1].clone());
    ArrayStatement {
        sql: format!("SELECT v.n, q.* FROM {} CROSS JOIN LATERAL ({sql}) AS q ORDER BY v.n", source.sql),
        params: source.params,
    }
}

/// One statement that inserts all rows, in order. None if a statement has another form than
/// `INSERT INTO … VALUES (?, ?)`, or could change a row twice.
pub(super) fn insert(sql: &str, rows: Vec<Vec<PgValue>>) -> Result<ArrayStatement, Vec<Vec<PgValue>>> {
    let Some((head, tail)) = insert_parts(sql) else { return Err(rows) };
    let source = RowSource::new(rows);
    let terms = source.terms.join(", ");
    Ok(ArrayStatement {
        sql: format!("{head} SELECT {terms} FROM {} ORDER BY v.n {tail}", source.sql),
        params: source.params,
    })
}

/// What is before the values of an insertion, and after them.
fn insert_parts(sql: &str) -> Option<(&str, &str)> {
    let (head, rest) = sql.split_once("VALUES (")?;
    let (values, tail) = rest.split_once(')')?;
    let is_plain = head.trim_start().starts_with("INSERT INTO") && values.split(',').all(|value| value.trim() == "?");
    (is_plain && !tail.contains("DO UPDATE")).then_some((head, tail))
}

/// The rows as a table `v` with a column for each parameter, and `n`, the number of the row.
struct RowSource {
    sql: String,
    /// What stands for each parameter.
    terms: Vec<String>,
    params: Vec<(PgColumn, Type)>,
}

impl RowSource {
    fn new(rows: Vec<Vec<PgValue>>) -> Self {
        let count = rows.len();
        let (mut arrays, mut names, mut terms, mut params) = (Vec::new(), String::new(), Vec::new(), Vec::new());
        for (at, column) in columns(rows).into_iter().enumerate() {
            let Some((kind, array)) = column.kind() else {
                terms.push("NULL".to_owned());
                continue;
            };
            params.push((column, kind));
            arrays.push(format!("${}::{array}", params.len()));
            names += &format!("p{}, ", at + 1);
            terms.push(format!("v.p{}", at + 1));
        }
        let sql = match arrays.is_empty() {
            true => format!("generate_series(1, {count}::bigint) AS v(n)"),
            false => format!("unnest({}) WITH ORDINALITY AS v({names}n)", arrays.join(", ")),
        };
        Self { sql, terms, params }
    }
}

fn columns(rows: Vec<Vec<PgValue>>) -> Vec<PgColumn> {
    let width = rows.first().map_or(0, Vec::len);
    let mut columns: Vec<PgColumn> =
        (0..width).map(|at| PgColumn::for_values(rows.iter().map(|row| &row[at]))).collect();
    for row in rows {
        for (column, value) in columns.iter_mut().zip(row) {
            column.push(value);
        }
    }
    columns
}

impl PgColumn {
    /// An empty column that can hold these values.
    fn for_values<'a>(values: impl Iterator<Item = &'a PgValue>) -> Self {
        let mut column = Self::Null;
        for value in values {
            column = match value {
                PgValue::Null => continue,
                PgValue::Integer(_) if matches!(column, Self::Reals(_)) => column,
                PgValue::Integer(_) => Self::Integers(Vec::new()),
                PgValue::Real(_) => Self::Reals(Vec::new()),
                PgValue::Text(_) => Self::Texts(Vec::new()),
                PgValue::Bytes(_) => Self::Bytes(Vec::new()),
            };
        }
        column
    }

    fn push(&mut self, value: PgValue) {
        match (self, value) {
            (Self::Null, _) => {}
            (Self::Integers(all), PgValue::Integer(number)) => all.push(Some(number)),
            (Self::Reals(all), PgValue::Real(number)) => all.push(Some(number)),
            (Self::Reals(all), PgValue::Integer(number)) => all.push(Some(number as f64)),
            (Self::Texts(all), PgValue::Text(text)) => all.push(Some(text)),
            (Self::Bytes(all), PgValue::Bytes(bytes)) => all.push(Some(bytes)),
            (Self::Integers(all), _) => all.push(None),
            (Self::Reals(all), _) => all.push(None),
            (Self::Texts(all), _) => all.push(None),
            (Self::Bytes(all), _) => all.push(None),
        }
    }

    /// The type of the array, and its name in SQL.
    fn kind(&self) -> Option<(Type, &'static str)> {
        Some(match self {
            Self::Null => return None,
            Self::Integers(_) => (Type::INT8_ARRAY, "bigint[]"),
            Self::Reals(_) => (Type::FLOAT8_ARRAY, "double precision[]"),
            Self::Texts(_) => (Type::TEXT_ARRAY, "text[]"),
            Self::Bytes(_) => (Type::BYTEA_ARRAY, "bytea[]"),
        })
    }
}

impl ToSql for PgColumn {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Integers(all) => all.to_sql(kind, out),
            Self::Reals(all) => all.to_sql(kind, out),
            Self::Texts(all) => all.to_sql(kind, out),
            Self::Bytes(all) => all.to_sql(kind, out),
        }
    }

    /// The type is always the one that was declared.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(number: i64, text: Option<&str>) -> Vec<PgValue> {
        vec![PgValue::Integer(number), text.map_or(PgValue::Null, |text| PgValue::Text(text.to_owned()))]
    }

    #[test]
    fn parameters_become_columns_of_arrays() {
        let statement = query("SELECT a FROM b WHERE c = ?2 AND d = ?1", vec![row(1, Some("x")), row(2, None)]);
        assert_eq!(
            statement.sql,
            "SELECT v.n, q.* FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS v(p1, p2, n) \
             CROSS JOIN LATERAL (SELECT a FROM b WHERE c = v.p2 AND d = v.p1) AS q ORDER BY v.n"
        );
    }

    #[test]
    fn columns_without_values_are_null() {
        let statement = insert("INSERT INTO b (c, d) VALUES (?, ?)", vec![row(1, None), row(2, None)]).ok().unwrap();
        assert_eq!(
            statement.sql.trim_end(),
            "INSERT INTO b (c, d)  SELECT v.p1, NULL FROM unnest($1::bigint[]) WITH ORDINALITY AS v(p1, n) ORDER BY v.n"
        );
        assert_eq!(statement.params.len(), 1);
        let statement = query("SELECT ?", vec![vec![PgValue::Null]]);
        assert!(statement.sql.contains("generate_series(1, 1::bigint) AS v(n)"), "{}", statement.sql);
    }

    #[test]
    fn only_plain_insertions_take_many_rows() {
        assert!(insert_parts("INSERT INTO b (c) VALUES (?) ON CONFLICT (c) DO NOTHING").is_some());
        assert!(insert_parts("INSERT INTO b (c) VALUES (?) ON CONFLICT (c) DO UPDATE SET c = excluded.c").is_none());
        assert!(insert_parts("INSERT INTO b (c) VALUES (?1)").is_none());
        assert!(insert_parts("UPDATE b SET c = ?").is_none());
    }
}
