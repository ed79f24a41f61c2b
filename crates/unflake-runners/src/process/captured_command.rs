//! A command whose output is needed only at its end.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::process::{Command, Output, Stdio};

#[cfg(target_os = "linux")]
use nix::sys::memfd::{MFdFlags, memfd_create};

/// Like [`Command::output`], through files instead of pipes: tools that write word by word would
/// wake up the reader of a pipe for each word.
pub(crate) fn of(command: &mut Command) -> io::Result<Output> {
    let (stdout, stderr) = (scratch()?, scratch()?);
    let status = command.stdin(Stdio::null()).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?).status()?;
    Ok(Output { status, stdout: whole(stdout)?, stderr: whole(stderr)? })
}

fn whole(mut file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A file without a name, in memory where the system can do that.
fn scratch() -> io::Result<File> {
    #[cfg(target_os = "linux")]
    if let Ok(memory) = memfd_create("unflake", MFdFlags::MFD_CLOEXEC) {
        return Ok(memory.into());
    }
    tempfile::tempfile()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_outputs_and_the_end_are_known() {
        let script = "echo out; echo err >&2; cat; echo more; exit 3";
        let output = of(Command::new("sh").args(["-c", script])).unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!((text(&output.stdout), text(&output.stderr)), ("out\nmore\n".to_owned(), "err\n".to_owned()));
        assert_eq!(output.status.code(), Some(3));
        assert!(of(&mut Command::new("/nowhere")).is_err());
    }
}
