//! HTML pages, each complete without external resources.

pub(crate) mod factors;
pub(crate) mod filter;
pub(crate) mod locate;
pub(crate) mod markup;
pub(crate) mod measure;
pub mod pages;
