//! `unflake prepare`: reports on flaky tests, made before anyone asks.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use unflake_model::TestId;
use unflake_report::{self as report, LocateReport, PreparedBatch, PreparedEntry, PreparedKind};
use unflake_store::ReadyReport;

use crate::args::{PrepareArgs, When};
use crate::commands::locate::command::{TIME, page_of, shown, write_page};
use crate::commands::locate::divergence_run::{self, Searched, Wanted};
use crate::commands::locate::prepared_reports;
use crate::commands::run::command::was_stopped;
use crate::config::project;
use crate::config::settings::{self, Settings};
use crate::console;
use crate::error::Trouble;
use crate::exit::Exit;
use crate::sources::Sources;
use crate::test_scores;
use crate::worktree_hash;

/// How long all of it may take.
const BUDGET: Duration = Duration::from_secs(30 * 60);
/// With less time than this left, in seconds, no test is begun: it would only be cut short.
const WORTH_A_BEGINNING: f64 = 2.0;

pub(crate) fn run(args: &PrepareArgs, settings: &Settings, here: &Path, colour: When) -> Result<Exit, Trouble> {
    let began = Instant::now();
    let seconds = settings::time(args.time.as_deref(), BUDGET)?;
    let Some(tree) = worktree_hash::state(here) else {
        let what = "reports are kept for the files they are about, and only git can tell which those are: here is no repository with a commit";
        return Err(Trouble::usage(what).hint("`unflake locate TEST` needs none"));
    };
    let store = test_scores::open(&settings.store.value)?;
    let standings = test_scores::look(&store, args.main.as_deref())?;
    let mut flaky: Vec<(TestId, f64)> = (standings.all.iter())
        .filter(|(_, standing)| standing.score.is_flaky() && standing.score.probability >= args.at_least)
        .filter_map(|(key, standing)| Some((standings.tests.get(key)?.test.clone(), standing.score.probability)))
        .collect();
    flaky.sort_by(|(one, score), (other, than)| than.total_cmp(score).then_with(|| one.cmp(other)));
    let known = if args.again { Vec::new() } else { store.prepared(Some(&tree))? };
    drop(store);

    let mut night = Night { args, settings, here, colour, tree, known, began, seconds, notes: Vec::new() };
    let mut tests: Vec<(usize, PreparedEntry)> = Vec::new();
    // What was cut short is taken up again when all others have had their turn.
    let (cut_short, others): (Vec<usize>, Vec<usize>) =
        (0..flaky.len()).partition(|at| night.was_cut_short(&flaky[*at].0));
    for at in others.into_iter().chain(cut_short) {
        let (test, score) = &flaky[at];
        tests.push((at, night.prepare(test, *score)));
    }
    tests.sort_by_key(|(at, _)| *at);
    let tests: Vec<PreparedEntry> = tests.into_iter().map(|(_, test)| test).collect();
    night.tell(&tests)
}

struct Night<'a> {
    args: &'a PrepareArgs,
    settings: &'a Settings,
    here: &'a Path,
    colour: When,
    /// The files that reports are about, in one word.
    tree: String,
    /// Reports on these files.
    known: Vec<ReadyReport>,
    began: Instant,
    /// How long it may take.
    seconds: f64,
    notes: Vec<String>,
}

