//! Output: terminal style and progress, report files for other programs, pages.

pub(crate) mod console;
pub(crate) mod report_files;
pub(crate) mod report_path;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes a file and the directories above it.
pub(crate) fn write_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let mut out = BufWriter::new(File::create(path)?);
    write(&mut out)?;
    out.flush()
}

/// Writes to a file that the user named; `-` is standard output, and a reader that has gone away
/// (`| head`) is no error.
pub(crate) fn write_to(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    if path.as_os_str() == "-" {
        let mut out = io::stdout().lock();
        return match write(&mut out).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => result,
        };
    }
    let mut out = BufWriter::new(File::create(path)?);
    write(&mut out)?;
    out.flush()
}
