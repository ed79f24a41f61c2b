//! `unflake nio` and `unflake order`: searches for tests that depend on what ran before them.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::Path;
use std::time::{Duration, Instant};

use unflake_engine::{Engine, Launch};
use unflake_model::{Detail, Finding, Isolation, NioKind, NioMode, TestId};
use unflake_report as report;
use unflake_techniques::{Nio, NioConfig, Order, OrderConfig, Technique};

use crate::args::{NioArgs, NioModeArg, OrderArgs, SearchArgs, When};
use crate::commands::run::change_set::Compare;
use crate::commands::run::command::{launch, stop_on_signals};
use crate::config::settings::{self, Settings};
use crate::console;
use crate::error::Trouble;
use crate::exit::Exit;
use crate::history_recorder::Memory;
use crate::report_files::{Found, Outputs};
use crate::run_loop::{Campaign, Gathered};

/// How long a search goes on.
const TIME: Duration = Duration::from_secs(600);
/// What was looked for less than thoroughly.
const IN_PROCESS_ONLY: &str = "ran twice in class loaders only: state that others left in the JVM, outside of the project's classes, may have \
                          hidden something (--fresh-by process gives each test a JVM)";

pub(crate) fn nio(args: &NioArgs, settings: &Settings, here: &Path, colour: When) -> Result<Exit, Trouble> {
    let only = match (args.changed, args.tests.is_empty()) {
        (true, false) => return Err(Trouble::usage("--changed chooses the tests; name none beside it")),
        (true, true) => Some(changed_tests(settings, here)?),
        (false, false) => Some(args.tests.clone()),
        (false, true) => None,
    };
    if only.as_ref().is_some_and(Vec::is_empty) {
        println!("  no test is new or changed against the base");
        return Ok(Exit::Success);
    }
    let mode = match args.mode {
        NioModeArg::IsolatedMethod => NioMode::IsolatedMethod,
        NioModeArg::IsolatedClass => NioMode::IsolatedClass,
        NioModeArg::EntireSuite => NioMode::EntireSuite,
    };
    let mut nio = Nio::new(NioConfig {
        mode,
        only,
        class_of,
        fresh_by: settings.fresh_by.value,
        in_process: (is_jvm(settings) && settings.fresh_by.value != Isolation::Process).then_some(settings.jobs.value),
        state: !args.search.no_state,
        seconds: settings::time(args.search.time.as_deref(), TIME)?,
    });
    let search =
        Search { name: "nio", args: &args.search, seed: None, of_changes: args.changed, settings, here, colour };
    search.run(&mut nio, |nio| nio.nobody(), notes_of)
}

/// Whether the tests run in JVMs.
fn is_jvm(settings: &Settings) -> bool {
    settings.classpath_file.value.is_some() || unflake_runners::shares_processes(&settings.command.value)
}

/// What nio has to say beside its findings.
fn notes_of(nio: &Nio) -> Vec<String> {
    let untried = "could not be run twice in one process, and nothing is known of what that would show";
    let notes = [
        count(nio.left(), "were not looked into: the time was over (--for)"),
        count(nio.untried().len(), untried),
        only_beside(&nio.only_beside_others()),
        count(nio.in_process_only(), IN_PROCESS_ONLY),
    ];
    notes.into_iter().flatten().collect()
}

fn count(number: usize, what: &str) -> Option<String> {
    match number {
        0 => None,
        1 => Some(format!("1 test {what}")),
        tests => Some(format!("{tests} tests {what}")),
    }
}

/// Of tests that failed only while copies of the project ran beside them.
fn only_beside(tests: &[TestId]) -> Option<String> {
    let what = "failed, but not with nobody beside: chance, or something that copies of the project share, such as a port or a file";
    let named: Vec<_> = tests.iter().take(3).map(|test| report::one_line(test.as_str())).collect();
    count(tests.len(), what).map(|note| format!("{note} ({})", named.join(", ")))
}

pub(crate) fn order(args: &OrderArgs, settings: &Settings, here: &Path, colour: When) -> Result<Exit, Trouble> {
    // Short enough to be typed again.
    let seed = args.seed.unwrap_or_else(|| RandomState::new().build_hasher().finish() % 1_000_000);
    let mut order = Order::new(OrderConfig {
        only: (!args.tests.is_empty()).then(|| args.tests.clone()),
        seconds: settings::time(args.search.time.as_deref(), TIME)?,
        random: args.random,
        seed,
        thorough: args.thorough,
        state: !args.search.no_state,
        fresh_by: settings.fresh_by.value,
    });
    let search =
        Search { name: "order", args: &args.search, seed: Some(seed), of_changes: false, settings, here, colour };
    search.run(
        &mut order,
        |order| order.nobody(),
        |order| only_beside(&order.only_beside_others()).into_iter().chain([order.coverage().to_string()]).collect(),
    )
}

/// A search as it was asked for.
struct Search<'a> {
    name: &'static str,
    args: &'a SearchArgs,
    seed: Option<u64>,
    /// Whether tests were chosen by what changed; then some of the names are of no test.
    of_changes: bool,
    settings: &'a Settings,
    here: &'a Path,
    colour: When,
}