impl Night<'_> {
    fn ready(&self, test: &TestId) -> Option<&ReadyReport> {
        self.known
            .iter()
            .find(|ready| ready.test == *test)
            .filter(|ready| prepared_reports::is_as_good(ready, &self.wanted(test)))
    }

    fn was_cut_short(&self, test: &TestId) -> bool {
        self.ready(test).is_some_and(|ready| ready.report.cut_short)
    }

    fn left(&self) -> f64 {
        self.seconds - self.began.elapsed().as_secs_f64()
    }

    fn wanted(&self, test: &TestId) -> Wanted {
        Wanted {
            test: test.as_str().to_owned(),
            runs: self.args.enough.runs,
            most: self.args.enough.most(),
            seconds: TIME.as_secs_f64().min(self.left()),
            lines_only: false,
        }
    }

    fn prepare(&mut self, test: &TestId, score: f64) -> PreparedEntry {
        let of = |kind, meaning: &str| {
            let (test, meaning) = (test.clone(), meaning.to_owned());
            PreparedEntry { test, score, kind, meaning, finding: None, page: None }
        };
        if let Some(ready) = self.ready(test).filter(|ready| !ready.report.cut_short) {
            let searched = prepared_reports::searched(ready, &[]);
            let page = self.page(&searched);
            let finding = searched.gathered.findings.into_iter().next();
            return PreparedEntry { finding, page, ..of(PreparedKind::Ready, &searched.meaning) };
        }
        if was_stopped() {
            return of(PreparedKind::Left, "you stopped it before");
        }
        if self.left() < WORTH_A_BEGINNING {
            return of(PreparedKind::Left, "the time was over before");
        }
        let progress = console::progress(self.colour, self.args.quiet);
        let searched = divergence_run::search(&self.wanted(test), self.settings, self.here, progress, Some(&self.tree));
        let searched = match searched {
            Ok(searched) => searched,
            Err(trouble) => return of(PreparedKind::Failed, trouble.what()),
        };
        for note in &searched.gathered.notes {
            if !self.notes.contains(note) {
                self.notes.push(note.clone());
            }
        }
        let page = self.page(&searched);
        let meaning = match searched.gathered.problems.first() {
            Some(problem) => format!("{}: {}", searched.meaning, problem.text.lines().next().unwrap_or_default()),
            None => searched.meaning.clone(),
        };
        let kind = kind(&searched);
        PreparedEntry { finding: searched.gathered.findings.into_iter().next(), page, ..of(kind, &meaning) }
    }

    /// Writes the full report, where there is one. Its path from here.
    fn page(&mut self, searched: &Searched) -> Option<String> {
        let finding = searched.gathered.findings.first()?;
        let path = page_for(&self.settings.store.value.dir, &finding.test);
        let root = project::find(self.here);
        let sources = Sources::new(&root);
        let sources = |file: &str| sources.lines(file);
        let located = LocateReport::new(finding, &sources, searched.gathered.totals.seconds);
        match write_page(&path, &located) {
            Ok(()) => Some(shown(&path, self.here)),
            Err(error) => {
                self.notes.push(format!("a full report was not written: {}: {error}", path.display()));
                None
            }
        }
    }

    fn tell(self, tests: &[PreparedEntry]) -> Result<Exit, Trouble> {
        let some = |kind| tests.iter().any(|test| test.kind == kind);
        let any_ran = tests.iter().any(|test| !matches!(test.kind, PreparedKind::Failed | PreparedKind::Left));
        let exit = match () {
            () if was_stopped() => Exit::Interrupted,
            () if some(PreparedKind::Failed) && !any_ran => Exit::Runner,
            () => Exit::Success,
        };
        let meaning = report::prepared_in_words(tests);
        let preparing = PreparedBatch {
            schema: 1,
            command: "prepare",
            exit: report::Exit { code: exit.code(), meaning: &meaning },
            tree: &self.tree,
            at_least: self.args.at_least,
            seconds: self.began.elapsed().as_secs_f64(),
            tests,
            notes: &self.notes,
        };
        match &self.args.json {
            Some(path) if path.as_os_str() == "-" => {
                preparing.json(&mut io::stdout().lock()).map_err(Trouble::internal("write the JSON"))?;
                return Ok(exit);
            }
            Some(path) => {
                let file = File::create(path).map_err(Trouble::internal("write the JSON file"))?;
                preparing.json(&mut BufWriter::new(file)).map_err(Trouble::internal("write the JSON file"))?;
            }
            None => {}
        }
        let mut out = BufWriter::new(io::stdout().lock());
        // A reader that has gone away (`| head`) is no trouble.
        let look = console::look(self.colour, &io::stdout());
        let _ = preparing.write(&look, self.args.quiet, &mut out).and_then(|()| out.flush());
        Ok(exit)
    }
}

fn kind(searched: &Searched) -> PreparedKind {
    match searched.exit {
        Exit::Interrupted => PreparedKind::Left,
        _ if !searched.kept => PreparedKind::Failed,
        _ if searched.cut_short => PreparedKind::CutShort,
        _ if searched.gathered.findings.is_empty() => PreparedKind::NotReproduced,
        _ => PreparedKind::Located,
    }
}

/// Where the full report on a test is: with a part of its own in its name, as other tests may be called the same.
pub(crate) fn page_for(store: &Path, test: &TestId) -> PathBuf {
    let page = page_of(store, test);
    let name = page.file_stem().unwrap_or_default().to_string_lossy();
    page.with_file_name(format!("{name}-{}.html", &test.fingerprint().0[..8]))
}
