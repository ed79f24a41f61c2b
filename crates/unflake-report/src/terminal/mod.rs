//! Text for terminals and logs.

pub(crate) mod excerpt;
pub(crate) mod factors;
pub(crate) mod failure;
pub(crate) mod filter;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod locate;
pub(crate) mod measure;
pub(crate) mod order_and_nio;
pub(crate) mod paragraphs;
pub(crate) mod prepare;
pub(crate) mod progress;
pub(crate) mod quarantine;
pub(crate) mod replay;
pub(crate) mod score;
pub(crate) mod status_line;
pub(crate) mod summary;
pub(crate) mod trace;
pub(crate) mod why;
pub(crate) mod writer;
