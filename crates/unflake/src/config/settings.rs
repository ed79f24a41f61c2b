//! What holds: flags before UNFLAKE_* variables before the file before the defaults, each with where it came from.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use unflake_model::{Granularity, Isolation};
use unflake_runners::{RunnerOptions, Selection};
use unflake_store::StoreLocation;
use unflake_techniques::{AtBase, NeverExcuse};

use crate::error::Trouble;

/// The settings that can be given as flags, as typed. Each has the same name in the file, and as a variable in capitals
/// after `UNFLAKE_`.
#[derive(Debug, Default, Args)]
pub(crate) struct Typed {
    /// Attempts right after a failure, in the same process [default: 1]
    #[arg(long, value_name = "N", help_heading = "Reruns")]
    pub(crate) immediate: Option<String>,

    /// Attempts after the whole suite, in the same process [default: 1]
    #[arg(long, value_name = "N", help_heading = "Reruns")]
    pub(crate) at_end: Option<String>,

    /// Attempts in fresh environments, one each [default: 1]
    #[arg(long, value_name = "N", help_heading = "Reruns")]
    pub(crate) fresh: Option<String>,

    /// What a fresh environment is: `fork` of a process that has collected the tests and run none, or a new `process`
    /// [default: fork]
    #[arg(long, value_name = "HOW", help_heading = "Reruns")]
    pub(crate) fresh_by: Option<String>,

    /// From this share of failing tests on, in per cent, only the immediate attempts are made. Never with fewer than
    /// ten failing tests [default: 1]
    #[arg(long, value_name = "PER CENT", help_heading = "Reruns")]
    pub(crate) too_many: Option<String>,

    /// Whether flaky tests `pass` or `fail` the run [default: pass]
    #[arg(long, value_name = "RESULT", help_heading = "Reruns")]
    pub(crate) flaky_result: Option<String>,

    /// A regular expression; a failure that says or prints it is never excused by a later pass. Can be given several
    /// times; takes the place of the defaults (sanitizers and race detectors). Crashes are never excused
    #[arg(long, value_name = "REGEX", help_heading = "Reruns")]
    pub(crate) never_excuse: Vec<String>,

    /// The revision that your change is compared with [default: where this parted from the default branch, or the last
    /// commit at which the failing tests passed]
    #[arg(long, value_name = "REV", help_heading = "Your change")]
    pub(crate) base: Option<String>,

    /// How finely to look whether your change can have caused a failure: by `file`, by `function`, or `off` [default: file]
    #[arg(long, value_name = "HOW", help_heading = "Your change")]
    pub(crate) granularity: Option<String>,

    /// Run tests that your change does not touch at the base too, in a temporary working tree: `yes`, `no`, or only where it is
    /// `needed` to tell what a known pass there is worth [default: needed]
    #[arg(
        long,
        value_name = "WHEN",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "yes",
        help_heading = "Your change"
    )]
    pub(crate) verify_base: Option<String>,

    /// Fresh environments at the same time [default: number of cores]
    #[arg(long, short, value_name = "N", help_heading = "Limits")]
    pub(crate) jobs: Option<String>,

    /// Time limit of one attempt: `90`, `2m`, `1h`, or `0` for none [default: 15m]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    pub(crate) timeout: Option<String>,

    /// Characters of one text (what a test prints, a trace) to keep [default: 65536]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) output_limit: Option<String>,

    #[arg(long, help = unflake_runners::option_help("results"), value_name = "FILE", help_heading = "Other runners")]
    pub(crate) results: Option<String>,

    #[arg(long, help = unflake_runners::option_help("one-test"), value_name = "COMMAND", help_heading = "Other runners")]
    pub(crate) one_test: Option<String>,

    #[arg(long, help = unflake_runners::option_help("classpath-file"), value_name = "FILE", help_heading = "Other runners")]
    pub(crate) classpath_file: Option<String>,

    #[arg(long, help = unflake_runners::option_help("test-classes"), value_name = "DIR", help_heading = "Other runners")]
    pub(crate) test_classes: Vec<String>,

    /// Where the history of the project is: a directory, or a server that a team shares, as `postgres://USER@HOST/DATABASE`
    /// [default: .unflake in the project]
    #[arg(long, value_name = "PLACE", help_heading = "Limits")]
    pub(crate) store: Option<String>,
}

