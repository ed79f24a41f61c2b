//! Source files read with tree-sitter: outlines, the code of functions, the sites of assertions.
//!
//! One module per language. Each answers None where it is not certain how the language itself reads
//! a source: a syntax error, another encoding, layout that has two readings. Callers treat None as
//! unknown: the whole file changed, no assertion is claimed. Deliberately absent: files, git, test
//! runners, what an answer is used for.

pub mod java;
pub mod python;
mod syntax;
