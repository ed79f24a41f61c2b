use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

use crate::trace::Error;
use crate::trace::files::read_bounded;
use crate::trace::runtime::Runtime;
use crate::trace::variables;

/// What makes rustc, on stable, call the runtime at every place where control flow parts or meets.
const INSTRUMENT: [&str; 9] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=3",
    "-Cllvm-args=-sanitizer-coverage-trace-pc-guard",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    // Also places that follow from others, without which lines, and the turns of endless loops, would be missing.
    "-Cllvm-args=-sanitizer-coverage-prune-blocks=0",
    // Release builds leave out what lines are found by, and what is left is stripped. Less than this has lines, too, but of
    // functions only the last part of their names.
    "-Cdebuginfo=limited",
    "-Cstrip=none",
    "-ldylib=unflake_trace",
    "-Csplit-debuginfo=off",
];

/// The variables with which cargo builds traced: `wrapper` is from [`Runtime::wrapper`], `target` and `build` are the target
/// and build directories that `cargo metadata` tells (older cargos know no build directory: it is the target directory).
///
/// Dependencies are shared with the plain builds, in the build directory; the workspace's own crates are
/// there twice, told apart by the wrapper's path. Programs that cargo hands out go to `unflake` in the target directory, so
/// that a plain one is never replaced by a traced one.
pub fn cargo_variables(
    runtime: &Runtime,
    wrapper: &Path,
    target: &Path,
    build: Option<&Path>,
) -> Vec<(&'static str, OsString)> {
    let mut variables = vec![
        ("RUSTC_WORKSPACE_WRAPPER", wrapper.into()),
        ("CARGO_TARGET_DIR", target.join("unflake").into()),
        ("CARGO_BUILD_BUILD_DIR", build.unwrap_or(target).into()),
        (variables::RUSTC, runtime.directory().into()),
    ];
    if let Some(theirs) = std::env::var_os("RUSTC_WORKSPACE_WRAPPER").filter(|theirs| !theirs.is_empty()) {
        variables.push((variables::RUSTC_INNER, theirs));
    }
    variables
}

/// What to start when cargo started us in place of rustc, which [`variables::RUSTC`] tells: `arguments` are ours without
/// the first, so the path of rustc and what it is to do; `runtime` is the value of that variable and `inner` the value of
/// [`variables::RUSTC_INNER`]. Meant to be followed by `exec`.
pub fn rustc_wrapper(
    arguments: impl IntoIterator<Item = OsString>,
    runtime: &Path,
    inner: Option<&OsStr>,
) -> Result<Command, Error> {
    let mut arguments = arguments.into_iter();
    let rustc = arguments.next().ok_or_else(|| Error::new("cargo did not say where rustc is"))?;
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
    let purpose = purpose(&spread(&arguments)?);
    if purpose != Purpose::Other {
        let mut path = OsString::from("-Lnative=");
        path.push(runtime);
        // Where the program, once built, finds the runtime.
        let mut found_at = OsString::from("-Clink-arg=-Wl,-rpath,");
        found_at.push(runtime);
        command.arg(path).arg(found_at);
    }
    if purpose == Purpose::Traced {
        command.args(INSTRUMENT);
    }
    Ok(command)
}

#[derive(Debug, PartialEq)]
enum Purpose {
    /// Code of the project that its tests run.
    Traced,
    /// A build script or macro: not traced, but it may be linked with a library of the project that is, and must then
    /// find the runtime.
    Linked,
    /// A question to the compiler, a check, documentation.
    Other,
}

fn purpose(arguments: &[String]) -> Purpose {
    let has = |wanted: &str| arguments.iter().any(|argument| argument == wanted);
    // Both `--name value` and `--name=value`, as often as it is there.
    let values = |name: &'static str| {
        let joined = arguments.iter().filter_map(move |one| one.strip_prefix(name)?.strip_prefix('='));
        let apart = arguments.windows(2).filter(move |pair| pair[0] == name).map(|pair| pair[1].as_str());
        joined.chain(apart)
    };
    let links = values("--emit").any(|kinds| kinds.split(',').any(|kind| kind.split('=').next() == Some("link")));
    if has("-") || has("-vV") || values("--print").next().is_some() || !links {
        return Purpose::Other;
    }
    let script = values("--crate-name").any(|name| name.starts_with("build_script_"));
    let macros = values("--crate-type").any(|kinds| kinds.split(',').any(|kind| kind == "proc-macro"));
    if script || macros { Purpose::Linked } else { Purpose::Traced }
}

/// With the content of `@file` in its place: what cargo does with arguments that are too long for the system.
fn spread(arguments: &[OsString]) -> Result<Vec<String>, Error> {
    const LONGEST: u64 = 64 << 20;
    let mut spread = Vec::new();
    for argument in arguments {
        let argument = argument.to_string_lossy();
        match argument.strip_prefix('@') {
            Some(file) => {
                let content = read_bounded(Path::new(file), LONGEST)?;
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

    fn purpose_of(arguments: &str) -> Purpose {
        purpose(&arguments.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn only_what_tests_run_is_traced() {
        let lib =
            "--crate-name app --edition=2024 src/lib.rs --crate-type lib --emit=dep-info,metadata,link -C debuginfo=2";
        assert_eq!(purpose_of(lib), Purpose::Traced);
        assert_eq!(purpose_of("--crate-name app src/lib.rs --emit=dep-info,link --test"), Purpose::Traced);
        assert_eq!(purpose_of("--crate-name app src/lib.rs --crate-type lib --emit=dep-info,metadata"), Purpose::Other);
        let script = "--crate-name build_script_build build.rs --crate-type bin --emit=dep-info,link";
        assert_eq!(purpose_of(script), Purpose::Linked);
        assert_eq!(purpose_of("--crate-name mac lib.rs --crate-type proc-macro --emit dep-info,link"), Purpose::Linked);
        assert_eq!(purpose_of("-vV"), Purpose::Other);
        assert_eq!(purpose_of("- --crate-name ___ --print=file-names --crate-type bin --emit=link"), Purpose::Other);
        assert_eq!(purpose_of("--print cfg --emit=link"), Purpose::Other);
    }

    #[test]
    fn a_wrapper_of_the_user_is_kept() {
        let arguments = ["rustc", "-vV"].map(OsString::from);
        let command = rustc_wrapper(arguments, Path::new("/cache"), Some(OsStr::new("sccache"))).unwrap();
        assert_eq!(command.get_program(), "sccache");
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["rustc", "-vV"]);
    }

    #[test]
    fn arguments_in_a_file_are_looked_at() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("arguments");
        std::fs::write(&file, "--crate-name\nbuild_script_build\n--emit=link\n").unwrap();
        let arguments = ["rustc".to_owned(), format!("@{}", file.display())].map(OsString::from);
        let command = rustc_wrapper(arguments, Path::new("/cache"), None).unwrap();
        assert_eq!(command.get_args().count(), 3, "{command:?}");
    }
}
