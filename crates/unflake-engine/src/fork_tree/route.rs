//! Where a session is on the way to the state in which its tests are to run.

use unflake_model::WriteSite;

use crate::fork_tree::prefix::Path;

pub(crate) struct Route {
    pub(crate) path: Path,
    /// So many steps of it are behind, or have been ordered.
    pub(crate) ordered: usize,
    /// Where it stops next: at a state that others want too, or at its end.
    pub(crate) stop: usize,
    /// The environment is nobody else's: it can be used up.
    pub(crate) own: bool,
    /// It has been told what is left behind there.
    pub(crate) told: bool,
    /// What was to be put back has been.
    pub(crate) restored: bool,
    /// It is there, and the rest of the session has been ordered.
    pub(crate) is_over: bool,
    /// Which lines wrote the cells that are watched, the last for each.
    pub(crate) written: Vec<(String, WriteSite)>,
}

impl Route {
    pub(crate) fn new(path: Path) -> Self {
        let (ordered, stop) = (0, 0);
        Self { path, ordered, stop, own: false, told: false, restored: false, is_over: false, written: Vec::new() }
    }

    /// It goes all the way in one environment.
    pub(crate) fn alone(&mut self) {
        self.stop = self.path.len();
        self.own = true;
    }

    pub(crate) fn wrote(&mut self, cell: String, at: WriteSite) {
        self.written.retain(|(known, _)| *known != cell);
        self.written.push((cell, at));
    }
}
