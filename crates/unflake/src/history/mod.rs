//! The project's history: recording a run, and reading scores, findings and renames from past ones.

pub(crate) mod recorder;
pub(crate) mod renames;
pub(crate) mod scores;
pub(crate) mod shards;
pub(crate) mod test_knowledge;
pub(crate) mod test_table;
