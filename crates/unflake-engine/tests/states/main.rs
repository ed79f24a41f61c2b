//! Sessions that share states, run by the executor for real: with the agent in `agent.py`, whose tests say what they do, and with
//! the real agent for pytest.

mod chance;
mod files;
mod shared;
mod world;

use std::panic;
use std::process::ExitCode;

type Story = (&'static str, fn());

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "keep") {
        return unflake_engine::keep(&arguments[1..]);
    }
    if arguments.first().is_some_and(|first| first == "write-and-go-on") {
        files::write_and_go_on();
        return ExitCode::SUCCESS;
    }
    let stories: Vec<Story> = [shared::STORIES, files::STORIES, chance::STORIES].concat();
    let listed = arguments.iter().any(|word| word == "--list");
    let wanted = arguments.iter().find(|word| !word.starts_with('-'));
    let mut failed = 0;
    for (name, story) in stories.into_iter().filter(|(name, _)| wanted.is_none_or(|wanted| name.contains(wanted))) {
        if listed {
            println!("{name}: test");
            continue;
        }
        let passed = panic::catch_unwind(story).is_ok();
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        failed += u8::from(!passed);
    }
    ExitCode::from(failed)
}
