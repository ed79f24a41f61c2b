//! Recording the order in which tests run through their code: builds, processes, and what they leave.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use serde::Deserialize;
use unflake_observe::trace::{
    Attempt, Flags, Instrumented, Limits, Runtime, Symboliser, cargo_variables, clang, gcc, instrumented,
};

use crate::driver::suite::CannotList;

pub(crate) struct Tracing {
    runtime: Runtime,
    symboliser: Mutex<Symboliser>,
    /// Whether values are wanted. Native code has none to tell.
    pub(crate) values: bool,
}

#[derive(Deserialize)]
struct Metadata {
    target_directory: PathBuf,
    build_directory: Option<PathBuf>,
}

impl Tracing {
    /// `cache` is where the runtime stays as long as programs that were built with it are to run.
    pub(crate) fn new(cache: &Path, values: bool) -> Result<Self, String> {
        let runtime = Runtime::lay_out(cache).map_err(|error| error.to_string())?;
        let symboliser = Mutex::new(Symboliser::new(&cache.join("symbols")));
        Ok(Self { runtime, symboliser, values })
    }

    /// The variables with which this cargo builds programs that can be traced.
    pub(crate) fn of_cargo(&self, words: &[String]) -> Result<Vec<(&'static str, OsString)>, CannotList> {
        let wrong = |why: String| CannotList::usage(format!("a build that can be traced could not be set up: {why}"));
        let toolchain = words.get(1).filter(|word| word.starts_with('+'));
        let mut metadata = Command::new(&words[0]);
        metadata.args(toolchain).args(["metadata", "--no-deps", "--format-version", "1"]);
        for manifest in crate::cargo::cargo_test::values_of(words, "--manifest-path") {
            metadata.arg("--manifest-path").arg(manifest);
        }
        let output = metadata.output().map_err(|error| wrong(error.to_string()))?;
        let said = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let found: Metadata = serde_json::from_slice(&output.stdout).map_err(|_| wrong(said()))?;
        let myself = crate::cargo::shims::myself();
        let wrapper = self.runtime.wrapper(&myself).map_err(|error| wrong(error.to_string()))?;
        Ok(cargo_variables(&self.runtime, &wrapper, &found.target_directory, found.build_directory.as_deref()))
    }

    /// Of a program that the user has built: nothing, if it can be traced.
    pub(crate) fn check(&self, program: &Path) -> Result<(), CannotList> {
        let how = instrumented(program).map_err(|error| CannotList::usage(error.to_string()))?;
        match (how, how.advice(&self.runtime)) {
            (_, None) => Ok(()),
            (Instrumented::No, _) => Err(CannotList::usage(self.how_to_build(program))),
            (_, Some(advice)) => Err(CannotList::usage(format!("{}: {advice}", program.display()))),
        }
    }

    fn how_to_build(&self, program: &Path) -> String {
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
            with("clang++", clang(&self.runtime)),
            with("g++", gcc(&self.runtime)),
        )
    }

    /// The variables with which a process writes its trace into a directory.
    pub(crate) fn variables(&self, directory: &Path) -> BTreeMap<String, Option<String>> {
        let text = |(name, value): (&str, OsString)| (name.to_owned(), Some(value.to_string_lossy().into_owned()));
        let variables = Runtime::tracing(directory, Limits::default(), None).unwrap_or_default();
        variables.into_iter().map(text).collect()
    }

    /// Makes what a process has left readable. Nothing, if it has left nothing.
    pub(crate) fn finish(&self, directory: &Path) -> Option<String> {
        let attempt = Attempt::open(directory).ok().filter(|attempt| !attempt.processes.is_empty())?;
        let mut symboliser = self.symboliser.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        symboliser.symbolise(&attempt).ok()?;
        Some(directory.to_string_lossy().into_owned())
    }
}
