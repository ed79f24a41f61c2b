//! Builds of cargo whose programs record the lines that they run through.
//!
//! cargo starts unflake in place of rustc, and unflake adds the options that call the tracing
//! runtime. Guarantees that a traced program never replaces a plain one.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, os};

use serde::Deserialize;
use tracing::debug;
use unflake_observe::trace::TraceRuntime;

use crate::cargo::cargo_test::values_of;
use crate::cargo::shims;
use crate::driver::list_context::ListContext;
use crate::driver::suite::ListError;

/// Set where cargo starts unflake in place of rustc: the directory of the runtime.
pub const RUSTC: &str = "UNFLAKE_RUSTC";
/// The wrapper that cargo would have started otherwise.
pub const RUSTC_INNER: &str = "UNFLAKE_RUSTC_INNER";
/// The name under which cargo starts unflake.
const WRAPPER: &str = "unflake-rustc";
/// A longer file of arguments is refused.
const LONGEST_ARGUMENTS: u64 = 64 << 20;

/// The part of `cargo metadata` that is used here.
#[derive(Deserialize)]
struct Metadata {
    target_directory: PathBuf,
    /// Older versions of cargo do not report it: it is the target directory.
    build_directory: Option<PathBuf>,
}

/// The variables that make this cargo command build programs that can be traced. None of them: no
/// traces are wanted.
pub(super) fn variables(context: &ListContext<'_>) -> Result<Vec<(&'static str, OsString)>, ListError> {
    let Some(recorder) = context.tracing else { return Ok(Vec::new()) };
    let words = context.command;
    let wrong = |why: String| ListError::usage(format!("a build that can be traced could not be set up: {why}"));
    let toolchain = words.get(1).filter(|word| word.starts_with('+'));
    let mut metadata = Command::new(&words[0]);
    metadata.args(toolchain).args(["metadata", "--no-deps", "--format-version", "1"]);
    for manifest in values_of(words, "--manifest-path") {
        metadata.arg("--manifest-path").arg(manifest);
    }
    let output = metadata.output().map_err(|error| wrong(error.to_string()))?;
    let stderr = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let found: Metadata = serde_json::from_slice(&output.stdout).map_err(|_| wrong(stderr()))?;
    debug!(target = %found.target_directory.display(), "building with tracing");
    let runtime = &recorder.runtime;
    let wrapper = wrapper_link(runtime, &shims::myself()).map_err(|error| wrong(error.to_string()))?;
    Ok(cargo_variables(runtime, &wrapper, &found.target_directory, found.build_directory.as_deref()))
}

/// A link beside the runtime under which cargo starts `unflake` in place of rustc. cargo tells
/// builds apart by this path: another runtime has another directory and so another build.
pub fn wrapper_link(runtime: &TraceRuntime, unflake: &Path) -> io::Result<PathBuf> {
    let link = runtime.directory().join(WRAPPER);
    if fs::read_link(&link).is_ok_and(|there| there == unflake) {
        return Ok(link);
    }
    let new = runtime.directory().join(format!("{WRAPPER}.{}", std::process::id()));
    let _ = fs::remove_file(&new);
    os::unix::fs::symlink(unflake, &new)?;
    fs::rename(&new, &link)?;
    Ok(link)
}

/// The main function of a process that cargo started in place of rustc: with the path of rustc and
/// its arguments. None: this process is another.
pub(super) fn run_as_rustc() -> Option<ExitCode> {
    let runtime = PathBuf::from(env::var_os(RUSTC)?);
    if !Path::new(&env::args_os().next()?).ends_with(WRAPPER) {
        return None;
    }
    let inner = env::var_os(RUSTC_INNER);
    let why = match rustc_wrapper(env::args_os().skip(1), &runtime, inner.as_deref()) {
        Ok(mut rustc) => rustc.exec().to_string(),
        Err(error) => error.to_string(),
    };
    eprintln!("rustc cannot be started: {why}");
    Some(ExitCode::FAILURE)
}

/// Makes a stable rustc call the runtime at every place where control flow splits or joins.
const INSTRUMENT: [&str; 9] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=3",
    "-Cllvm-args=-sanitizer-coverage-trace-pc-guard",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    // Also places that follow from others: without them lines and endless loops would be missing.
    "-Cllvm-args=-sanitizer-coverage-prune-blocks=0",
    // Release builds have no line tables and are stripped. A lower level has lines, but only the
    // last part of function names.
    "-Cdebuginfo=limited",
    "-Cstrip=none",
    "-ldylib=unflake_trace",
    "-Csplit-debuginfo=off",
];

/// The variables of a traced build. `wrapper` is from [`wrapper_link`], `target` and `build` are the
/// directories that `cargo metadata` reports.
///
/// Plain and traced builds share dependencies in the build directory. The workspace's own crates are
/// there twice, distinguished by the wrapper's path. Programs go to `unflake` in the target directory,
/// so a traced one never replaces a plain one.
pub fn cargo_variables(
    runtime: &TraceRuntime,
    wrapper: &Path,
    target: &Path,
    build: Option<&Path>,
) -> Vec<(&'static str, OsString)> {
    let mut variables = vec![
        ("RUSTC_WORKSPACE_WRAPPER", wrapper.into()),
        ("CARGO_TARGET_DIR", target.join("unflake").into()),
        ("CARGO_BUILD_BUILD_DIR", build.unwrap_or(target).into()),
        (RUSTC, runtime.directory().into()),
    ];
    if let Some(theirs) = std::env::var_os("RUSTC_WORKSPACE_WRAPPER").filter(|theirs| !theirs.is_empty()) {
        variables.push((RUSTC_INNER, theirs));
    }
    variables
}