/// A value and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Setting<T> {
    pub(crate) value: T,
    pub(crate) from: Source,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    Flag,
    Variable(String),
    File(PathBuf),
    Guess(String),
    Default,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum FlakyResult {
    Pass,
    Fail,
}

#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) command: Setting<Vec<String>>,
    pub(crate) immediate: Setting<u32>,
    pub(crate) at_end: Setting<u32>,
    pub(crate) fresh: Setting<u32>,
    pub(crate) fresh_by: Setting<Isolation>,
    pub(crate) too_many: Setting<f64>,
    pub(crate) flaky_result: Setting<FlakyResult>,
    pub(crate) never_excuse: Setting<Vec<String>>,
    pub(crate) base: Setting<Option<String>>,
    pub(crate) granularity: Setting<Option<Granularity>>,
    pub(crate) verify_base: Setting<AtBase>,
    pub(crate) jobs: Setting<usize>,
    pub(crate) timeout: Setting<Option<Duration>>,
    pub(crate) output_limit: Setting<usize>,
    pub(crate) results: Setting<Option<String>>,
    pub(crate) one_test: Setting<Option<String>>,
    pub(crate) classpath_file: Setting<Option<String>>,
    pub(crate) test_classes: Setting<Vec<String>>,
    pub(crate) store: Setting<StoreLocation>,
}

/// A setting that cannot hold, and what could.
#[derive(Debug, PartialEq)]
pub(crate) struct BadSetting(pub(crate) String);

impl fmt::Display for BadSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The file of settings, already read.
#[derive(Debug, Default)]
pub(crate) struct File {
    pub(crate) path: PathBuf,
    pub(crate) table: toml::Table,
}

/// Where settings are looked up besides the flags.
pub(crate) struct Sources<'a> {
    pub(crate) file: Option<&'a File>,
    pub(crate) variable: &'a dyn Fn(&str) -> Option<String>,
    pub(crate) cores: usize,
    pub(crate) project: &'a Path,
}

const NAMES: [&str; 19] = [
    "command",
    "immediate",
    "at-end",
    "fresh",
    "fresh-by",
    "too-many",
    "flaky-result",
    "never-excuse",
    "base",
    "granularity",
    "verify-base",
    "jobs",
    "timeout",
    "output-limit",
    "results",
    "one-test",
    "classpath-file",
    "test-classes",
    "store",
];

