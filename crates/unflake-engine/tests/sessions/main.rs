//! Real sessions, run by the engine: with the agent in `agent.py`, whose tests are scripted, and
//! with the agent for pytest.

mod project;
mod project_files;
mod random_sessions;
mod shared_states;

use std::panic;
use std::process::ExitCode;

/// A test and its name.
type NamedTest = (&'static str, fn());

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "supervise") {
        return unflake_engine::supervise(&arguments[1..]);
    }
    if arguments.first().is_some_and(|first| first == "write-and-continue") {
        project_files::write_and_continue();
        return ExitCode::SUCCESS;
    }
    let tests: Vec<NamedTest> = [shared_states::TESTS, project_files::TESTS, random_sessions::TESTS].concat();
    let list = arguments.iter().any(|word| word == "--list");
    let wanted = arguments.iter().find(|word| !word.starts_with('-'));
    let mut failed = 0;
    for (name, test) in tests.into_iter().filter(|(name, _)| wanted.is_none_or(|wanted| name.contains(wanted))) {
        if list {
            println!("{name}: test");
            continue;
        }
        let passed = panic::catch_unwind(test).is_ok();
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        failed += u8::from(!passed);
    }
    ExitCode::from(failed)
}
