//! `unflake score`: the flaky tests, the likeliest to fail next first.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use unflake_report::{ScoreRow, ScoreState, Scores, TerminalStyle, TimeZone};
use unflake_store::{Source, StoreLocation, TestKey};
use unflake_techniques::{RateChange, TestHealth, TestStanding};

use crate::args::ScoreArgs;
use crate::config::project;
use crate::error::Trouble;
use crate::owners::Owners;
use crate::test_scores::{self, Standings, strip};

/// Runs that are drawn.
const STRIP: usize = 60;

pub(crate) fn show(args: &ScoreArgs, place: &StoreLocation, here: &Path, look: &TerminalStyle) -> Result<(), Trouble> {
    let store = test_scores::open(place)?;
    let standings = test_scores::look(&store, args.main.as_deref())?;
    let owners = Owners::find(&project::find(here));
    let mut rows: Vec<ScoreRow> = standings
        .all
        .iter()
        .filter(|(_, standing)| args.all || concerns(standing, args.least))
        .filter_map(|(key, standing)| row(*key, standing, &standings, &owners))
        .filter(|row| args.tests.is_empty() || args.tests.iter().any(|part| row.test.contains(part.as_str())))
        .collect();
    rows.sort_by(|one, other| {
        let rank = |row: &ScoreRow| (row.state == ScoreState::Broken, -row.probability);
        rank(one).partial_cmp(&rank(other)).unwrap_or(std::cmp::Ordering::Equal).then_with(|| one.test.cmp(&other.test))
    });
    let scores = Scores {
        tests: standings.all.len(),
        runs: standings.runs.len(),
        excluded_runs: standings.bad_days.len(),
        since: standings.runs.first().map(|run| run.started),
        rows,
        exit: unflake_report::Exit { code: 0, meaning: "the scores are told" },
    };
    if let Some(path) = &args.json {
        let written = if path.as_os_str() == "-" {
            scores.json(&mut io::stdout().lock())
        } else {
            File::create(path).and_then(|file| scores.json(&mut BufWriter::new(file)))
        };
        written.map_err(Trouble::internal("write the scores as JSON"))?;
        if path.as_os_str() == "-" {
            return Ok(());
        }
    }
    let mut out = BufWriter::new(io::stdout().lock());
    scores
        .write(args.limit, &TimeZone::system(), look, &mut out)
        .and_then(|()| out.flush())
        .or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
        .map_err(Trouble::internal("print the scores"))
}

/// Whether a person should look at it.
pub(crate) fn concerns(standing: &TestStanding, least: f64) -> bool {
    standing.score.state == TestHealth::Broken || standing.score.is_flaky() && standing.score.probability >= least
}

/// How one test stands, in words for people. None: nobody knows its name.
pub(crate) fn row(key: TestKey, standing: &TestStanding, standings: &Standings, owners: &Owners) -> Option<ScoreRow> {
    let kin = standings.tests.get(&key)?;
    let score = &standing.score;
    let run = |at: usize| standing.strip.get(at).and_then(|(run, _)| standings.runs.get(*run as usize));
    let since = score.since.and_then(|since| {
        let first: &Source = run(since.run)?;
        Some(unflake_report::ScoreSince {
            what: match since.change {
                RateChange::Broken => "broken",
                RateChange::Mended => "mended",
                RateChange::Flaky => "flaky",
                RateChange::Fixed => "fixed",
                RateChange::Worse => "worse",
                RateChange::Better => "better",
            },
            when: first.started,
            commit: first.commit.clone(),
            earliest: run(since.earliest).map(|run| run.started),
            latest: run(since.latest.min(standing.strip.len() - 1)).map(|run| run.started),
            give_or_take: (since.run - since.earliest).max(since.latest - since.run),
        })
    });
    Some(ScoreRow {
        test: kin.test.as_str().to_owned(),
        file: kin.file.clone(),
        probability: score.probability,
        low: score.low,
        high: score.high,
        runs: score.runs,
        failures: score.failures,
        broken: score.broken,
        state: match score.state {
            TestHealth::Sound => ScoreState::Sound,
            TestHealth::Flaky => ScoreState::Flaky,
            TestHealth::Bursty => ScoreState::Bursty,
            TestHealth::Broken => ScoreState::Broken,
        },
        since,
        owner: kin.file.as_deref().map(|file| owners.of(file).to_owned()).unwrap_or_default(),
        seconds_lost: f64::from(standing.seconds_lost),
        strip: strip(standing, STRIP),
        formerly: standings.formerly(key),
    })
}
