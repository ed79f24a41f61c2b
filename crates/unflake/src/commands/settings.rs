//! `unflake settings`: prints the effective settings and the source of each.

use std::io::{self, Write};

use crate::args::settings::SettingsArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;

pub(crate) fn run(args: SettingsArgs, context: &Context) -> Result<Exit, CommandError> {
    let rows = context.settings(args.settings, args.command)?.rows();
    let name = rows.iter().map(|row| row.0.len()).max().unwrap_or(0);
    let mut out = io::stdout().lock();
    for (setting, value, from) in rows {
        let _ = writeln!(out, "  {setting:<name$}  {value}\n  {:<name$}    {from}", "");
    }
    Ok(Exit::Success)
}
