//! The assertion filter (Gao 2017): assertions that vary without a change may fail.

pub(crate) mod apply;
pub(crate) mod assertion_matching;
pub(crate) mod findings;
pub(crate) mod flakiness;
#[cfg(test)]
pub(crate) mod gao_example;
pub(crate) mod learn;
pub(crate) mod tune;
