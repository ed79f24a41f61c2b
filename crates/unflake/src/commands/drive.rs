//! `unflake drive`: the driver process of a runner that no agent can be injected into. unflake
//! starts it itself.

use std::process::ExitCode;

use unflake_runners::{ClassPath, ResultsCommand};

use crate::args::internal::DriveArgs;

pub(crate) fn run(args: DriveArgs) -> ExitCode {
    let DriveArgs { results, one_test, classpath_file, test_classes, command } = args;
    match (results, one_test, classpath_file) {
        (Some(results), Some(one_test), _) => {
            unflake_runners::drive_by_reports(&ResultsCommand { results, one_test }, &command)
        }
        (_, _, Some(file)) => unflake_runners::drive_class_path(&ClassPath { file, test_classes }, &command),
        _ => unflake_runners::drive(&command),
    }
}
