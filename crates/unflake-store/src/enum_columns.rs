//! Stores model types in columns, spelt with their serde names: a new purpose or outcome needs no
//! new schema.

use rusqlite::Result;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A value as JSON.
pub(crate) struct Json<T>(pub T);

/// An enum as the bare name of its variant, or as JSON if the variant has fields.
pub(crate) struct EnumName<T>(pub T);

impl<T: Serialize> ToSql for Json<T> {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        Ok(to_json(&self.0)?.into())
    }
}

impl<T: Serialize> ToSql for EnumName<T> {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        let json = to_json(&self.0)?;
        let bare = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).map(str::to_owned);
        Ok(bare.unwrap_or(json).into())
    }
}

impl<T: DeserializeOwned> FromSql for Json<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        from_json(value.as_str()?).map(Self)
    }
}

impl<T: DeserializeOwned> FromSql for EnumName<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let text = value.as_str()?;
        if text.starts_with('{') { from_json(text) } else { from_json(&format!("\"{text}\"")) }.map(Self)
    }
}

pub(crate) fn to_json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

fn from_json<T: DeserializeOwned>(text: &str) -> FromSqlResult<T> {
    serde_json::from_str(text).map_err(|error| FromSqlError::Other(error.into()))
}
