//! Files that other programs read: JSON, JUnit XML, and what CI platforms show.

pub(crate) mod ci_formats;
pub(crate) mod json;
pub(crate) mod junit;
pub(crate) mod xml;