impl Search<'_> {
    /// `nobody`: names that fit no test. `notes`: what the inquiry has to say beside its findings.
    fn run<I: Technique>(
        &self,
        inquiry: &mut I,
        nobody: impl Fn(&I) -> Vec<String>,
        notes: impl Fn(&I) -> Vec<String>,
    ) -> Result<Exit, Trouble> {
        let command = &self.settings.command.value;
        let seconds = settings::time(self.args.time.as_deref(), TIME)?;
        let launch = Launch { suite: false, time: settings::and_a_little(seconds), ..launch(self.settings) };
        if launch.driver.is_some() && !is_jvm(self.settings) {
            let what = format!("unflake {} works with pytest, Maven, Gradle and a class path only, for now", self.name);
            return Err(
                Trouble::usage(what).hint("tests of other runners can be run under stress: `unflake run --stress`")
            );
        }
        let outputs = Outputs::open(&self.args.output)?;
        let mut memory = Memory::begin(&self.settings.store, command, self.here)?;
        let exec = Engine::new(launch)?;
        stop_on_signals(&exec)?;
        let campaign = Campaign {
            inquiry,
            memory: &mut memory,
            progress: console::progress(self.colour, self.args.output.quiet),
            here: self.here,
            compare: None,
            base: None,
            take: Box::new(|_| {}),
            began: Instant::now(),
            gathered: Gathered::default(),
        };
        let mut gathered = campaign.run(exec, command, |_, _| false);
        let wrong = if gathered.listed && !self.of_changes { nobody(inquiry) } else { Vec::new() };
        if let Some(name) = wrong.first() {
            let hint = "a part of its name is enough";
            return Err(Trouble::usage(format!("no test has `{name}` in its name")).hint(hint));
        }
        let (exit, meaning) = judge(&gathered);
        memory.finish(exit.code());
        gathered.notes.append(&mut memory.notes);
        gathered.notes.extend(notes(inquiry));
        let found = Found {
            name: self.name,
            command,
            gathered: &gathered,
            flaky_gates: true,
            can_locate: true,
            seed: self.seed,
            exit,
            meaning: &meaning,
        };
        outputs.write(&found, self.colour, |run, look, out| report::search(run, look, self.args.output.quiet, out))?;
        Ok(exit)
    }
}

/// What a search comes to, and why in words.
fn judge(gathered: &Gathered) -> (Exit, String) {
    let found = gathered.findings.iter().filter(|finding| depends(finding)).count();
    if gathered.totals.interrupted {
        return (Exit::Interrupted, "you stopped the search; this is what was found until then".to_owned());
    }
    if !gathered.problems.is_empty() || !gathered.listed {
        return (Exit::Runner, "the tests could not be run".to_owned());
    }
    if gathered.tests.is_empty() {
        return (Exit::NoTests, "no tests were found".to_owned());
    }
    match found {
        0 if gathered.findings.iter().any(is_suspicion) => (
            Exit::Success,
            "nothing is certain: the time was over before what was suspected could be repeated (--for)".to_owned(),
        ),
        0 => (Exit::Success, "nothing was found".to_owned()),
        1 => (Exit::RealFailures, "one test depends on what ran before it, or on chance".to_owned()),
        tests => (Exit::RealFailures, format!("{tests} tests depend on what ran before them, or on chance")),
    }
}

/// Whether somebody has to see to it. What fails always is no matter of these searches.
fn depends(finding: &Finding) -> bool {
    match &finding.detail {
        Detail::Nio(nio) => nio.kind != NioKind::Broken,
        Detail::Order(_) => !is_suspicion(finding),
        Detail::Verdict(verdict) => verdict.kind.is_flaky(),
        Detail::Intersect(_)
        | Detail::State(_)
        | Detail::Divergence(_)
        | Detail::Layer(_)
        | Detail::Factor(_)
        | Detail::Filter(_) => false,
    }
}

/// Whether it was seen once and nobody had the time to repeat it.
fn is_suspicion(finding: &Finding) -> bool {
    matches!(&finding.detail, Detail::Order(order) if order.culprits.is_empty())
}

/// What comes before the last `::` of a name, or before its `#`, which is the class or the file of the test.
fn class_of(test: &str) -> &str {
    let name = &test[..test.find('[').unwrap_or(test.len())];
    name.rsplit_once("::").or_else(|| name.split_once('#')).map_or(name, |(class, _)| class)
}

/// Names, or parts of them, of the tests that are new or changed against the base.
fn changed_tests(settings: &Settings, here: &Path) -> Result<Vec<String>, Trouble> {
    let Some(compare) = Compare::new(settings, here)? else {
        return Err(Trouble::usage("--changed: this is not a git repository"));
    };
    let repository = compare.repository().map_err(Trouble::usage)?;
    let in_words = |error: unflake_git::GitError| Trouble::usage(format!("--changed: {error}"));
    let base = repository.base(settings.base.value.as_deref(), &[]).map_err(in_words)?;
    let changes = repository.changes(&base).map_err(in_words)?;
    let below = here.canonicalize().ok().and_then(|here| Some(here.strip_prefix(&changes.root).ok()?.to_owned()));
    let mut names = Vec::new();
    for change in &changes.files {
        let path = Path::new(&change.path);
        let path = below.as_ref().and_then(|below| path.strip_prefix(below).ok()).unwrap_or(path).display();
        match &change.functions {
            Some(functions) if functions.bodies.is_empty() && functions.after.iter().all(|name| is_test(name)) => {
                names.extend(functions.after.iter().map(|name| format!("{path}::{}", name.replace('.', "::"))));
            }
            _ => names.push(format!("{path}::")),
        }
    }
    Ok(names)
}

/// Whether a function is a test by its name; a changed helper may change any test of its file.
fn is_test(name: &str) -> bool {
    name.rsplit('.').next().is_some_and(|name| name.starts_with("test"))
}
