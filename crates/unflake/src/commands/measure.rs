//! `unflake measure`: how far runs of the same tests differ, layer by layer.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use clap::Args;
use unflake_engine::{Engine, Launch};
use unflake_model::{Isolation, Layer};
use unflake_observe::layers::{LayerArchive, Rules};
use unflake_report as report;
use unflake_techniques::{Measure, MeasureConfig};

use crate::args::{CommandArgs, OutputArgs, When};
use crate::commands::run::command::{launch, stop_on_signals};
use crate::config::settings::{self, Settings, Typed};
use crate::console;
use crate::error::Trouble;
use crate::exit::Exit;
use crate::history_recorder::Memory;
use crate::report_files::{Found, Outputs};
use crate::run_loop::{Campaign, Gathered};

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 every test passed in every run, 1 a test failed, in some runs or in all, 2 wrong usage, 3 no two runs \
were made, 4 the runner could not run, 5 no tests, 70 unflake's own trouble, 130 stopped by you: what was seen until then is told."
)]
pub(crate) struct MeasureArgs {
    /// The tests to measure, by name or part of it. None: all of them.
    pub(crate) tests: Vec<String>,

    /// How many runs to compare.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) runs: u32,

    /// Look only at this layer, beside the verdict: `assertion`, `code`, `behaviour` or `interface`. Can be repeated [default: all]
    #[arg(long = "layer", value_name = "LAYER")]
    pub(crate) layers: Vec<String>,

    /// Do not take this for noise: `addresses`, `temporary-paths`, `uuids`, `dates`, `times`, `time-stamps`, `durations`, `pids`,
    /// `ports`, `memory-sizes`, or `all`. Can be repeated.
    #[arg(long = "no-rule", value_name = "NAME")]
    pub(crate) no_rules: Vec<String>,

    /// How long to begin runs: `90`, `10m`, `2h`, or `0` for as long as it takes [default: 10m]
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) time: Option<String>,

    /// Write everything as a page to FILE.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) typed: Typed,

    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

/// How long runs are begun.
const TIME: Duration = Duration::from_secs(600);

pub(crate) fn run(args: &MeasureArgs, settings: &Settings, here: &Path, colour: When) -> Result<Exit, Trouble> {
    let command = &settings.command.value;
    let layers = layers(&args.layers)?;
    let rules = Rules::without(&args.no_rules).map_err(|unknown| Trouble::usage(format!("--no-rule: {unknown}")))?;
    if args.runs < 2 {
        return Err(Trouble::usage("--runs: one run has nothing to be compared with"));
    }
    let seconds = settings::time(args.time.as_deref(), TIME)?;
    let time = settings::and_a_little(seconds);
    let launch = Launch { suite: false, layers: layers.clone(), time, ..launch(settings) };
    let mut page = match &args.html {
        Some(path) => Some((path, create(path).map_err(|error| cannot_write(path, &error))?)),
        None => None,
    };
    let outputs = Outputs::open(&args.output)?;
    let mut memory = Memory::begin(&settings.store, command, here)?;
    let looks = Rc::new(RefCell::new(LayerArchive::new(&layers, rules)));
    let exec = Engine::new(launch)?;
    stop_on_signals(&exec)?;
    let measuring = MeasureConfig {
        only: (!args.tests.is_empty()).then(|| args.tests.clone()),
        runs: args.runs,
        layers,
        fresh_by: settings.fresh_by.value,
        seconds,
    };
    let mut measure = Measure::new(measuring, looks.clone());
    let campaign = Campaign {
        inquiry: &mut measure,
        memory: &mut memory,
        progress: console::progress(colour, args.output.quiet),
        here,
        compare: None,
        base: None,
        take: Box::new(|observation| looks.borrow_mut().take(observation)),
        began: Instant::now(),
        gathered: Gathered::default(),
    };
    let mut gathered = campaign.run(exec, command, |_, _| false);
    if let Some(name) = measure.nobody().first() {
        let hint = "a part of its name is enough";
        return Err(Trouble::usage(format!("no test has `{name}` in its name")).hint(hint));
    }
    let measured = measure.measured();
    let (exit, meaning) = judge(&gathered, measured.runs);
    memory.finish(exit.code());
    gathered.notes.append(&mut memory.notes);
    gathered.notes.extend(notes(&gathered, args.runs, measured.runs));
    gathered.measured = Some(measured);
    let found = Found {
        name: "measure",
        command,
        gathered: &gathered,
        flaky_gates: true,
        can_locate: true,
        seed: None,
        exit,
        meaning: &meaning,
    };
    let mut unwritten = None;
    outputs.write(&found, colour, |run, look, out| {
        if let Some((path, page)) = &mut page {
            unwritten = report::measure_page(run, page).and_then(|()| page.flush()).err().map(|error| (*path, error));
        }
        report::measure(run, look, args.output.quiet, out)
    })?;
    match unwritten {
        Some((path, error)) => Err(cannot_write(path, &error)),
        None => Ok(exit),
    }
}

