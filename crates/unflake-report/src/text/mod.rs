//! Text handling: sanitizing, Markdown, shell quoting, comments and issues.

pub(crate) mod comment;
pub(crate) mod confidence;
pub(crate) mod configuration_table;
pub(crate) mod format;
pub(crate) mod issue;
pub(crate) mod markdown;
pub(crate) mod sanitize;
pub(crate) mod searched;
pub(crate) mod shell;
