//! Agents for runners that nothing can be brought into: they start the tests as processes of their own.
//!
//! unflake starts itself once more as the driver of such a command. The driver keeps the contract in `agents/README.md` as
//! an agent inside a runner does: it lists tests, runs what it is told, observes and reports, and decides nothing.
//! Deliberately absent: any knowledge of what unflake does with the answers.

mod cargo;
mod cpp;
mod driver;
mod junit_xml;
mod jvm;
mod process;
mod pytest;
use std::path::Path;
use std::process::ExitCode;

pub use cargo::shims::hand_over;
pub use junit_xml::results_command::ResultsCommand;
pub use jvm::class_path::ClassPath;

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

/// The factors that runners declare.
pub fn factors() -> impl Iterator<Item = &'static unflake_model::FactorDeclaration> {
    pytest::factors::FACTORS.into_iter()
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
    driver::orders::obey(kind.names(), |workshop| match kind {
        Kind::CargoTest => cargo::cargo_test::list(command, workshop),
        Kind::Nextest => cargo::nextest::list(command, workshop),
        Kind::Ctest => cpp::ctest::list(command, workshop),
        Kind::GoogleTest => cpp::gtest::list(command, workshop),
        Kind::Libtest => cargo::libtest::list(command),
        Kind::Maven => jvm::maven::list(command, workshop),
        Kind::Gradle => jvm::gradle::list(command, workshop),
    })
}

/// The same for a command that is followed by the reports it writes.
pub fn drive_by_reports(reports: &ResultsCommand, command: &[String]) -> ExitCode {
    driver::orders::obey(("JUnit XML", "any language"), |workshop| {
        junit_xml::results_command::list(reports, command, workshop)
    })
}

/// The same for compiled Java tests, wherever they come from. `command` compiles them.
pub fn drive_class_path(class_path: &ClassPath, command: &[String]) -> ExitCode {
    driver::orders::obey(("JUnit", "Java"), |workshop| jvm::class_path::list(class_path, command, workshop))
}

/// Whether a command for one test can be used, or why not.
pub fn check_one_test(template: &str) -> Result<(), String> {
    junit_xml::one_test_command::Template::parse(template).map(|_| ())
}

/// How many tests a JUnit report has, or why it is none. Any bytes may be given.
pub fn count_reported(bytes: &[u8]) -> Result<usize, String> {
    junit_xml::report::read(bytes).map(|report| report.tests.len())
}

/// How many assertions a Java source has, as far as it can be read. Any text may be given.
pub fn count_assertions(source: &str) -> usize {
    jvm::java_sites::sites("Any.java", source).map_or(0, |sites| sites.len())
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
            let binary = driver::suite::found(program)?;
            if cargo::libtest::is_one(&binary) {
                Some(Kind::Libtest)
            } else if cpp::gtest::is_one(&binary) {
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