impl Settings {
    pub(crate) fn resolve(typed: Typed, command: Vec<String>, sources: &Sources<'_>) -> Result<Self, BadSetting> {
        if let Some(file) = sources.file
            && let Some(unknown) = file.table.keys().find(|key| !NAMES.contains(&key.as_str()))
        {
            let known = NAMES.join(", ");
            return Err(BadSetting(format!(
                "{}: there is no setting `{unknown}`. There are: {known}",
                file.path.display()
            )));
        }
        let patterns = NeverExcuse::DEFAULT_PATTERNS
            .into_iter()
            .chain(unflake_runners::never_excuse())
            .map(str::to_owned)
            .collect();
        let command = if command.is_empty() { None } else { Some(command) };
        let test_classes = if typed.test_classes.is_empty() { None } else { Some(typed.test_classes) };
        let never_excuse = if typed.never_excuse.is_empty() { None } else { Some(typed.never_excuse) };
        let settings = Self {
            command: sources.list("command", command, Vec::new())?,
            immediate: sources.one("immediate", typed.immediate, 1, whole)?,
            at_end: sources.one("at-end", typed.at_end, 1, whole)?,
            fresh: sources.one("fresh", typed.fresh, 1, whole)?,
            fresh_by: sources.one("fresh-by", typed.fresh_by, Isolation::Fork, fresh_by)?,
            too_many: sources.one("too-many", typed.too_many, 1.0, per_cent)?,
            flaky_result: sources.one("flaky-result", typed.flaky_result, FlakyResult::Pass, flaky_result)?,
            never_excuse: sources.list("never-excuse", never_excuse, patterns)?,
            base: sources.one("base", typed.base, None, some_text)?,
            granularity: sources.one("granularity", typed.granularity, Some(Granularity::File), granularity)?,
            verify_base: sources.one("verify-base", typed.verify_base, AtBase::Needed, at_base)?,
            jobs: sources.one("jobs", typed.jobs, sources.cores, at_least_one)?,
            timeout: sources.one("timeout", typed.timeout, Some(Duration::from_secs(900)), duration)?,
            output_limit: sources.one("output-limit", typed.output_limit, 65536, at_least_one)?,
            results: sources.one("results", typed.results, None, some_text)?,
            one_test: sources.one("one-test", typed.one_test, None, some_text)?,
            classpath_file: sources.one("classpath-file", typed.classpath_file, None, some_text)?,
            test_classes: sources.list("test-classes", test_classes, Vec::new())?,
            store: sources.place(typed.store)?,
        };
        NeverExcuse::new(&settings.never_excuse.value).map_err(|bad| BadSetting(format!("never-excuse: {bad}")))?;
        settings.check_runner_options()?;
        Ok(settings)
    }

    /// Settings of one runner are given together, and each must be usable.
    fn check_runner_options(&self) -> Result<(), BadSetting> {
        let given = self.given_runner_options();
        let find = |name: &str| given.iter().find(|(one, ..)| *one == name);
        for options in unflake_runners::options() {
            let Some(first) = options.iter().find_map(|option| find(option.name)) else { continue };
            for option in options {
                let Some((name, value, from)) = find(option.name) else {
                    let (given, _, from) = first;
                    let text = format!("{given} ({from}) is of no use without {}, {}", option.name, option.meaning);
                    return Err(BadSetting(text));
                };
                (option.check)(value)
                    .map_err(|why| BadSetting(format!("{name}: `{value}` ({from}) cannot be used: {why}")))?;
            }
        }
        Ok(())
    }

    /// Names, values and sources of the settings that belong to one runner.
    fn given_runner_options(&self) -> Vec<(&'static str, &str, &Source)> {
        let single =
            [("results", &self.results), ("one-test", &self.one_test), ("classpath-file", &self.classpath_file)];
        let single = single.into_iter().filter_map(|(name, one)| Some((name, one.value.as_deref()?, &one.from)));
        let classes = &self.test_classes;
        single.chain(classes.value.iter().map(|one| ("test-classes", one.as_str(), &classes.from))).collect()
    }

    pub(crate) fn runner_options(&self) -> RunnerOptions {
        self.given_runner_options().into_iter().map(|(name, value, _)| (name, value)).collect()
    }

    /// The runner of the command, as far as it is known before it starts.
    pub(crate) fn runner(&self) -> Selection {
        unflake_runners::select(&self.command.value, &self.runner_options())
    }

