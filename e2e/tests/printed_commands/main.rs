//! Every command that unflake prints to reproduce a finding must show what it claims.
//!
//! Each test runs a technique on a specimen, pastes every printed command into a shell in the
//! directory of the specimen, and compares what happens with the claim. Tests are named after the
//! specimen and the technique; ignored ones take long:
//!
//! ```sh
//! cargo test -p e2e --test printed_commands order::python
//! cargo test -p e2e --test printed_commands -- --include-ignored
//! ```

mod cases;

use std::sync::atomic::{AtomicUsize, Ordering};

use cases::Case;
use e2e::{Pasted, PrintedCommand};
use libtest_mimic::{Arguments, Failed, Trial};

/// Commands of all tests, by result.
static TOTALS: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];

fn main() {
    let trial = |case: Case| {
        let ignored = !case.is_quick;
        Trial::test(case.name.clone(), move || check(&case)).with_ignored_flag(ignored)
    };
    let trials = cases::all().into_iter().map(trial).collect();
    let conclusion = libtest_mimic::run(&Arguments::from_args(), trials);
    let [shown, not_shown, wrong] = TOTALS.each_ref().map(|total| total.load(Ordering::Relaxed));
    let all = shown + not_shown + wrong;
    println!("{all} commands: {shown} show what they claim, {not_shown} did not by chance, {wrong} do not\n");
    conclusion.exit();
}

/// Runs the technique, then every command that it prints.
fn check(case: &Case) -> Result<(), Failed> {
    let sandbox = case.sandbox();
    let result = case.run(&sandbox);
    let mut wrong = Vec::new();
    let mut commands = 0;
    for finding in result.json.iter().flat_map(|json| json["findings"].as_array().into_iter().flatten()) {
        for command in PrintedCommand::all_of(finding) {
            commands += 1;
            let pasted = command.paste(&sandbox, &case.variables(&sandbox));
            let (total, verdict) = match &pasted {
                Pasted::Shown => (0, "shown"),
                Pasted::NotShown => (1, "not shown by chance"),
                Pasted::Wrong(_) => (2, "wrong"),
            };
            TOTALS[total].fetch_add(1, Ordering::Relaxed);
            eprintln!("{}: {verdict}: {command}", case.name);
            if let Pasted::Wrong(what) = pasted {
                wrong.push(format!("{command}\n{what}"));
            }
        }
    }
    if commands == 0 && case.prints_commands {
        wrong.push(format!("no command is printed\n{}\n{}", result.stdout, result.stderr));
    }
    match &case.known_gap {
        _ if wrong.is_empty() => Ok(()),
        Some(gap) => {
            eprintln!("{}: known gap: {gap}", case.name);
            Ok(())
        }
        None => Err(wrong.join("\n\n").into()),
    }
}
