//! `unflake demo`: runs unflake on a sample project, in a virtual environment that it creates.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::args::ColorChoice;
use crate::args::demo::DemoArgs;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;

/// The files of the sample project.
const SAMPLE: &[(&str, &str)] = &[
    ("pyproject.toml", include_str!("../../sample/pyproject.toml")),
    ("shop/__init__.py", include_str!("../../sample/shop/__init__.py")),
    ("shop/admin.py", include_str!("../../sample/shop/admin.py")),
    ("shop/cache.py", include_str!("../../sample/shop/cache.py")),
    ("shop/cart.py", include_str!("../../sample/shop/cart.py")),
    ("shop/mail.py", include_str!("../../sample/shop/mail.py")),
    ("shop/stock.py", include_str!("../../sample/shop/stock.py")),
    ("shop/tax.py", include_str!("../../sample/shop/tax.py")),
    ("tests/conftest.py", include_str!("../../sample/tests/conftest.py")),
    ("tests/next_seed", include_str!("../../sample/tests/next_seed")),
    ("tests/test_admin.py", include_str!("../../sample/tests/test_admin.py")),
    ("tests/test_cache.py", include_str!("../../sample/tests/test_cache.py")),
    ("tests/test_cart.py", include_str!("../../sample/tests/test_cart.py")),
    ("tests/test_checkout.py", include_str!("../../sample/tests/test_checkout.py")),
    ("tests/test_mail.py", include_str!("../../sample/tests/test_mail.py")),
    ("tests/test_stock.py", include_str!("../../sample/tests/test_stock.py")),
];

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
    lay_out(directory)?;
    let mut out = io::stdout();
    let _ = writeln!(out, "  A small shop, its tests, and a virtual environment with pytest (takes a few seconds) …");
    make_environment(directory, &args.python)?;
    let _ = writeln!(out, "\n$ unflake run -- pytest");
    let _ = out.flush();
    let color = match context.color {
        ColorChoice::Auto => "auto",
        ColorChoice::Always => "always",
        ColorChoice::Never => "never",
    };
    let myself = std::env::current_exe().map_err(CommandError::internal("find the unflake program"))?;
    let path = std::env::join_paths(
        [directory.join(".venv/bin")]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    )
    .unwrap_or_default();
    let status = Command::new(myself)
        .args(["run", "--color", color, "--", "pytest"])
        .current_dir(directory)
        .env("PATH", path)
        .env_remove("PYTEST_ADDOPTS")
        .status()
        .map_err(CommandError::internal("run unflake"))?;
    match status.code() {
        Some(1) => {}
        Some(130) => return Ok(Exit::Interrupted),
        code => {
            let what = format!("the demo should have ended with exit code 1 and ended with {code:?}");
            return Err(CommandError::runner(what).hint("`unflake demo --keep DIR` leaves the project to look at"));
        }
    }
    let _ = writeln!(out, "{AFTERWARDS}");
    if let Some(kept) = &args.keep {
        let _ = writeln!(out, "  The project is in {}.", kept.display());
    }
    Ok(Exit::Success)
}

const AFTERWARDS: &str = "
  What you have seen: the suite ran once, as pytest runs it. Each failing test was then run
  again at once, after the whole suite, and in a fresh environment, until it passed. Where it
  first passed says what kind of flaky it is, once a fresh environment has shown that it does
  not just fail the first time in every process; what never passed is real. A build server
  would have been told exit code 1, for the real failure alone.

  Before you use it:     unflake doctor
  On your own project:   unflake run -- pytest tests/";

fn lay_out(directory: &Path) -> Result<(), CommandError> {
    for (name, text) in SAMPLE {
        let path = directory.join(name);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, text));
        made.map_err(CommandError::internal("lay out the sample project"))?;
    }
    Ok(())
}

fn make_environment(directory: &Path, python: &str) -> Result<(), CommandError> {
    let run = |program: &Path, arguments: &[&str], hint: &str| -> Result<(), CommandError> {
        let output = Command::new(program).args(arguments).current_dir(directory).stdin(Stdio::null()).output();
        match output {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => {
                let stderr = String::from_utf8_lossy(&output.stderr);
                let stderr = unflake_report::plain(stderr.trim_end());
                Err(CommandError::runner(format!("`{} {}` failed:\n{stderr}", program.display(), arguments.join(" ")))
                    .hint(hint))
            }
            Err(error) => {
                Err(CommandError::runner(format!("`{}` could not be started: {error}", program.display())).hint(hint))
            }
        }
    };
    run(
        Path::new(python),
        &["-m", "venv", ".venv"],
        "the demo needs Python 3.8 or later with venv; name another one with --python",
    )?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pytest"];
    run(&directory.join(".venv/bin/python"), &pip, "the demo installs pytest from the package index; is it reachable?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_contains_every_file_of_the_sample() {
        fn walk(directory: &Path, found: &mut Vec<String>, top: &Path) {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_str().unwrap();
                if path.is_dir() && !name.starts_with('.') && name != "__pycache__" {
                    walk(&path, found, top);
                } else if path.is_file() {
                    found.push(path.strip_prefix(top).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample");
        let mut there = Vec::new();
        walk(&top, &mut there, &top);
        there.sort();
        assert_eq!(SAMPLE.iter().map(|(name, _)| *name).collect::<Vec<_>>(), there);
    }
}
