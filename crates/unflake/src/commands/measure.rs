//! `unflake measure`: how far runs of the same tests differ, layer by layer.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use jiff::Zoned;
use unflake_engine::Launch;
use unflake_model::{Factor, FactorKind, Isolation, Layer, RunConfiguration};
use unflake_observe::layers::{LayerArchive, Rules};
use unflake_report as report;
use unflake_techniques::{CONFIGURATIONS, ConfigurationParts, Measure, MeasureConfig};

use crate::args::measure::MeasureArgs;
use crate::commands::factors::experiment_plan::{self, Plan};
use crate::config::settings::{self, Settings};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::{Conclusion, Exit};
use crate::output::write_file;
use crate::project::shard::ShardSpec;
use crate::recorders::Recorders;
use crate::run_loop::Gathered;
use crate::technique_run::{CommandFacts, TechniqueRun, inconclusive};

/// Stands for all configurations.
const ALL: &str = "all";
/// The factor that chooses another runtime.
const RUNTIME: &str = "interpreter";
/// The default budget: no run is started after it.
const TIME: Duration = Duration::from_secs(600);

pub(crate) fn run(args: MeasureArgs, context: &Context) -> Result<Exit, CommandError> {
    let settings = &context.search_settings(args.settings, args.command)?;
    let layers = layers(&args.layers)?;
    let rules = Rules::without(&args.no_rules, &unflake_runners::temporary_names()).map_err(|unknown| {
        CommandError::usage(format!("--no-rule: {unknown}")).hint("`unflake measure --help` lists the rules")
    })?;
    if args.runs < 2 {
        return Err(CommandError::usage("--runs: one run has nothing to be compared with").hint("give at least 2"));
    }
    let seconds = settings::time(args.time.as_deref(), TIME)?;
    let (configurations, seed) = configurations(&args.configurations, args.runs, args.seed, settings)?;
    let time = settings::engine_limit(seconds);
    let launch = Launch { suite: false, layers: layers.clone(), time, ..context.search_launch(settings) };
    let mut page = match &args.html {
        Some(path) => Some((path, create(path).map_err(CommandError::cannot_write(path))?)),
        None => None,
    };
    let recorders = Recorders::of_layers(LayerArchive::new(&layers, rules));
    let shard = ShardSpec::new(&args.sharding, !args.tests.is_empty(), settings)?;
    let measuring = MeasureConfig {
        only: (!args.tests.is_empty()).then_some(args.tests),
        runs: args.runs,
        configurations,
        layers,
        fresh_by: settings.fresh_by.value,
        seconds,
    };
    let mut measure = Measure::new(measuring);
    let run = TechniqueRun { recorders, shard, ..TechniqueRun::with_files(context, settings, launch, &args.output)? };
    let mut done = run.run(&mut measure)?;
    if let Some(name) = measure.unmatched_names().first() {
        return Err(CommandError::unknown_test(name, done.record.test_names()));
    }
    let measured = measure.measured(done.record.recorders.view());
    let conclusion = conclude(&done.record, measured.runs);
    done.finish(&conclusion);
    let notes = notes(&done.record, args.runs, measured.runs);
    done.record.notes.extend(notes);
    if measured.configurations.iter().any(|one| !one.drawn.is_empty()) {
        done.record.notes.push(format!("--seed {seed} draws the same circumstances again"));
    }
    if let Some(path) = &args.table {
        write_file(path, |out| report::configuration_tables(&measured, out))
            .map_err(CommandError::cannot_write(path))?;
    }
    done.record.measured = Some(measured);
    let mut unwritten = None;
    let exit = done.report(&CommandFacts::search("measure"), &conclusion, |run, style, out| {
        if let Some((path, page)) = &mut page {
            unwritten = report::measure_page(run, page).and_then(|()| page.flush()).err().map(|error| (*path, error));
        }
        report::measure(run, style, args.output.quiet, out)
    })?;
    match unwritten {
        Some((path, error)) => Err(CommandError::cannot_write(path)(error)),
        None => Ok(exit),
    }
}

/// The layers that the user named, in their order; all where none was named. The verdict is always
/// among them.
fn layers(words: &[String]) -> Result<Vec<Layer>, CommandError> {
    for word in words {
        if Layer::from_word(word).is_none() {
            return Err(CommandError::unknown_value("--layer", word, &Layer::ALL.map(Layer::word)));
        }
    }
    let wanted =
        |layer: &Layer| words.is_empty() || *layer == Layer::Verdict || words.iter().any(|word| word == layer.word());
    Ok(Layer::ALL.into_iter().filter(wanted).collect())
}

