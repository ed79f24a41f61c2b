//! C and C++ programs that record the lines that they run through: compiler flags, and advice for a
//! program that was built without them.

use std::path::{Path, PathBuf};

use unflake_observe::trace::{Instrumented, TraceRuntime, instrumented};

use crate::cpp::cmake_build::CmakeBuild;
use crate::driver::suite::ListError;
use crate::process::spec::EnvChanges;

/// Flags for building a C or C++ program so that it can be traced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flags {
    /// For compiling the project's own files. Not for linking: clang would link a runtime of its own.
    pub compile: Vec<String>,
    /// For linking, anywhere on the command line.
    pub link: Vec<String>,
}

/// For clang, from version 6.
pub fn clang(runtime: &TraceRuntime) -> Flags {
    // Build systems may pass the compiler's flags to the linker, too. gcc has no such flag.
    let link = ["-fno-sanitize-link-runtime".to_owned()].into_iter().chain(link(runtime)).collect();
    let compile = ["-g", "-fsanitize-coverage=trace-pc-guard,pc-table,no-prune"].map(str::to_owned).into();
    Flags { compile, link }
}

/// For gcc. Slower than clang: each event has to find out its own address.
pub fn gcc(runtime: &TraceRuntime) -> Flags {
    Flags { compile: ["-g", "-fsanitize-coverage=trace-pc"].map(str::to_owned).into(), link: link(runtime) }
}

fn link(runtime: &TraceRuntime) -> Vec<String> {
    let directory = runtime.directory().display();
    // Some linkers drop libraries that nothing earlier on the line needs.
    let kept = ["-Wl,--push-state,--no-as-needed", "-lunflake_trace", "-Wl,--pop-state"].map(str::to_owned);
    [format!("-L{directory}"), format!("-Wl,-rpath,{directory}")].into_iter().chain(kept).collect()
}

/// What to do before a program can be traced; None if it can.
pub fn advice(how: Instrumented, runtime: &TraceRuntime) -> Option<String> {
    match how {
        Instrumented::Guards | Instrumented::Addresses => None,
        Instrumented::OtherRuntime => Some(
            "this binary was built for tracing, but with the compiler's own runtime in it; give \
             -fsanitize-coverage to the compiler only and not to the linker, or add -fno-sanitize-link-runtime"
                .to_owned(),
        ),
        Instrumented::No => {
            let Flags { compile, link } = clang(runtime);
            let (compile, link) = (compile.join(" "), link.join(" "));
            let gcc = gcc(runtime);
            let (slow_compile, slow_link) = (gcc.compile.join(" "), gcc.link.join(" "));
            Some(format!(
                "this binary was not built for tracing; build it with clang and `{compile}` for compiling, `{link}` \
                 for linking; or, slower, with gcc and `{slow_compile}` for compiling, `{slow_link}` for linking"
            ))
        }
    }
}

/// The program to run where lines are wanted: the user's own, or one that repeats its CMake build with
/// tracing. Otherwise the way to build it.
pub(super) fn program(program: &Path, runtime: &TraceRuntime, env: &EnvChanges) -> Result<PathBuf, ListError> {
    let how = instrumented(program).map_err(|error| ListError::usage(error.to_string()))?;
    match (how, advice(how, runtime)) {
        (_, None) => Ok(program.to_owned()),
        (Instrumented::No, _) => {
            let built = CmakeBuild::of(program).map(|build| build.traced_program(program, runtime, env));
            match built {
                Some(Ok(traced)) => Ok(traced),
                Some(Err(why)) => {
                    let how = how_to_build(program, runtime);
                    Err(ListError::usage(format!("its CMake build cannot be repeated with tracing: {why}\n{how}")))
                }
                None => Err(ListError::usage(how_to_build(program, runtime))),
            }
        }
        (_, Some(advice)) => Err(ListError::usage(format!("{}: {advice}", program.display()))),
    }
}

fn how_to_build(program: &Path, runtime: &TraceRuntime) -> String {
    let with = |compiler: &str, flags: Flags| {
        let Flags { compile, link } = flags;
        let (compile, link) = (compile.join(" "), link.join(" "));
        format!(
            "  CXX={compiler} cmake -S . -B build-traced \\\n    -DCMAKE_CXX_FLAGS=\"{compile}\" \\\n    -DCMAKE_EXE_LINKER_FLAGS=\"{link}\""
        )
    };
    format!(
        "{} was not built for tracing. Build it once more, beside the plain one, with these flags. With CMake and clang:\n\
         {}\n\
         With gcc, slower when it runs:\n\
         {}\n\
         Then `cmake --build build-traced`, and give the program in build-traced after `--`.",
        program.display(),
        with("clang++", clang(runtime)),
        with("g++", gcc(runtime)),
    )
}
