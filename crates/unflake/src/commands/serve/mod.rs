//! The pages of the history: `unflake serve` shows them in a browser, `unflake report html`
//! writes them into one file.

mod causes;
pub(crate) mod file;
mod overview;
mod overview_cache;
mod routes;
mod runs;
mod views;

use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::thread;

use signal_hook::consts::{SIGHUP, TERM_SIGNALS};
use signal_hook::iterator::Signals;
use unflake_web::{AccessToken, Server};

use crate::args::serve::ServeArgs;
use crate::config::project;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;

/// Serves until a signal arrives.
pub(crate) fn run(args: ServeArgs, context: &Context) -> Result<Exit, CommandError> {
    let (location, here) = (context.store(args.store)?, &context.here);
    let server = Server::bind(args.port).map_err(|error| cannot_listen(args.port, error))?;
    // From here on a signal stops the server instead of killing the process.
    let mut signals =
        Signals::new(TERM_SIGNALS.iter().chain([&SIGHUP])).map_err(CommandError::internal("wait for Ctrl-C"))?;
    let cache = overview_cache::OverviewCache::open(&location, here)?;
    let address = server.address();
    let token = AccessToken::new(address.port()).map_err(CommandError::internal("draw a token"))?;
    announce(&format!("http://{address}/?token={}", token.secret()))
        .map_err(CommandError::internal("print the address"))?;
    let (stopper, handle) = (server.stopper(), signals.handle());
    let waiting = thread::spawn(move || {
        signals.forever().next();
        stopper.stop();
    });
    let routes = routes::Routes::new(&cache, &token, here, name(here));
    overview_cache::while_refreshing(&cache, || server.run(|request| routes.answer(request)));
    handle.close();
    let _ = waiting.join();
    Ok(Exit::Success)
}

fn announce(address: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "  {address}\n  on this machine only; read-only without the token. Ctrl-C stops it")?;
    out.flush()
}

fn cannot_listen(port: u16, error: io::Error) -> CommandError {
    match error.kind() {
        ErrorKind::AddrInUse => CommandError::usage(format!("port {port} is in use, perhaps by another unflake serve"))
            .hint("`unflake serve --port 0` picks a free port"),
        ErrorKind::PermissionDenied => CommandError::usage(format!("port {port} needs privileges"))
            .hint("use a port above 1023, or `--port 0` for a free one"),
        _ => CommandError::internal("listen on the loopback address")(error),
    }
}

/// The name of the project: that of its directory.
fn name(here: &Path) -> String {
    let project = project::find(here);
    project.file_name().map_or_else(|| "unflake".to_owned(), |name| name.to_string_lossy().into_owned())
}
