//! Ctrl-C and termination signals: they interrupt the engine, and are remembered for the rest of
//! the command. A limit on the size of files is an error of the write that exceeds it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use unflake_engine::Engine;

use crate::error::CommandError;

static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

pub(crate) fn was_interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// Remembers signals from now on, where unflake makes what it has to remove again.
pub(crate) fn remember_signals() -> Result<(), CommandError> {
    let remember = |signal: &i32| signal_hook::flag::register(*signal, INTERRUPTED.clone()).map(drop);
    SIGNALS.iter().try_for_each(remember).map_err(CommandError::internal("listen to signals"))
}

/// Interrupts the engine on every signal from now on, and at once where a signal came earlier.
pub(crate) fn stop_on_signals(engine: &Engine) -> Result<(), CommandError> {
    let interrupter = engine.interrupter();
    let mut signals = Signals::new(SIGNALS).map_err(CommandError::internal("listen to signals"))?;
    thread::spawn(move || {
        for signal in signals.forever() {
            tracing::info!(signal, "signal received: stopping");
            INTERRUPTED.store(true, Ordering::SeqCst);
            interrupter.interrupt();
        }
    });
    if was_interrupted() {
        engine.interrupter().interrupt();
    }
    Ok(())
}

/// Keeps `ulimit -f` from killing this process: writes fail instead. A handler, unlike an ignored
/// signal, is not inherited by the programs that unflake starts.
pub(crate) fn survive_file_size_limit() -> Result<(), CommandError> {
    let handled = signal_hook::flag::register(SIGXFSZ, Arc::default());
    handled.map(drop).map_err(CommandError::internal("handle the limit on file sizes"))
}
