//! `unflake locate --all`: locates every flaky test ahead of time, within one budget.

use std::path::Path;
use std::time::{Duration, Instant};

use unflake_model::TestId;
use unflake_report::{self as report, LocateReport, PreparedBatch, PreparedEntry, PreparedKind};
use unflake_store::ReadyReport;

use crate::args::locate::{LocateArgs, LocateLimits};
use crate::commands::locate::command::{TIME, shown};
use crate::commands::locate::divergence_run::{self, LocateRequest, LocateResult};
use crate::commands::locate::prepared_reports;
use crate::config::project;
use crate::config::settings::{self, Settings};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::history::scores;
use crate::interrupt::was_interrupted;
use crate::output::console::print;
use crate::output::report_path::report_path;
use crate::output::{write_file, write_to};
use crate::project::source_files::SourceFiles;
use crate::project::worktree_hash;

/// The default budget for all tests together.
const BUDGET: Duration = Duration::from_secs(30 * 60);
/// With fewer seconds left no test is started: it would only be cut short.
const SHORTEST_SEARCH: f64 = 2.0;

pub(crate) fn run(args: LocateArgs, context: &Context) -> Result<Exit, CommandError> {
    let began = Instant::now();
    let settings = &context.search_settings(args.settings, args.command)?;
    let seconds = settings::time(args.time.as_deref(), BUDGET)?;
    let Some(tree) = worktree_hash::state(&context.here) else {
        let what = "prepared reports need git to identify the files they cover: this is not a repository with a commit";
        return Err(CommandError::usage(what).hint("`unflake locate TEST` needs none"));
    };
    let store = scores::open(&settings.store.value)?;
    let scores = scores::compute(&store, args.main_branch.as_deref())?;
    let mut flaky: Vec<(TestId, f64)> = (scores.all.iter())
        .filter(|(_, standing)| standing.score.is_flaky() && standing.score.probability >= args.min_score)
        .filter_map(|(key, standing)| Some((scores.tests.get(key)?.test.clone(), standing.score.probability)))
        .collect();
    flaky.sort_by(|(one, score), (other, than)| than.total_cmp(score).then_with(|| one.cmp(other)));
    let known = if args.again { Vec::new() } else { store.prepared(Some(&tree))? };
    drop(store);

    let (limits, lines_only, quiet) = (args.limits, args.lines_only, args.output.quiet);
    let mut batch =
        LocateBatch { limits, lines_only, quiet, settings, context, tree, known, began, seconds, notes: Vec::new() };
    let mut tests: Vec<(usize, PreparedEntry)> = Vec::new();
    // Tests that were cut short last time are resumed after all others.
    let (cut_short, others): (Vec<usize>, Vec<usize>) =
        (0..flaky.len()).partition(|at| batch.was_cut_short(&flaky[*at].0));
    for at in others.into_iter().chain(cut_short) {
        let (test, score) = &flaky[at];
        tests.push((at, batch.prepare(test, *score)));
    }
    tests.sort_by_key(|(at, _)| *at);
    let tests: Vec<PreparedEntry> = tests.into_iter().map(|(_, test)| test).collect();
    batch.report(&tests, args.min_score, args.output.json.as_deref())
}

/// The searches of one call.
struct LocateBatch<'a> {
    limits: LocateLimits,
    lines_only: bool,
    quiet: bool,
    settings: &'a Settings,
    context: &'a Context,
    /// The hash of the files that reports are about.
    tree: String,
    /// Reports on these files that are in the history.
    known: Vec<ReadyReport>,
    began: Instant,
    /// The budget.
    seconds: f64,
    notes: Vec<String>,
}

