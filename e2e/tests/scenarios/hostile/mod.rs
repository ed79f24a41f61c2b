//! Hostile tests and hostile files.

mod files;
mod tests;
