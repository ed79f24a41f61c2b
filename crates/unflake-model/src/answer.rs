use serde::{Deserialize, Serialize};

use crate::{Fingerprint, Timestamp};

/// What a person said of a finding. The last one holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feedback {
    /// The finding, by its [`id`](crate::Finding::id).
    pub finding: Fingerprint,
    pub useful: bool,
    pub at: Timestamp,
    pub why: Option<String>,
}
