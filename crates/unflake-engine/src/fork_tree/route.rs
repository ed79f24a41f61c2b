//! The progress of a session on the path to the state in which its tests run.

use unflake_model::WriteSite;

use crate::fork_tree::path::StatePath;

pub(crate) struct Route {
    pub(crate) path: StatePath,
    /// Number of steps that are completed or ordered.
    pub(crate) ordered: usize,
    /// The step at which it stops next: a state that other sessions need too, or the end.
    pub(crate) stop: usize,
    /// No other session needs the environment: this one may change its state.
    pub(crate) is_exclusive: bool,
    /// The leaked state has been reported.
    pub(crate) is_leak_reported: bool,
    /// The cells to restore have been restored.
    pub(crate) is_restored: bool,
    /// The end is reached and the rest of the session has been ordered.
    pub(crate) has_arrived: bool,
    /// The last line that wrote each watched cell.
    pub(crate) writes: Vec<(String, WriteSite)>,
}

impl Route {
    pub(crate) fn new(path: StatePath) -> Self {
        Self {
            path,
            ordered: 0,
            stop: 0,
            is_exclusive: false,
            is_leak_reported: false,
            is_restored: false,
            has_arrived: false,
            writes: Vec::new(),
        }
    }

    /// The session goes to the end of its path in one environment.
    pub(crate) fn make_exclusive(&mut self) {
        self.stop = self.path.len();
        self.is_exclusive = true;
    }

    pub(crate) fn record_write(&mut self, cell: String, site: WriteSite) {
        self.writes.retain(|(written, _)| *written != cell);
        self.writes.push((cell, site));
    }

    /// The last line that wrote a cell.
    pub(crate) fn write_site(&self, cell: &str) -> Option<WriteSite> {
        self.writes.iter().find(|(written, _)| written == cell).map(|(_, site)| site.clone())
    }
}