/// The command that replaces a process which cargo started in place of rustc. `arguments`: the path
/// of rustc and its arguments; `runtime`: the value of [`RUSTC`]; `inner`: that of [`RUSTC_INNER`].
pub fn rustc_wrapper(
    arguments: impl IntoIterator<Item = OsString>,
    runtime: &Path,
    inner: Option<&OsStr>,
) -> io::Result<Command> {
    let mut arguments = arguments.into_iter();
    let rustc = arguments.next().ok_or_else(|| io::Error::other("cargo did not report the path of rustc"))?;
    let arguments: Vec<OsString> = arguments.collect();
    let mut command = match inner {
        Some(inner) => {
            let mut command = Command::new(inner);
            command.arg(rustc);
            command
        }
        None => Command::new(rustc),
    };
    command.args(&arguments);
    let purpose = purpose(&expand_files(&arguments)?);
    if purpose != BuildPurpose::Other {
        let mut path = OsString::from("-Lnative=");
        path.push(runtime);
        // The built program finds the runtime here.
        let mut found_at = OsString::from("-Clink-arg=-Wl,-rpath,");
        found_at.push(runtime);
        command.arg(path).arg(found_at);
    }
    if purpose == BuildPurpose::Traced {
        command.args(INSTRUMENT);
    }
    Ok(command)
}

#[derive(Debug, PartialEq)]
enum BuildPurpose {
    /// Code of the project that its tests run.
    Traced,
    /// A build script or macro. It is not traced, but may link a library of the project that is.
    Linked,
    /// A question to the compiler, a check, documentation.
    Other,
}

fn purpose(arguments: &[String]) -> BuildPurpose {
    let has = |wanted: &str| arguments.iter().any(|argument| argument == wanted);
    // Both `--name value` and `--name=value`, as often as they occur.
    let values = |name: &'static str| {
        let joined = arguments.iter().filter_map(move |one| one.strip_prefix(name)?.strip_prefix('='));
        let apart = arguments.windows(2).filter(move |pair| pair[0] == name).map(|pair| pair[1].as_str());
        joined.chain(apart)
    };
    let links = values("--emit").any(|kinds| kinds.split(',').any(|kind| kind.split('=').next() == Some("link")));
    if has("-") || has("-vV") || values("--print").next().is_some() || !links {
        return BuildPurpose::Other;
    }
    let script = values("--crate-name").any(|name| name.starts_with("build_script_"));
    let macros = values("--crate-type").any(|kinds| kinds.split(',').any(|kind| kind == "proc-macro"));
    if script || macros { BuildPurpose::Linked } else { BuildPurpose::Traced }
}

/// Replaces `@file` by its lines: cargo uses it for arguments that are too long for the system.
fn expand_files(arguments: &[OsString]) -> io::Result<Vec<String>> {
    let mut spread = Vec::new();
    for argument in arguments {
        let argument = argument.to_string_lossy();
        match argument.strip_prefix('@') {
            Some(file) => {
                let file = Path::new(file);
                if fs::metadata(file)?.len() > LONGEST_ARGUMENTS {
                    return Err(io::Error::other(format!("{}: too long", file.display())));
                }
                let content = fs::read(file)?;
                spread.extend(String::from_utf8_lossy(&content).lines().map(str::to_owned));
            }
            None => spread.push(argument.into_owned()),
        }
    }
    Ok(spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn purpose_of(arguments: &str) -> BuildPurpose {
        purpose(&arguments.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn only_what_tests_run_is_traced() {
        let lib =
            "--crate-name app --edition=2024 src/lib.rs --crate-type lib --emit=dep-info,metadata,link -C debuginfo=2";
        assert_eq!(purpose_of(lib), BuildPurpose::Traced);
        assert_eq!(purpose_of("--crate-name app src/lib.rs --emit=dep-info,link --test"), BuildPurpose::Traced);
        assert_eq!(
            purpose_of("--crate-name app src/lib.rs --crate-type lib --emit=dep-info,metadata"),
            BuildPurpose::Other
        );
        let script = "--crate-name build_script_build build.rs --crate-type bin --emit=dep-info,link";
        assert_eq!(purpose_of(script), BuildPurpose::Linked);
        assert_eq!(
            purpose_of("--crate-name mac lib.rs --crate-type proc-macro --emit dep-info,link"),
            BuildPurpose::Linked
        );
        assert_eq!(purpose_of("-vV"), BuildPurpose::Other);
        assert_eq!(
            purpose_of("- --crate-name ___ --print=file-names --crate-type bin --emit=link"),
            BuildPurpose::Other
        );
        assert_eq!(purpose_of("--print cfg --emit=link"), BuildPurpose::Other);
    }

    #[test]
    fn a_wrapper_of_the_user_is_kept() {
        let arguments = ["rustc", "-vV"].map(OsString::from);
        let command = rustc_wrapper(arguments, Path::new("/cache"), Some(OsStr::new("sccache"))).unwrap();
        assert_eq!(command.get_program(), "sccache");
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["rustc", "-vV"]);
    }

    #[test]
    fn arguments_in_a_file_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("arguments");
        std::fs::write(&file, "--crate-name\nbuild_script_build\n--emit=link\n").unwrap();
        let arguments = ["rustc".to_owned(), format!("@{}", file.display())].map(OsString::from);
        let command = rustc_wrapper(arguments, Path::new("/cache"), None).unwrap();
        assert_eq!(command.get_args().count(), 3, "{command:?}");
    }
}
