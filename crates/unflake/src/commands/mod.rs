//! The commands, one file or folder each.

pub(crate) mod affected;
pub(crate) mod comment;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod factors;
pub(crate) mod feedback;
pub(crate) mod filter;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod issue;
pub(crate) mod locate;
pub(crate) mod measure;
pub(crate) mod order_and_nio;
pub(crate) mod prepare;
pub(crate) mod quarantine;
pub(crate) mod run;
pub(crate) mod score;
pub(crate) mod serve;
pub(crate) mod store_copy;
pub(crate) mod trace;
pub(crate) mod under;