/// The layers that were asked for, in their order; all where none was. How a test ends is always among them.
fn layers(words: &[String]) -> Result<Vec<Layer>, Trouble> {
    let names = || Layer::ALL.map(Layer::word).join(", ");
    for word in words {
        if Layer::from_word(word).is_none() {
            return Err(Trouble::usage(format!("--layer: there is no layer `{word}`: {}", names())));
        }
    }
    let wanted =
        |layer: &Layer| words.is_empty() || *layer == Layer::Verdict || words.iter().any(|word| word == layer.word());
    Ok(Layer::ALL.into_iter().filter(wanted).collect())
}

fn create(path: &Path) -> io::Result<BufWriter<File>> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    Ok(BufWriter::new(File::create(path)?))
}

fn cannot_write(path: &Path, error: &io::Error) -> Trouble {
    Trouble::usage(format!("{} cannot be written: {error}", path.display()))
}

/// What a reader of the numbers should know.
fn notes(gathered: &Gathered, wanted: u32, made: u32) -> Vec<String> {
    let mut notes = Vec::new();
    if made < wanted && made > 0 {
        notes.push(format!("{made} of {wanted} runs were made: the time was over (--for)"));
    }
    if gathered.attempts.iter().any(|attempt| attempt.origin == Isolation::Fork) {
        let what = "runs are copies of one process: what is drawn while it loads, such as the order of sets, is the same in all of them";
        notes.push(format!("{what} (--fresh-by process starts each anew)"));
    }
    notes
}

/// What it comes to, and why in words.
fn judge(gathered: &Gathered, runs: u32) -> (Exit, String) {
    if gathered.totals.interrupted {
        return (Exit::Interrupted, "you stopped it; this is what was seen until then".to_owned());
    }
    if !gathered.problems.is_empty() || !gathered.listed {
        return (Exit::Runner, "the tests could not be run".to_owned());
    }
    if gathered.tests.is_empty() {
        return (Exit::NoTests, "no tests were found".to_owned());
    }
    if runs < 2 {
        return (Exit::Incomplete, "there are no two runs to compare (more time: --for)".to_owned());
    }
    let failed = gathered.attempts.iter().filter(|attempt| attempt.outcome.is_failure());
    let mut failed: Vec<_> = failed.map(|attempt| &attempt.test).collect();
    failed.sort();
    failed.dedup();
    let differ = gathered.findings.is_empty();
    match failed.len() {
        0 if differ => (Exit::Success, "all runs are alike".to_owned()),
        0 => (Exit::Success, "every test passed in every run".to_owned()),
        1 => (Exit::RealFailures, "one test failed, in some runs or in all".to_owned()),
        tests => (Exit::RealFailures, format!("{tests} tests failed, in some runs or in all")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_by_their_names() {
        let words = |words: &[&str]| layers(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()).ok();
        assert_eq!(words(&[]), Some(Layer::ALL.to_vec()));
        assert_eq!(words(&["interface", "code"]), Some(vec![Layer::Verdict, Layer::Code, Layer::Interface]));
        assert_eq!(words(&["taste"]), None);
    }
}
