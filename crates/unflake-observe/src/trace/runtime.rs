//! Installs the native tracing runtime, and configures traced programs.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::trace::Error;
use crate::trace::files::replace;
use crate::trace::variables;

const BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libunflake_trace.so"));
const HASH: &str = env!("TRACE_RUNTIME_HASH");
const LIBRARY: &str = "libunflake_trace.so";

/// The tracing runtime, installed as a file that traced programs are linked with and load at their
/// start.
///
/// The name of its directory contains a hash of its content: programs that were built with one
/// release of unflake continue to work after an update, and several processes may install it at
/// once.
#[derive(Debug, Clone)]
pub struct TraceRuntime {
    directory: PathBuf,
}

/// The recording limits of an attempt, in events of four bytes. Further events are counted per
/// thread, and not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub thread: u64,
    pub attempt: u64,
}

impl Default for Limits {
    /// 64 MiB per thread, 256 MiB per attempt.
    fn default() -> Limits {
        Limits { thread: 16 << 20, attempt: 64 << 20 }
    }
}

impl TraceRuntime {
    /// Installs the runtime below `cache` if it does not exist there. The directory must exist as
    /// long as programs that were built with it are used.
    pub fn lay_out(cache: &Path) -> Result<TraceRuntime, Error> {
        if BYTES.is_empty() {
            return Err(Error::new("native code can be traced on Linux with glibc, on x86-64 and arm64 only"));
        }
        // Programs contain this path, so it must not depend on the current directory.
        let cache = std::path::absolute(cache).map_err(Error::at(cache))?;
        if cache.as_os_str().as_encoded_bytes().iter().any(|byte| b",:$".contains(byte)) {
            let cache = cache.display();
            return Err(Error::new(format!(
                "{cache}: programs cannot be linked with a path that has a comma, colon or $"
            )));
        }
        let directory = cache.join(format!("trace-{HASH}"));
        let library = directory.join(LIBRARY);
        if fs::read(&library).is_ok_and(|there| there == BYTES) {
            return Ok(TraceRuntime { directory });
        }
        fs::create_dir_all(&directory).map_err(Error::at(&directory))?;
        replace(&library, BYTES)?;
        Ok(TraceRuntime { directory })
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    pub fn library(&self) -> PathBuf {
        self.directory.join(LIBRARY)
    }

    /// The variables that make a traced program write its trace below `attempt`, a new path for
    /// every attempt, which the program creates if the parent directory exists. `own` is a
    /// directory that [`Symboliser::own`] filled after an earlier attempt: of programs in it only
    /// the project's own places are traced.
    ///
    /// [`Symboliser::own`]: crate::trace::Symboliser::own
    pub fn tracing(attempt: &Path, limits: Limits, own: Option<&Path>) -> Result<Vec<(&'static str, OsString)>, Error> {
        let absolute = |path: &Path| std::path::absolute(path).map_err(Error::at(path));
        let mut variables = vec![
            (variables::TRACE, absolute(attempt)?.into()),
            (variables::TRACE_THREAD_EVENTS, limits.thread.to_string().into()),
            (variables::TRACE_EVENTS, limits.attempt.to_string().into()),
        ];
        if let Some(own) = own {
            variables.push((variables::TRACE_OWN, absolute(own)?.into()));
        }
        Ok(variables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_linkers_split_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let error = TraceRuntime::lay_out(&directory.path().join("a,b")).unwrap_err();
        assert!(error.to_string().ends_with("cannot be linked with a path that has a comma, colon or $"), "{error}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_damaged_runtime_is_reinstalled() {
        let directory = tempfile::tempdir().unwrap();
        let runtime = TraceRuntime::lay_out(directory.path()).unwrap();
        fs::write(runtime.library(), "not it").unwrap();
        TraceRuntime::lay_out(directory.path()).unwrap();
        assert_eq!(fs::read(runtime.library()).unwrap(), BYTES);
    }
}
