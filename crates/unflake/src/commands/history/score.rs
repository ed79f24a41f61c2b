//! `unflake history score`: lists flaky tests by how likely they are to fail in their next run.

use std::path::Path;

use unflake_report::{ScoreRow, ScoreState, Scores, TimeZone};
use unflake_store::{Source, TestKey};
use unflake_techniques::{RateChange, TestHealth, TestStanding};

use crate::args::history::HistoryScoreArgs;
use crate::config::project;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::history::scores::{self, TestScores, strip};
use crate::output::console::print;
use crate::output::write_to;
use crate::project::code_owners::CodeOwners;

/// The number of latest runs that are drawn.
const STRIP: usize = 60;

pub(crate) fn run(args: HistoryScoreArgs, context: &Context) -> Result<Exit, CommandError> {
    let store = scores::open(&context.store(args.store)?)?;
    let computed = scores::compute(&store, args.main_branch.name.as_deref())?;
    let owners = CodeOwners::find(&project::find(&context.here));
    let mut rows: Vec<ScoreRow> = computed
        .all
        .iter()
        .filter(|(_, standing)| args.all || concerns(standing, args.min_score))
        .filter_map(|(key, standing)| row(*key, standing, &computed, &owners))
        .filter(|row| args.tests.is_empty() || args.tests.iter().any(|part| row.test.contains(part.as_str())))
        .collect();
    rows.sort_by(|one, other| {
        let rank = |row: &ScoreRow| (row.state == ScoreState::Broken, -row.probability);
        rank(one).partial_cmp(&rank(other)).unwrap_or(std::cmp::Ordering::Equal).then_with(|| one.test.cmp(&other.test))
    });
    let scores = Scores {
        tests: computed.all.len(),
        runs: computed.runs.len(),
        excluded_runs: computed.bad_days.len(),
        since: computed.runs.first().map(|run| run.started),
        rows,
        exit: unflake_report::ExitMeaning { code: 0, meaning: "the scores are printed" },
    };
    if let Some(path) = &args.json {
        write_to(path, |out| scores.json(out)).map_err(CommandError::internal("write the scores as JSON"))?;
    }
    if args.json.as_deref() != Some(Path::new("-")) {
        print("print the scores", |out| scores.write(args.limit, &TimeZone::system(), &context.style(), out))?;
    }
    Ok(Exit::Success)
}

/// Whether the test needs attention: it is broken, or flaky with at least this probability of
/// failing.
pub(crate) fn concerns(standing: &TestStanding, min_score: f64) -> bool {
    standing.score.state == TestHealth::Broken || standing.score.is_flaky() && standing.score.probability >= min_score
}

/// The score of one test for people. None where the history does not know its name.
pub(crate) fn row(key: TestKey, standing: &TestStanding, scores: &TestScores, owners: &CodeOwners) -> Option<ScoreRow> {
    let stored = scores.tests.get(&key)?;
    let score = &standing.score;
    let run = |at: usize| standing.strip.get(at).and_then(|(run, _)| scores.runs.get(*run as usize));
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
        test: stored.test.as_str().to_owned(),
        file: stored.file.clone(),
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
        owner: stored.file.as_deref().map(|file| owners.of(file).to_owned()).unwrap_or_default(),
        seconds_lost: f64::from(standing.seconds_lost),
        strip: strip(standing, STRIP),
        formerly: scores.formerly(key),
    })
}
