//! Who may use the history from other machines, and what they changed.

mod audit;
mod tokens;

pub use audit::AuditEntry;
pub use tokens::{NewToken, Role, StoredToken};