impl LocateBatch<'_> {
    fn ready(&self, test: &TestId) -> Option<&ReadyReport> {
        self.known
            .iter()
            .find(|ready| ready.test == *test)
            .filter(|ready| prepared_reports::is_as_thorough(ready, &self.request(test)))
    }

    fn was_cut_short(&self, test: &TestId) -> bool {
        self.ready(test).is_some_and(|ready| ready.report.cut_short)
    }

    fn left(&self) -> f64 {
        self.seconds - self.began.elapsed().as_secs_f64()
    }

    fn request(&self, test: &TestId) -> LocateRequest {
        LocateRequest {
            test: test.as_str().to_owned(),
            runs: self.limits.runs,
            most: self.limits.max_runs(),
            seconds: TIME.as_secs_f64().min(self.left()),
            lines_only: self.lines_only,
            worlds: Vec::new(),
            schedule: None,
            builds: None,
        }
    }

    fn prepare(&mut self, test: &TestId, score: f64) -> PreparedEntry {
        let of = |kind, meaning: &str| {
            let (test, meaning) = (test.clone(), meaning.to_owned());
            PreparedEntry { test, score, kind, meaning, finding: None, page: None }
        };
        if let Some(ready) = self.ready(test).filter(|ready| !ready.report.cut_short) {
            let result = prepared_reports::as_result(ready, &[]);
            let page = self.page(&result);
            let finding = result.record.findings.into_iter().next();
            return PreparedEntry { finding, page, ..of(PreparedKind::Ready, &result.conclusion.meaning) };
        }
        if was_interrupted() {
            return of(PreparedKind::Left, "interrupted before");
        }
        if self.left() < SHORTEST_SEARCH {
            return of(PreparedKind::Left, "budget exhausted");
        }
        let progress = self.context.progress(self.quiet);
        let result =
            divergence_run::search(&self.request(test), self.settings, self.context, progress, Some(&self.tree));
        let result = match result {
            Ok(result) => result,
            Err(error) => return of(PreparedKind::Failed, &error.message),
        };
        for note in &result.record.notes {
            if !self.notes.contains(note) {
                self.notes.push(note.clone());
            }
        }
        let page = self.page(&result);
        let meaning = match result.record.problems.first() {
            Some(problem) => {
                format!("{}: {}", result.conclusion.meaning, problem.text.lines().next().unwrap_or_default())
            }
            None => result.conclusion.meaning.clone(),
        };
        let kind = kind(&result);
        PreparedEntry { finding: result.record.findings.into_iter().next(), page, ..of(kind, &meaning) }
    }

    /// Writes the full report where there is a finding, and returns its path.
    fn page(&mut self, result: &LocateResult) -> Option<String> {
        let finding = result.record.findings.first()?;
        let path = report_path(&self.settings.store.value.dir, &finding.test, "");
        let root = project::find(&self.context.here);
        let sources = SourceFiles::new(&root);
        let sources = |file: &str| sources.lines(file);
        let located = LocateReport::new(finding, &sources, result.record.totals.seconds);
        match write_file(&path, |out| report::locate_page(&located, out)) {
            Ok(()) => Some(shown(&path, &self.context.here)),
            Err(error) => {
                self.notes.push(format!("a full report was not written: {}: {error}", path.display()));
                None
            }
        }
    }

    fn report(self, tests: &[PreparedEntry], min_score: f64, json: Option<&Path>) -> Result<Exit, CommandError> {
        let some = |kind| tests.iter().any(|test| test.kind == kind);
        let any_ran = tests.iter().any(|test| !matches!(test.kind, PreparedKind::Failed | PreparedKind::Left));
        let exit = match () {
            () if was_interrupted() => Exit::Interrupted,
            () if some(PreparedKind::Failed) && !any_ran => Exit::Runner,
            () => Exit::Success,
        };
        let meaning = report::prepared_totals(tests);
        let batch = PreparedBatch {
            schema: 1,
            command: "locate --all",
            exit: report::ExitMeaning { code: exit.code(), meaning: &meaning },
            tree: &self.tree,
            at_least: min_score,
            seconds: self.began.elapsed().as_secs_f64(),
            tests,
            notes: &self.notes,
        };
        if let Some(path) = json {
            let doing = if path.as_os_str() == "-" { "write the JSON" } else { "write the JSON file" };
            write_to(path, |out| batch.json(out)).map_err(CommandError::internal(doing))?;
        }
        if json != Some(Path::new("-")) {
            print("print the reports", |out| batch.write(&self.context.style(), self.quiet, out))?;
        }
        Ok(exit)
    }
}

fn kind(result: &LocateResult) -> PreparedKind {
    match result.conclusion.exit {
        Exit::Interrupted => PreparedKind::Left,
        _ if !result.kept => PreparedKind::Failed,
        _ if result.cut_short => PreparedKind::CutShort,
        _ if result.record.findings.is_empty() => PreparedKind::NotReproduced,
        _ => PreparedKind::Located,
    }
}
