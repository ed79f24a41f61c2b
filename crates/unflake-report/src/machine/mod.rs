//! Formats for other programs: JSON, JUnit XML, GitHub and GitLab.
//!
//! The writers are here and not beside the readers in `unflake-formats`: they need a
//! [`RunReport`](crate::RunReport) with its findings and sentences, and share no code with the
//! readers, which accept every dialect where a writer produces one.

pub(crate) mod ci_formats;
pub(crate) mod json;
pub(crate) mod junit;
pub(crate) mod sarif;
pub(crate) mod xml;
