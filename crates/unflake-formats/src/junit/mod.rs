//! Reads JUnit XML, a format without a standard, in all its dialects.

pub(crate) mod attempts;
pub(crate) mod bounded_xml;
pub(crate) mod parts;
pub(crate) mod reader;