    /// Name, value and source of each, for people.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String, String)> {
        fn row<T>(
            name: &'static str,
            setting: &Setting<T>,
            show: impl Fn(&T) -> String,
        ) -> (&'static str, String, String) {
            (name, show(&setting.value), setting.from.to_string())
        }
        let list = |values: &Vec<String>| {
            format!("[{}]", values.iter().map(|one| format!("{one:?}")).collect::<Vec<_>>().join(", "))
        };
        vec![
            row("command", &self.command, list),
            row("immediate", &self.immediate, u32::to_string),
            row("at-end", &self.at_end, u32::to_string),
            row("fresh", &self.fresh, u32::to_string),
            row("fresh-by", &self.fresh_by, |by| by.word().to_owned()),
            row("too-many", &self.too_many, f64::to_string),
            row("flaky-result", &self.flaky_result, |result| {
                if *result == FlakyResult::Pass { "pass" } else { "fail" }.to_owned()
            }),
            row("never-excuse", &self.never_excuse, list),
            row("base", &self.base, |text| text.clone().unwrap_or_default()),
            row("granularity", &self.granularity, |by| by.map_or("off", Granularity::word).to_owned()),
            row("verify-base", &self.verify_base, |when| {
                match when {
                    AtBase::Always => "yes",
                    AtBase::Never => "no",
                    AtBase::Needed => "needed",
                }
                .to_owned()
            }),
            row("jobs", &self.jobs, usize::to_string),
            row("timeout", &self.timeout, |time| match time {
                Some(time) => format!("{}s", time.as_secs_f64()),
                None => "0".to_owned(),
            }),
            row("output-limit", &self.output_limit, usize::to_string),
            row("results", &self.results, |text| text.clone().unwrap_or_default()),
            row("one-test", &self.one_test, |text| text.clone().unwrap_or_default()),
            row("classpath-file", &self.classpath_file, |text| text.clone().unwrap_or_default()),
            row("test-classes", &self.test_classes, list),
            row("store", &self.store, StoreLocation::to_string),
        ]
    }
}

