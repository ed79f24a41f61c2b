//! A simulated suite that answers sessions, for tests of techniques.

pub(crate) mod simulated_suite;