/// The configurations of these names, and the number that their random choices follow from.
fn configurations(
    names: &[String],
    runs: u32,
    seed: Option<u64>,
    settings: &Settings,
) -> Result<(Vec<RunConfiguration>, u64), CommandError> {
    // Six digits: short enough to be typed again.
    let drawn = getrandom::u64().map_err(|error| io::Error::other(error.to_string()));
    let drawn = drawn.map_err(CommandError::internal("draw a seed"))? % 1_000_000;
    let seed = seed.unwrap_or(drawn);
    if names.is_empty() {
        return Ok((Vec::new(), seed));
    }
    let mut parts = configuration_parts(seed, settings);
    let mut wanted: Vec<&str> = Vec::new();
    for word in names {
        match word.split_once('=') {
            Some((name, setting)) => {
                let other = match name {
                    "other-vendor" => &mut parts.other_vendor,
                    "other-version" => &mut parts.other_version,
                    _ => {
                        let why = format!("--configuration: `{name}` takes no runtime");
                        return Err(CommandError::usage(why).hint("`other-vendor` and `other-version` do"));
                    }
                };
                *other = Ok(runtime(setting).map_err(|why| CommandError::usage(format!("--configuration: {why}")))?);
                wanted.push(name);
            }
            None if word == ALL => wanted.extend(CONFIGURATIONS),
            None => wanted.push(word),
        }
    }
    let order = |name: &str| CONFIGURATIONS.iter().position(|known| *known == name);
    wanted.sort_by_key(|name| order(name));
    wanted.dedup();
    let configuration = |name: &&str| {
        let known = [&CONFIGURATIONS[..], &[ALL]].concat();
        parts.configuration(name, runs).ok_or_else(|| CommandError::unknown_value("--configuration", name, &known))
    };
    Ok((wanted.iter().map(configuration).collect::<Result<_, _>>()?, seed))
}

fn configuration_parts(seed: u64, settings: &Settings) -> ConfigurationParts {
    let context = experiment_plan::context(&Zoned::now(), &settings.command.value);
    let Plan { baseline, .. } = experiment_plan::plan(&context, &[], &settings.runner());
    let others = settings.runner().other_runtimes(&context);
    let [other_vendor, other_version] = [others.vendor, others.version].map(|other| other.and_then(|it| runtime(&it)));
    ConfigurationParts { baseline, year: context.now.year, other_vendor, other_version, seed }
}

/// The factor that chooses this runtime.
fn runtime(setting: &str) -> Result<Factor, String> {
    let kind = FactorKind::named(RUNTIME).ok_or("no factor chooses the runtime")?;
    kind.set(setting).map_err(|_| format!("`{setting}` is no runtime"))
}

fn create(path: &Path) -> io::Result<BufWriter<File>> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    Ok(BufWriter::new(File::create(path)?))
}

/// Limits of the numbers that a reader has to know.
fn notes(record: &Gathered, wanted: u32, made: u32) -> Vec<String> {
    let mut notes = Vec::new();
    if made < wanted && made > 0 {
        notes.push(format!("budget exhausted after {made} of {wanted} runs (--for)"));
    }
    if record.attempts.iter().any(|attempt| attempt.origin == Isolation::Fork) {
        let what = "runs are forks of one process: values drawn while loading, such as the hash seed, are equal in all";
        notes.push(format!("{what} (--fresh-by process starts a new process for each run)"));
    }
    notes
}

fn conclude(record: &Gathered, runs: u32) -> Conclusion {
    if let Some(conclusion) = inconclusive(record, "interrupted; the results are incomplete") {
        return conclusion;
    }
    if runs < 2 {
        return Exit::Incomplete.because("there are no two runs to compare (more time: --for)");
    }
    let failed = record.attempts.iter().filter(|attempt| attempt.outcome.is_failure());
    let mut failed: Vec<_> = failed.map(|attempt| &attempt.test).collect();
    failed.sort();
    failed.dedup();
    let alike = record.findings.is_empty();
    match failed.len() {
        0 if alike => Exit::Success.because("all runs are alike"),
        0 => Exit::Success.because("every test passed in every run"),
        1 => Exit::RealFailures.because("one test failed, in some runs or in all"),
        tests => Exit::RealFailures.because(format!("{tests} tests failed, in some runs or in all")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_parsed_by_name() {
        let words = |words: &[&str]| layers(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()).ok();
        assert_eq!(words(&[]), Some(Layer::ALL.to_vec()));
        assert_eq!(words(&["interface", "code"]), Some(vec![Layer::Verdict, Layer::Code, Layer::Interface]));
        assert_eq!(words(&["taste"]), None);
    }
}
