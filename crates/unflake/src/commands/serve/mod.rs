//! The pages of the history: `unflake serve` shows them in a browser, `unflake report --html` writes them into one file.

#[cfg(test)]
mod cause_tests;
mod causes;
mod file;
mod overview;
mod overview_cache;
mod routes;
mod runs;
mod views;

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread;

use clap::Args;
use signal_hook::consts::{SIGHUP, TERM_SIGNALS};
use signal_hook::iterator::Signals;
use unflake_store::StoreLocation;
use unflake_web::{Server, Token};

use crate::args::history::PlaceArg;
use crate::config::project;
use crate::error::Trouble;
use crate::exit::Exit;

pub(crate) use file::write_file;

/// `test` on the keys of a telephone.
const PORT: u16 = 8378;

#[derive(Debug, Args)]
#[command(
    after_help = "Listens on the loopback address only. Reading needs nothing; what writes needs the token in the address that is printed. Every page has \
its JSON: the same address with .json (/inbox.json, /test/12.json). Ctrl-C ends it."
)]
pub(crate) struct ServeArgs {
    /// The port; 0 is any that is free.
    #[arg(long, default_value_t = PORT, value_name = "N")]
    pub(crate) port: u16,

    #[command(flatten)]
    pub(crate) place: PlaceArg,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Write what `unflake serve` shows into one file that needs nothing but itself (`-`: standard output).
    #[arg(long, value_name = "FILE", required = true)]
    pub(crate) html: PathBuf,

    #[command(flatten)]
    pub(crate) place: PlaceArg,
}

/// Serves until somebody says stop.
pub(crate) fn serve(args: &ServeArgs, place: &StoreLocation, here: &Path) -> Result<Exit, Trouble> {
    let server = Server::bind(args.port).map_err(|error| cannot_listen(args.port, error))?;
    // From here on a signal is a letter, not an end.
    let mut signals =
        Signals::new(TERM_SIGNALS.iter().chain([&SIGHUP])).map_err(Trouble::internal("wait for Ctrl-C"))?;
    let desk = overview_cache::Desk::open(place, here)?;
    let address = server.address();
    let token = Token::new(address.port()).map_err(Trouble::internal("draw a token"))?;
    announce(&format!("http://{address}/?token={}", token.secret())).map_err(Trouble::internal("print the address"))?;
    let (stopper, handle) = (server.stopper(), signals.handle());
    let waiting = thread::spawn(move || {
        signals.forever().next();
        stopper.stop();
    });
    let routes = routes::Routes::new(&desk, &token, here, name(here));
    overview_cache::while_reading(&desk, || server.run(|request| routes.answer(request)));
    handle.close();
    let _ = waiting.join();
    Ok(Exit::Success)
}

fn announce(address: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "  {address}\n  this machine only; without the token it is for reading. Ctrl-C ends it")?;
    out.flush()
}

fn cannot_listen(port: u16, error: io::Error) -> Trouble {
    match error.kind() {
        ErrorKind::AddrInUse => Trouble::usage(format!("port {port} is taken, perhaps by another unflake serve"))
            .hint("`unflake serve --port 0` takes one that is free"),
        ErrorKind::PermissionDenied => Trouble::usage(format!("port {port} is not for everybody"))
            .hint("take one above 1023, or `--port 0` for one that is free"),
        _ => Trouble::internal("listen on the loopback address")(error),
    }
}

/// What the project is called: as its directory is.
fn name(here: &Path) -> String {
    let project = project::find(here);
    project.file_name().map_or_else(|| "unflake".to_owned(), |name| name.to_string_lossy().into_owned())
}
