//! Every file in `tests/cases` is a test: a ledger, and its balance in the last line.
//!
//! Understands as much of the usual arguments as `cargo test` and its friends need: `--list`, `--exact`, `--ignored`
//! and names.
use std::fs;
use std::process::ExitCode;

use ledger::Ledger;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    let names: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-') && *arg != "terse").collect();
    let chosen = |case: &String| {
        names.is_empty()
            || names.iter().any(|name| if has("--exact") { case == *name } else { case.contains(name.as_str()) })
    };
    let cases: Vec<String> = if has("--ignored") { Vec::new() } else { cases().into_iter().filter(chosen).collect() };
    if has("--list") {
        cases.iter().for_each(|case| println!("{case}: test"));
        return ExitCode::SUCCESS;
    }
    let mut failed = false;
    for case in &cases {
        match check(case) {
            Ok(()) => println!("test {case} ... ok"),
            Err(message) => {
                println!("test {case} ... FAILED\n{message}");
                failed = true;
            }
        }
    }
    ExitCode::from(if failed { 101 } else { 0 })
}

fn cases() -> Vec<String> {
    let mut cases: Vec<String> = fs::read_dir("tests/cases")
        .expect("the cases are there")
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    cases.sort();
    cases
}

fn check(case: &str) -> Result<(), String> {
    let text = fs::read_to_string(format!("tests/cases/{case}.ledger")).map_err(|error| error.to_string())?;
    let (bookings, balance) = text.trim_end().rsplit_once("\n= ").ok_or("no balance in the last line")?;
    let found = Ledger::parse(bookings).map_err(|mistake| mistake.to_string())?.balance();
    if balance == found.to_string() {
        Ok(())
    } else {
        Err(format!("balance {found} instead of {balance}"))
    }
}
