//! Feedback of a person on a finding.

use serde::{Deserialize, Serialize};

use crate::{Fingerprint, Timestamp};

/// Whether a person found a finding useful. The latest feedback counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feedback {
    /// The finding, by its [`id`](crate::Finding::id).
    pub finding: Fingerprint,
    pub useful: bool,
    pub at: Timestamp,
    pub why: Option<String>,
}
