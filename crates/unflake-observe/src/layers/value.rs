//! Values of the program under test, as agents report them.

use std::fmt;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Arc<str>),
    /// Anything else: the name of its type and its number of elements. `text` is set for numbers
    /// that JSON cannot represent.
    Other {
        kind: Arc<str>,
        size: Option<i64>,
        text: Option<Arc<str>>,
    },
}

impl Value {
    /// None if the JSON violates the contract of agents.
    pub(crate) fn of(json: serde_json::Value) -> Option<Self> {
        use serde_json::Value as Json;
        Some(match json {
            Json::Null => Self::Null,
            Json::Bool(truth) => Self::Bool(truth),
            Json::Number(number) => match number.as_i64() {
                Some(whole) => Self::Int(whole),
                None => Self::Float(number.as_f64()?),
            },
            Json::String(text) => Self::Text(text.into()),
            Json::Array(_) => return None,
            Json::Object(fields) => {
                let text = |name| fields.get(name).and_then(Json::as_str).map(Arc::from);
                Self::Other { kind: text("type")?, size: fields.get("size").and_then(Json::as_i64), text: text("text") }
            }
        })
    }

    pub fn is_null(&self) -> bool {
        *self == Self::Null
    }

    /// None for null.
    pub(crate) fn kind(&self) -> Option<&str> {
        Some(match self {
            Self::Null => return None,
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Text(_) => "str",
            Self::Other { kind, .. } => kind,
        })
    }

    /// Booleans do not count as numbers, although some languages compute with them, nor do integers
    /// that would be rounded.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Self::Int(whole) => Some(*whole as f64).filter(|_| whole.unsigned_abs() <= 1 << 53),
            Self::Float(number) => Some(*number),
            _ => None,
        }
    }

    pub(crate) fn size(&self) -> Option<i64> {
        match self {
            Self::Other { size, .. } => *size,
            _ => None,
        }
    }

    /// Whether equality of two such values implies that the originals are equal. For two objects of
    /// a type it does not.
    pub(crate) fn is_known(&self) -> bool {
        !matches!(self, Self::Other { text: None, .. })
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(truth) => truth.fmt(f),
            Self::Int(whole) => whole.fmt(f),
            Self::Float(number) => write!(f, "{number:?}"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Other { text: Some(text), .. } => f.write_str(text),
            Self::Other { kind, size: Some(size), .. } => write!(f, "a {kind} of {size}"),
            Self::Other { kind, .. } => write!(f, "a {kind}"),
        }
    }
}
