//! `unflake demo`: runs unflake on a sample project, in a virtual environment that it creates.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use unflake_report::paragraphs;
use unflake_runners::{Demo, SetUpStep};

use crate::args::ColorChoice;
use crate::args::demo::DemoArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;

pub(crate) fn run(args: &DemoArgs, context: &Context) -> Result<Exit, CommandError> {
    // Ctrl-C ends the child process; this one stays to remove the project.
    let stopped = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, stopped.clone()).map_err(CommandError::internal("listen to signals"))?;
    }
    let temporary = match &args.keep {
        Some(_) => None,
        None => Some(
            tempfile::Builder::new()
                .prefix("unflake-demo-")
                .tempdir()
                .map_err(CommandError::internal("make a temporary directory"))?,
        ),
    };
    let directory =
        temporary.as_ref().map_or_else(|| args.keep.as_deref().unwrap_or(Path::new(".")), |made| made.path());
    let demo = unflake_runners::demo().ok_or_else(|| CommandError::usage("no runner has a sample project"))?;
    lay_out(demo, directory)?;
    let mut out = io::stdout();
    let style = context.style();
    let _ = paragraphs(demo.introduction, &style, &mut out);
    demo.set_up.iter().try_for_each(|step| set_up(step, directory, &args.program))?;
    let _ = writeln!(out, "\n$ unflake run -- {}", demo.command.join(" "));
    let _ = out.flush();
    let color = match context.color {
        ColorChoice::Auto => "auto",
        ColorChoice::Always => "always",
        ColorChoice::Never => "never",
    };
    let myself = std::env::current_exe().map_err(CommandError::internal("find the unflake program"))?;
    let path = std::env::join_paths(
        [directory.join(demo.programs)]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    )
    .unwrap_or_default();
    let mut unflake = Command::new(myself);
    unflake.args(["run", "--color", color, "--"]).args(demo.command).current_dir(directory).env("PATH", path);
    for name in demo.unset {
        unflake.env_remove(name);
    }
    let status = unflake.status().map_err(CommandError::internal("run unflake"))?;
    match status.code() {
        Some(1) => {}
        Some(130) => return Ok(Exit::Interrupted),
        code => {
            let what = format!("the demo should have ended with exit code 1 and ended with {code:?}");
            return Err(CommandError::runner(what).hint("`unflake demo --keep DIR` leaves the project to look at"));
        }
    }
    let _ = paragraphs(demo.afterword, &style, &mut out);
    if let Some(kept) = &args.keep {
        let _ = writeln!(out, "  The project is in {}.", kept.display());
    }
    Ok(Exit::Success)
}

fn lay_out(demo: &Demo, directory: &Path) -> Result<(), CommandError> {
    for (name, text) in demo.files {
        let path = directory.join(name);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, text));
        made.map_err(CommandError::internal("lay out the sample project"))?;
    }
    Ok(())
}

/// `program`: the one that the user chose.
fn set_up(step: &SetUpStep, directory: &Path, program: &str) -> Result<(), CommandError> {
    let program = match step.program {
        "{program}" => PathBuf::from(program),
        name => directory.join(name),
    };
    let output = Command::new(&program).args(step.arguments).current_dir(directory).stdin(Stdio::null()).output();
    let what = match output {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let stderr = unflake_report::plain(stderr.trim_end());
            format!("`{} {}` failed:\n{stderr}", program.display(), step.arguments.join(" "))
        }
        Err(error) => format!("`{}` could not be started: {error}", program.display()),
    };
    Err(CommandError::runner(what).hint(step.hint))
}
