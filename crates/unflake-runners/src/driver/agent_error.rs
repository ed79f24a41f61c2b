//! Panics of the driver. They are recorded beside the socket and end the process, so that unflake
//! takes them for what they are, and never for the failure of a test.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, panic, process};

/// The environment that this process is.
static ENVIRONMENT: AtomicU32 = AtomicU32::new(0);

/// Records panics of all threads from now on.
pub(crate) fn record_panics(run_dir: PathBuf, environment: u32) {
    enter_environment(environment);
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        print(panic);
        let file = format!("agent-error-{}", ENVIRONMENT.load(Ordering::Relaxed));
        let _ = fs::write(run_dir.join(file), panic.to_string());
        process::exit(3);
    }));
}

/// After a fork: this process is another environment.
pub(crate) fn enter_environment(environment: u32) {
    ENVIRONMENT.store(environment, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::{env, thread};

    use super::*;

    const PLACE: &str = "PLACE_OF_AGENT_ERROR";

    /// Starts itself once more, to panic in that process.
    #[test]
    fn a_panic_in_any_thread_is_recorded_and_ends_the_process() {
        if let Some(place) = env::var_os(PLACE) {
            record_panics(place.into(), 0);
            enter_environment(7);
            let _ = thread::spawn(|| panic!("out of ideas")).join();
            unreachable!("the process has ended");
        }
        let place = tempfile::tempdir().unwrap();
        let name = "driver::agent_error::tests::a_panic_in_any_thread_is_recorded_and_ends_the_process";
        let mut again = Command::new(env::current_exe().unwrap());
        let output = again.args(["--exact", name]).env(PLACE, place.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(3));
        let recorded = fs::read_to_string(place.path().join("agent-error-7")).unwrap();
        assert!(recorded.contains("out of ideas"), "{recorded}");
    }
}
