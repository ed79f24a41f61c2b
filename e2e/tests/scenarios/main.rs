//! Scenarios through the real binary: what people do with unflake, what can go wrong, and what they
//! see.
//!
//! One test binary for all of them, so that it is linked once and its tests run side by side.

mod agent;
mod assertion_filter;
mod bad_input;
mod change_impact;
mod clusters;
mod completion;
mod diagnostics;
mod dissertation_tables;
mod entry;
mod factors;
mod first_pass;
mod history;
mod hostile;
mod interruption;
mod invariants;
mod jvm;
mod kills;
mod locate;
mod measure;
mod native;
mod other_runners;
mod prepared_reports;
mod private_worlds;
mod pytest;
mod quarantine;
mod replay;
mod schedule;
mod seeds;
mod stress;
mod supervisor;
mod terminal;
mod trace;
mod under;
mod verdicts;
mod web;
mod why;
