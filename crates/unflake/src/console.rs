//! Where output goes and how it may look there.

use std::env;
use std::io::IsTerminal;

use unflake_report::{Progress, TerminalStyle};

use crate::args::When;

/// Lines of a log that nobody watches may be as long as they like.
const LOG_WIDTH: usize = usize::MAX;

/// How to draw on `stream`.
pub(crate) fn look(colour: When, stream: &impl IsTerminal) -> TerminalStyle {
    let terminal = stream.is_terminal();
    let said = |name: &str| env::var(name).is_ok_and(|value| !value.is_empty());
    let colour = match colour {
        When::Always => true,
        When::Never => false,
        When::Auto => terminal && !said("NO_COLOR") && env::var("TERM").as_deref() != Ok("dumb"),
    };
    let width = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0);
    let measured = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let width = if terminal { width.or_else(measured).unwrap_or(80) } else { width.unwrap_or(LOG_WIDTH) };
    // The first of these that is set decides, as for every other program.
    let locale =
        ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| env::var(name).ok().filter(|one| !one.is_empty()));
    let unicode = match locale {
        Some(locale) => locale.to_uppercase().replace('-', "").contains("UTF8"),
        None => !terminal,
    };
    TerminalStyle { colour, width, unicode }
}

/// Progress on standard error: a living line on a terminal, plain lines in a log.
pub(crate) fn progress(colour: When, quiet: bool) -> Progress {
    let stream = std::io::stderr();
    let look = look(colour, &stream);
    match (quiet, stream.is_terminal()) {
        (true, _) => Progress::silent(),
        (false, true) => Progress::terminal(look),
        (false, false) => Progress::plain(look),
    }
}
