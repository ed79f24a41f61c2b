//! Proof by intervention: forces what a located line does, both ways, and sees how the test ends.

pub(crate) mod chosen_values;
pub(crate) mod delayed_line;
pub(crate) mod forced_delay;
pub(crate) mod forced_value;
pub(crate) mod forced_wait;
