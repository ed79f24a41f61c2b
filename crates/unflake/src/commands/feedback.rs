//! `unflake answer`: what people say of findings.

use std::io::{self, Write};

use unflake_model::{Day, Feedback};
use unflake_report::one_line;
use unflake_store::{Store, StoreLocation, StoredFinding};

use crate::args::{AnswerArgs, Word};
use crate::error::Trouble;
use crate::history_recorder;
use crate::test_scores;

/// So many findings are listed.
const LISTED: usize = 20;
/// Fewer letters name too much.
const LETTERS: usize = 4;

pub(crate) fn obey(args: &AnswerArgs, place: &StoreLocation) -> Result<(), Trouble> {
    let mut store = test_scores::open(place)?;
    let Some(wanted) = &args.finding else { return list(&store) };
    let said = match find(&store, wanted)? {
        Some(said) => said,
        None => of_test(&store, wanted)?,
    };
    let sentence = format!("{} {}", said.finding.test, said.finding.sentence);
    let id = said.finding.id();
    let Some(word) = args.answer else {
        let what = format!("say whether it was of use: {}", one_line(&sentence));
        return Err(Trouble::usage(what).hint(format!("`unflake answer {} not-useful`, or `useful`", &id.0[..8])));
    };
    let useful = word == Word::Useful;
    store.answer(&Feedback { finding: id.clone(), useful, at: history_recorder::now(), why: args.why.clone() })?;
    let kept = match useful {
        true => "useful: it is told in full again".to_owned(),
        false => {
            let back = format!("`unflake answer {} useful` takes it back", &id.0[..8]);
            format!("not useful: it will come after others, in short\n  → {back}")
        }
    };
    println!("{}\n  {kept}", one_line(&sentence));
    Ok(())
}

/// The finding whose name begins so. None: these letters are no name of one.
pub(crate) fn find(store: &Store, letters: &str) -> Result<Option<StoredFinding>, Trouble> {
    let is_name = letters.len() >= LETTERS && letters.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_name {
        return Ok(None);
    }
    let letters = letters.to_ascii_lowercase();
    let mut found: Vec<StoredFinding> = store.latest_findings(usize::MAX)?;
    found.retain(|said| said.finding.id().0.starts_with(&letters));
    match found.len() {
        0 | 1 => Ok(found.pop()),
        more => Err(Trouble::usage(format!("{more} findings begin with `{letters}`")).hint("give more of its letters")),
    }
}

/// The one finding of a test.
fn of_test(store: &Store, name: &str) -> Result<StoredFinding, Trouble> {
    let mut found = Vec::new();
    for test in store.find_tests(name)? {
        found.extend(store.findings_on(&test)?);
    }
    if found.len() == 1 {
        return Ok(found.remove(0));
    }
    let mut what = match found.len() {
        0 => format!("nothing was found that is called `{}`, or of a test with that in its name", one_line(name)),
        more => format!("{more} things were found of tests with `{}` in their names; name one:", one_line(name)),
    };
    found.iter().take(LISTED).for_each(|said| what.push_str(&format!("\n    {}", line(said))));
    Err(Trouble::usage(what).hint("`unflake answer` lists what was found"))
}

fn list(store: &Store) -> Result<(), Trouble> {
    let said = store.latest_findings(LISTED)?;
    let answers = store.answers()?;
    let mut out = io::stdout().lock();
    let mut write = || -> io::Result<()> {
        if said.is_empty() {
            writeln!(out, "  nothing was found yet that could be answered")?;
        }
        for said in &said {
            writeln!(out, "  {}", line(said))?;
            let id = said.finding.id();
            if let Some(answer) = answers.iter().find(|answer| answer.finding == id) {
                let word = if answer.useful { "useful" } else { "not useful" };
                let why = answer.why.as_deref().map(|why| format!(": {}", one_line(why))).unwrap_or_default();
                writeln!(out, "            you said {word} on {}{why}", Day::of(answer.at))?;
            }
        }
        Ok(())
    };
    // A reader that has gone away (`| head`) is no trouble.
    let _ = write();
    Ok(())
}

fn line(said: &StoredFinding) -> String {
    let finding = &said.finding;
    format!("{}  {}  {}", &finding.id().0[..8], one_line(finding.test.as_str()), one_line(&finding.sentence))
}
