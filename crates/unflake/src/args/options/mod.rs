//! Options that several commands share.

pub(crate) mod groups;
pub(crate) mod parse;
pub(crate) mod setting_options;
pub(crate) mod test_names;
