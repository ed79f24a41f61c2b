//! The assertions that a driven suite reports, and which of them may fail.

use std::io;
use std::path::{Path, PathBuf};

/// Implemented by a runner whose agent reports assertions and can let some of them fail.
pub(crate) trait FiltersAssertions: Send + Sync {
    /// Writes every assertion of the sources into a file below `directory` and returns its path.
    fn write_sites(&self, directory: &Path) -> io::Result<PathBuf>;

    /// From now on exactly the assertions that this file names may fail.
    fn let_fail(&self, path: &Path) -> io::Result<()>;
}
