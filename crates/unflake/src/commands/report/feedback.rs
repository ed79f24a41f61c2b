//! `unflake report feedback`: records whether a finding was useful.

use unflake_model::{Day, Feedback, Finding};
use unflake_report::one_line;
use unflake_store::{Store, StoredFinding};

use crate::args::report::{ReportFeedbackArgs, Usefulness};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::history::{recorder, scores};
use crate::output::console::print;

/// The number of findings that are listed.
const LISTED: usize = 20;
/// The shortest prefix of an id that names a finding.
const SHORTEST_PREFIX: usize = 4;

pub(crate) fn run(args: ReportFeedbackArgs, context: &Context) -> Result<Exit, CommandError> {
    let mut store = scores::open(&context.store(args.store)?)?;
    let Some(wanted) = &args.finding else { return list(&store) };
    let stored = match find(&store, wanted)? {
        Some(stored) => stored,
        None => of_test(&store, wanted)?,
    };
    let sentence = format!("{} {}", stored.finding.test, stored.finding.sentence);
    let id = stored.finding.id();
    let Some(answer) = args.feedback else {
        let what = format!("mark it as useful or not: {}", one_line(&sentence));
        return Err(
            CommandError::usage(what).hint(format!("`unflake report feedback {} not-useful`, or `useful`", &id.0[..8]))
        );
    };
    let useful = answer == Usefulness::Useful;
    store.record_feedback(&Feedback { finding: id.clone(), useful, at: recorder::now(), why: args.why.clone() })?;
    let kept = match useful {
        true => "useful: shown in full again".to_owned(),
        false => {
            let back = format!("`unflake report feedback {} useful` takes it back", &id.0[..8]);
            format!("not useful: shown last and shortened from now on\nhint: {back}")
        }
    };
    println!("{}\n  {kept}", one_line(&sentence));
    Ok(Exit::Success)
}

/// The finding whose id begins with `prefix`. None where the text is not a prefix of an id.
pub(crate) fn find(store: &Store, prefix: &str) -> Result<Option<StoredFinding>, CommandError> {
    if prefix.len() < SHORTEST_PREFIX || !prefix.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let prefix = prefix.to_ascii_lowercase();
    let mut found: Vec<StoredFinding> = store.latest_findings(usize::MAX)?;
    found.retain(|stored| stored.finding.id().0.starts_with(&prefix) && takes_feedback(&stored.finding));
    match found.len() {
        0 | 1 => Ok(found.pop()),
        more => {
            Err(CommandError::usage(format!("{more} findings begin with `{prefix}`")).hint("give more of its letters"))
        }
    }
}

/// The one finding of a test.
fn of_test(store: &Store, name: &str) -> Result<StoredFinding, CommandError> {
    let mut found = Vec::new();
    for test in store.find_tests(name)? {
        found.extend(store.findings_on(&test)?.into_iter().filter(|stored| takes_feedback(&stored.finding)));
    }
    if found.len() == 1 {
        return Ok(found.remove(0));
    }
    let mut what = match found.len() {
        0 => format!("no finding and no test with a finding matches `{}`", one_line(name)),
        more => format!("{more} things were found of tests with `{}` in their names; name one:", one_line(name)),
    };
    found.iter().take(LISTED).for_each(|stored| what.push_str(&format!("\n    {}", line(stored))));
    Err(CommandError::usage(what).hint("`unflake report feedback` lists the findings"))
}

/// Real failures need no feedback.
fn takes_feedback(finding: &Finding) -> bool {
    !finding.is_real() && !finding.is_undecided()
}

fn list(store: &Store) -> Result<Exit, CommandError> {
    let (mut findings, answers) = (store.latest_findings(usize::MAX)?, store.feedback()?);
    findings.retain(|stored| takes_feedback(&stored.finding));
    findings.truncate(LISTED);
    print("print the findings", |out| {
        if findings.is_empty() {
            writeln!(out, "no findings yet")?;
        }
        for stored in &findings {
            writeln!(out, "  {}", line(stored))?;
            let id = stored.finding.id();
            if let Some(answer) = answers.iter().find(|answer| answer.finding == id) {
                let word = if answer.useful { "useful" } else { "not useful" };
                let why = answer.why.as_deref().map(|why| format!(": {}", one_line(why))).unwrap_or_default();
                writeln!(out, "            marked as {word} on {}{why}", Day::of(answer.at))?;
            }
        }
        Ok(())
    })?;
    Ok(Exit::Success)
}

fn line(stored: &StoredFinding) -> String {
    let finding = &stored.finding;
    format!("{}  {}  {}", &finding.id().0[..8], one_line(finding.test.as_str()), one_line(&finding.sentence))
}