impl Sources<'_> {
    fn one<T>(
        &self,
        name: &str,
        flag: Option<String>,
        default: T,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Setting<T>, BadSetting> {
        let Some((text, from)) = self.look_up(name, flag)? else {
            return Ok(Setting { value: default, from: Source::Default });
        };
        match parse(&text) {
            Ok(value) => Ok(Setting { value, from }),
            Err(wanted) => Err(BadSetting(format!("{name}: `{text}` ({from}) is not {wanted}"))),
        }
    }

    /// Where the history is. What cannot be used is not repeated: there may be a password in it.
    fn place(&self, flag: Option<String>) -> Result<Setting<StoreLocation>, BadSetting> {
        let beside = self.project.join(".unflake");
        let Some((text, from)) = self.look_up("store", flag)? else {
            return Ok(Setting { value: beside.into(), from: Source::Default });
        };
        match StoreLocation::parse(&text, &beside, self.variable) {
            Ok(value) => Ok(Setting { value, from }),
            Err(why) => Err(BadSetting(format!("store: the address ({from}) cannot be used: {why}"))),
        }
    }

    fn look_up(&self, name: &str, flag: Option<String>) -> Result<Option<(String, Source)>, BadSetting> {
        if let Some(text) = flag {
            return Ok(Some((text, Source::Flag)));
        }
        let variable = variable_of(name);
        if let Some(text) = (self.variable)(&variable) {
            return Ok(Some((text, Source::Variable(variable))));
        }
        let Some(file) = self.file else { return Ok(None) };
        let from = Source::File(file.path.clone());
        Ok(match file.table.get(name) {
            None => None,
            Some(toml::Value::String(text)) => Some((text.clone(), from)),
            Some(toml::Value::Integer(number)) => Some((number.to_string(), from)),
            Some(toml::Value::Float(number)) => Some((number.to_string(), from)),
            Some(toml::Value::Boolean(yes)) => Some((yes.to_string(), from)),
            Some(other) => {
                let what = other.type_str();
                return Err(BadSetting(format!(
                    "{name}: {from} has a value of type {what}; a text or a number is wanted"
                )));
            }
        })
    }

    fn list(
        &self,
        name: &str,
        flags: Option<Vec<String>>,
        default: Vec<String>,
    ) -> Result<Setting<Vec<String>>, BadSetting> {
        if let Some(value) = flags {
            return Ok(Setting { value, from: Source::Flag });
        }
        let variable = variable_of(name);
        if let Some(text) = (self.variable)(&variable) {
            let value = text.lines().map(str::to_owned).collect();
            return Ok(Setting { value, from: Source::Variable(variable) });
        }
        let Some((file, value)) = self.file.and_then(|file| Some((file, file.table.get(name)?))) else {
            return Ok(Setting { value: default, from: Source::Default });
        };
        let texts = value.as_array().and_then(|values| {
            values.iter().map(|value| value.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        });
        match texts {
            Some(value) => Ok(Setting { value, from: Source::File(file.path.clone()) }),
            None => Err(BadSetting(format!("{name}: {} must have a list of texts here", file.path.display()))),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => write!(f, "command line"),
            Self::Variable(name) => write!(f, "variable {name}"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Guess(why) => write!(f, "guessed: {why}"),
            Self::Default => write!(f, "default"),
        }
    }
}

fn variable_of(name: &str) -> String {
    format!("UNFLAKE_{}", name.replace('-', "_").to_uppercase())
}

fn some_text(text: &str) -> Result<Option<String>, String> {
    if text.trim().is_empty() { Err("a text with something in it".to_owned()) } else { Ok(Some(text.to_owned())) }
}

fn whole(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|number| *number <= 1_000_000).ok_or("a whole number from 0 on".to_owned())
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or("a whole number from 1 on".to_owned())
}

fn per_cent(text: &str) -> Result<f64, String> {
    let text = text.trim_end_matches('%').trim_end();
    text.parse().ok().filter(|number| (0.0..=100.0).contains(number)).ok_or("a number from 0 to 100".to_owned())
}

fn fresh_by(text: &str) -> Result<Isolation, String> {
    match text {
        "fork" => Ok(Isolation::Fork),
        "process" => Ok(Isolation::Process),
        _ => Err("`fork` or `process`".to_owned()),
    }
}

fn granularity(text: &str) -> Result<Option<Granularity>, String> {
    match text {
        "file" => Ok(Some(Granularity::File)),
        "function" => Ok(Some(Granularity::Function)),
        "off" => Ok(None),
        _ => Err("`file`, `function` or `off`".to_owned()),
    }
}

fn at_base(text: &str) -> Result<AtBase, String> {
    match text {
        "yes" | "true" => Ok(AtBase::Always),
        "no" | "false" => Ok(AtBase::Never),
        "needed" => Ok(AtBase::Needed),
        _ => Err("`yes`, `no` or `needed`".to_owned()),
    }
}

fn flaky_result(text: &str) -> Result<FlakyResult, String> {
    match text {
        "pass" => Ok(FlakyResult::Pass),
        "fail" => Ok(FlakyResult::Fail),
        _ => Err("`pass` or `fail`".to_owned()),
    }
}

/// The seconds that `--for` allows; without end for `0`.
pub(crate) fn time(typed: Option<&str>, usual: Duration) -> Result<f64, Trouble> {
    let time = match typed {
        None => Some(usual),
        Some(text) => duration(text).map_err(|why| Trouble::usage(format!("--for: `{text}` is not {why}")))?,
    };
    Ok(time.map_or(f64::INFINITY, |time| time.as_secs_f64()))
}

/// When what is under way is cut short: inquiries end by themselves when their time is over, and may be held up.
pub(crate) fn and_a_little(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds + 3.0).ok()
}

pub(crate) fn duration(text: &str) -> Result<Option<Duration>, String> {
    let (number, unit) = match text.char_indices().last() {
        Some((at, 's')) => (&text[..at], 1.0),
        Some((at, 'm')) => (&text[..at], 60.0),
        Some((at, 'h')) => (&text[..at], 3600.0),
        _ => (text, 1.0),
    };
    let seconds = number.parse::<f64>().ok().map(|number| number * unit);
    match seconds.filter(|seconds| (0.0..1e9).contains(seconds)) {
        Some(0.0) => Ok(None),
        Some(seconds) => Ok(Some(Duration::from_secs_f64(seconds))),
        None => Err("a time such as `90`, `1.5s`, `2m` or `1h`, or `0` for none".to_owned()),
    }
}

#[cfg(test)]
mod tests;
