//! `unflake config`: prints the effective settings and their sources, or writes a settings file.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use serde_json::json;

use crate::args::config::ConfigArgs;
use crate::args::options::groups::CommandArgs;
use crate::args::options::setting_options::StoreOption;
use crate::config::keys::key;
use crate::config::{project, template};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::console::print;
use crate::output::write_to;

/// The widest value that has its source on the same line.
const WIDEST: usize = 40;

pub(crate) fn run(args: &ConfigArgs, context: &Context) -> Result<Exit, CommandError> {
    if args.init {
        return init(&context.here);
    }
    let rows = context.settings(StoreOption::default(), CommandArgs::default())?.rows();
    match &args.json {
        Some(path) => {
            let row = |(name, value, source)| json!({"name": name, "value": value, "source": source});
            let document =
                json!({"schema": 1, "command": "config", "settings": rows.into_iter().map(row).collect::<Vec<_>>()});
            write_to(path, |out| writeln!(out, "{document:#}")).map_err(CommandError::cannot_write(path))?;
        }
        None => {
            let rows: Vec<_> = rows.into_iter().map(|(name, value, from)| (name, shown(name, value), from)).collect();
            print("print the settings", |out| write_table(&rows, out))?;
        }
    }
    Ok(Exit::Success)
}

/// An empty value as what it means.
fn shown(name: &str, value: String) -> String {
    let meaning = if key(name).default.is_empty() { "none" } else { key(name).default };
    if matches!(value.as_str(), "" | "[]") { format!("({meaning})") } else { value }
}

/// Name, value and source in columns. The source of a long value is on a line of its own.
fn write_table(rows: &[(&str, String, String)], out: &mut dyn Write) -> io::Result<()> {
    let name_width = rows.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
    let widths = rows.iter().map(|(_, value, _)| value.chars().count());
    let value_width = widths.filter(|width| *width <= WIDEST).max().unwrap_or(0);
    for (name, value, source) in rows {
        write!(out, "{name:<name_width$}  ")?;
        if value.chars().count() > value_width {
            write!(out, "{value}\n{:<name_width$}  {:<value_width$}", "", "")?;
        } else {
            write!(out, "{value:<value_width$}")?;
        }
        writeln!(out, "  {source}")?;
    }
    Ok(())
}

/// Writes a commented settings file. An existing one is never overwritten.
fn init(here: &Path) -> Result<Exit, CommandError> {
    let project = project::find(here);
    if let Some(file) = project::settings_file(&project)? {
        return Err(exists(&file.path));
    }
    let path = project.join("unflake.toml");
    let mut file = File::create_new(&path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => exists(&path),
        _ => CommandError::cannot_write(&path)(error),
    })?;
    file.write_all(template::settings_file().as_bytes()).map_err(CommandError::cannot_write(&path))?;
    println!("wrote {}", path.display());
    Ok(Exit::Success)
}

fn exists(path: &Path) -> CommandError {
    CommandError::usage(format!("{} already has settings", path.display()))
        .hint("edit it; `unflake config` prints the effective settings")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let row = |name, value: &str, source: &str| (name, value.to_owned(), source.to_owned());
        let rows = [
            row("jobs", "4", "default"),
            row("never-excuse", &"x".repeat(50), "unflake.toml"),
            row("base", "", "default"),
        ];
        let mut out = Vec::new();
        write_table(&rows, &mut out).unwrap();
        let expected = format!(
            "jobs          4  default\nnever-excuse  {}\n                 unflake.toml\nbase             default\n",
            "x".repeat(50)
        );
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
