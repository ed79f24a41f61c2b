//! Agents for runners that nothing can be brought into: they start the tests as processes of their own.
//!
//! unflake starts itself once more as the driver of such a command. The driver keeps the contract in `agents/README.md` as
//! an agent inside a runner does: it lists tests, runs what it is told, observes and reports, and decides nothing.
//! Deliberately absent: any knowledge of what unflake does with the answers.

mod capture;
mod cargo;
mod class_file;
mod class_path;
mod crowd;
mod ctest;
mod desk;
mod driver;
mod early;
mod gradle;
mod gtest;
mod gtest_output;
mod junit;
mod junit_judge;
mod junit_xml;
mod jvm;
mod jvm_archive;
mod jvm_assertions;
mod jvm_depends;
mod jvm_hook;
mod jvm_kit;
mod jvm_loaders;
mod jvm_state;
mod jvm_words;
mod libtest;
mod maven;
mod nextest;
mod output;
mod panics;
mod process;
mod run;
mod sanitizers;
mod shared;
mod stand_in;
mod suite;
mod template;
mod told;
mod tracing;
mod wire;
mod written;

use std::path::Path;
use std::process::ExitCode;

pub use class_path::ClassPath;
pub use junit::Reports;
pub use stand_in::hand_over;

/// The runners that are driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    CargoTest,
    Nextest,
    Ctest,
    GoogleTest,
    Libtest,
    Maven,
    Gradle,
}

impl Kind {
    /// The runner and its language.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::CargoTest => ("cargo test", "Rust"),
            Self::Nextest => ("cargo nextest", "Rust"),
            Self::Ctest => ("CTest", "C++"),
            Self::GoogleTest => ("GoogleTest", "C++"),
            Self::Libtest => ("libtest", "Rust"),
            Self::Maven => ("Maven", "Java"),
            Self::Gradle => ("Gradle", "Java"),
        }
    }
}

/// Whether tests of such a command can be run in any order in one process, and again in it.
pub fn shares_processes(command: &[String]) -> bool {
    matches!(kind_of(command), Some(Kind::Maven | Kind::Gradle))
}

/// Whether what runs tests of such a command can tell their assertions, and let some fail.
pub fn tells_assertions(command: &[String]) -> bool {
    matches!(kind_of(command), Some(Kind::Maven | Kind::Gradle))
}

/// Whether a command is one of those that are driven and not entered.
pub fn drives(command: &[String]) -> bool {
    kind_of(command).is_some()
}

/// The driver's own main. `command` is the user's.
pub fn drive(command: &[String]) -> ExitCode {
    let Some(kind) = kind_of(command) else {
        eprintln!("this command has no driver: {}", command.join(" "));
        return ExitCode::from(2);
    };
    driver::obey(kind.names(), |workshop| match kind {
        Kind::CargoTest => cargo::list(command, workshop),
        Kind::Nextest => nextest::list(command, workshop),
        Kind::Ctest => ctest::list(command, workshop),
        Kind::GoogleTest => gtest::list(command, workshop),
        Kind::Libtest => libtest::list(command),
        Kind::Maven => maven::list(command, workshop),
        Kind::Gradle => gradle::list(command, workshop),
    })
}

/// The same for a command that is followed by the reports it writes.
pub fn drive_by_reports(reports: &Reports, command: &[String]) -> ExitCode {
    driver::obey(("JUnit XML", "any language"), |workshop| junit::list(reports, command, workshop))
}

/// The same for compiled Java tests, wherever they come from. `command` compiles them.
pub fn drive_class_path(class_path: &ClassPath, command: &[String]) -> ExitCode {
    driver::obey(("JUnit", "Java"), |workshop| class_path::list(class_path, command, workshop))
}

/// Whether a command for one test can be used, or why not.
pub fn check_one_test(template: &str) -> Result<(), String> {
    template::Template::parse(template).map(|_| ())
}

/// How many tests a JUnit report has, or why it is none. Any bytes may be given.
pub fn count_reported(bytes: &[u8]) -> Result<usize, String> {
    junit_xml::read(bytes).map(|report| report.tests.len())
}

fn kind_of(command: &[String]) -> Option<Kind> {
    let program = command.first()?;
    match Path::new(program).file_name()?.to_str()? {
        "cargo" => match command[1..].iter().map(String::as_str).find(|word| !word.starts_with('+'))? {
            "test" | "t" => Some(Kind::CargoTest),
            "nextest" => Some(Kind::Nextest),
            _ => None,
        },
        "ctest" | "ctest3" => Some(Kind::Ctest),
        "mvn" | "mvnw" => Some(Kind::Maven),
        "gradle" | "gradlew" => Some(Kind::Gradle),
        _ => {
            let binary = suite::found(program)?;
            if libtest::is_one(&binary) {
                Some(Kind::Libtest)
            } else if gtest::is_one(&binary) {
                Some(Kind::GoogleTest)
            } else {
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(command: &[&str]) -> Option<Kind> {
        kind_of(&command.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn commands_are_known_by_their_words() {
        assert_eq!(kind(&["cargo", "test", "--workspace"]), Some(Kind::CargoTest));
        assert_eq!(kind(&["cargo", "+nightly", "t"]), Some(Kind::CargoTest));
        assert_eq!(kind(&["/usr/bin/cargo", "nextest", "run"]), Some(Kind::Nextest));
        assert_eq!(kind(&["ctest", "--test-dir", "build"]), Some(Kind::Ctest));
        assert_eq!(kind(&["./gradlew", "test"]), Some(Kind::Gradle));
        assert_eq!(kind(&["./mvnw", "-q", "test"]), Some(Kind::Maven));
        assert_eq!(kind(&["cargo", "build"]), None);
        assert_eq!(kind(&["pytest"]), None);
        assert_eq!(kind(&[]), None);
    }

    #[test]
    fn this_very_test_is_a_libtest_binary() {
        let myself = std::env::current_exe().unwrap();
        assert_eq!(kind(&[myself.to_str().unwrap()]), Some(Kind::Libtest));
    }
}
