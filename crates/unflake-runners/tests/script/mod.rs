//! `script-tests DIR`: every `*.sh` file of a directory is a test that passes with exit code 0.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::driver::list_context::ListContext;
use crate::driver::program::{OutputListener, Program, SingleTestListener};
use crate::driver::suite::{ListError, ListedSuite, TestCase};
use crate::driver::test_result::TestResult;
use crate::process::files::{program_name, relative};
use crate::process::spec::ProcessSpec;
use crate::runner::{AgentEntry, Capabilities, DefaultCommand, Driver, Profile, ProjectFiles, Runner};

pub(crate) struct Script;

static PROFILE: Profile = Profile {
    name: "script-tests",
    language: "shell",
    // The driver's process has no state of tests, so a fork of it is a fresh environment.
    capabilities: Capabilities { fork: true, ..Capabilities::NONE },
    files: ProjectFiles {
        root_markers: &["script-tests.conf"],
        global_inputs: &["**/script-tests.conf"],
        ..ProjectFiles::NONE
    },
    ..Profile::EMPTY
};

impl Runner for Script {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn entry(&self) -> AgentEntry {
        AgentEntry::Driven(Driver { list })
    }

    fn recognizes(&self, command: &[String]) -> bool {
        program_name(command) == Some("script-tests")
    }

    fn default_command(&self, project: &Path) -> Option<DefaultCommand> {
        let is_ours = project.join("script-tests.conf").is_file();
        is_ours.then(|| DefaultCommand::new(&["script-tests", "."], "there is a script-tests.conf")).flatten()
    }
}

fn list(context: &ListContext<'_>) -> Result<ListedSuite, ListError> {
    let directory = context.here.join(context.command.get(1).map_or(".", String::as_str));
    let cannot = |error: std::io::Error| ListError::usage(format!("{}: {error}", directory.display()));
    let entries = fs::read_dir(&directory).map_err(cannot)?.flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "sh"));
    paths.sort();
    let test = |path: PathBuf| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let words = vec!["sh".to_owned(), path.to_string_lossy().into_owned()];
        let program = Arc::new(ScriptProgram { words: words.clone() });
        let file = Some(relative(&path, &context.here));
        TestCase { file, ..TestCase::new(name.clone(), name, program, words) }
    };
    Ok(ListedSuite {
        root: context.here.clone(),
        tests: paths.into_iter().map(test).collect(),
        ..ListedSuite::default()
    })
}

/// Runs one script as one test.
struct ScriptProgram {
    words: Vec<String>,
}

impl Program for ScriptProgram {
    fn start(&self, _tests: &[&TestCase], _jobs: u32) -> Result<ProcessSpec, String> {
        Ok(ProcessSpec { words: self.words.clone(), ..ProcessSpec::default() })
    }

    fn listener(&self, _tests: &[&TestCase]) -> Box<dyn OutputListener> {
        Box::new(SingleTestListener::new(TestResult::of_whole_program))
    }
}
