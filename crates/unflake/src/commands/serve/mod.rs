//! The pages of the history: `unflake serve` shows them in a browser, `unflake report html`
//! writes them into one file.

mod access;
mod causes;
mod changes;
pub(crate) mod file;
mod listen;
mod live;
mod overview;
mod overview_cache;
mod routes;
mod runs;
mod views;

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use signal_hook::consts::{SIGHUP, TERM_SIGNALS};
use signal_hook::iterator::Signals;
use unflake_web::{Server, Site};

use crate::args::serve::ServeArgs;
use crate::config::project;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use access::Access;
use listen::Listening;

/// Serves until a signal arrives.
pub(crate) fn run(args: ServeArgs, context: &Context) -> Result<Exit, CommandError> {
    let listening = Listening::of(&args)?;
    let (location, here) = (context.store(args.store)?, &context.here);
    let server = Server::bind(listening.address).map_err(|error| listen::cannot_listen(listening.address, error))?;
    // From here on a signal stops the server instead of killing the process.
    let mut signals =
        Signals::new(TERM_SIGNALS.iter().chain([&SIGHUP])).map_err(CommandError::internal("wait for Ctrl-C"))?;
    let cache = Arc::new(overview_cache::OverviewCache::open(&location, here)?);
    let url = listening.proxies.as_ref().map(|proxies| proxies.url.clone());
    let site = Site::new(server.address(), listening.tls.clone(), url.clone());
    let access = Access::new(&listening, server.address().port(), site.is_secure())?;
    announce(&server, &listening, url.as_deref(), &access).map_err(CommandError::internal("print the address"))?;
    let (stopper, handle) = (server.stopper(), signals.handle());
    let waiting = thread::spawn(move || {
        signals.forever().next();
        stopper.stop();
    });
    let routes = Arc::new(routes::Routes::new(cache.clone(), access, here, name(here)));
    let mut served = Ok(());
    overview_cache::while_refreshing(&cache, || {
        served = server.run(listening.tls, site, move |request| routes.answer(request));
    });
    handle.close();
    let _ = waiting.join();
    served.map_err(CommandError::internal("serve"))?;
    Ok(Exit::Success)
}

/// Prints the address, and who may use it.
fn announce(server: &Server, listening: &Listening, url: Option<&str>, access: &Access) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let scheme = if listening.tls.is_some() { "https" } else { "http" };
    let token = access.start_token().map(|token| format!("?token={token}")).unwrap_or_default();
    writeln!(out, "  {scheme}://{}/{token}", server.address())?;
    match (access.start_token(), url) {
        (Some(_), _) => writeln!(out, "  on this machine only; read-only without the token. Ctrl-C stops it")?,
        (None, Some(url)) => writeln!(out, "  for the proxy that offers it as {url}. Ctrl-C stops it")?,
        (None, None) => writeln!(out, "  for tokens of `unflake token create`. Ctrl-C stops it")?,
    }
    out.flush()
}

/// The name of the project: that of its directory.
fn name(here: &Path) -> String {
    let project = project::find(here);
    project.file_name().map_or_else(|| "unflake".to_owned(), |name| name.to_string_lossy().into_owned())
}
