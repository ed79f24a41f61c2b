//! The terminal: what it can show, progress, and text for people on standard output.

use std::env;
use std::io::{self, BufWriter, IsTerminal, Write};

use unflake_report::{Progress, TerminalStyle};

use crate::args::ColorChoice;
use crate::error::CommandError;

/// A file or pipe has no width: lines are not wrapped.
const UNLIMITED_WIDTH: usize = usize::MAX;

/// How to draw on `stream`.
pub(crate) fn style(color: ColorChoice, stream: &impl IsTerminal) -> TerminalStyle {
    let terminal = stream.is_terminal();
    let is_set = |name: &str| env::var(name).is_ok_and(|value| !value.is_empty());
    let colour = match color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => terminal && !is_set("NO_COLOR") && env::var("TERM").as_deref() != Ok("dumb"),
    };
    let width = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0);
    let measured = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let width = if terminal { width.or_else(measured).unwrap_or(80) } else { width.unwrap_or(UNLIMITED_WIDTH) };
    // The first variable that is set decides, as in the C library.
    let locale =
        ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| env::var(name).ok().filter(|one| !one.is_empty()));
    let unicode = match locale {
        Some(locale) => locale.to_uppercase().replace('-', "").contains("UTF8"),
        None => !terminal,
    };
    // A dumb terminal may show nothing else, whatever the locale.
    let unicode = unicode && env::var("TERM").as_deref() != Ok("dumb");
    TerminalStyle { colour, width, unicode, lines: usize::MAX }
}

/// Progress on standard error: one status line on a terminal, occasional lines elsewhere.
pub(crate) fn progress(color: ColorChoice, quiet: bool) -> Progress {
    let stream = io::stderr();
    let style = style(color, &stream);
    match (quiet, stream.is_terminal()) {
        (true, _) => Progress::silent(),
        (false, true) => Progress::terminal(style),
        (false, false) => Progress::plain(style),
    }
}

/// Writes to standard output. A reader that has gone away (`| head`) is no error; for others
/// `doing` completes "could not …".
pub(crate) fn print(
    doing: &'static str,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), CommandError> {
    let mut out = BufWriter::new(io::stdout().lock());
    write(&mut out)
        .and_then(|()| out.flush())
        .or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
        .map_err(CommandError::internal(doing))
}
