//! Effective settings: command line before `UNFLAKE_*` variables before the settings file before
//! defaults, each with its source.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use unflake_cluster::ReapiServer;
use unflake_model::{Granularity, Isolation, Privacy, PrivatePart};
use unflake_runners::{RunnerOptions, RunnerSelection};
use unflake_store::StoreLocation;
use unflake_techniques::{AtBase, NeverExcuse};

use crate::args::options::setting_options::TypedSettings;
use crate::config::keys::{KEYS, default_never_excuse, variable_of};
use crate::error::CommandError;
use crate::suggest;

/// A value and its source.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Setting<T> {
    pub(crate) value: T,
    pub(crate) from: SettingSource,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SettingSource {
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

/// Where fresh sessions run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EngineChoice {
    Local,
    Slurm,
    /// The address of a server of the Remote Execution API.
    Reapi(String),
}

impl EngineChoice {
    pub(crate) fn word(&self) -> &str {
        match self {
            Self::Local => "local",
            Self::Slurm => "slurm",
            Self::Reapi(address) => address,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) command: Setting<Vec<String>>,
    pub(crate) immediate: Setting<u32>,
    pub(crate) at_end: Setting<u32>,
    pub(crate) fresh: Setting<u32>,
    pub(crate) fresh_by: Setting<Isolation>,
    pub(crate) new_processes: Setting<usize>,
    pub(crate) too_many: Setting<f64>,
    pub(crate) flaky_result: Setting<FlakyResult>,
    pub(crate) never_excuse: Setting<Vec<String>>,
    pub(crate) base: Setting<Option<String>>,
    pub(crate) granularity: Setting<Option<Granularity>>,
    pub(crate) verify_base: Setting<AtBase>,
    pub(crate) jobs: Setting<usize>,
    pub(crate) timeout: Setting<Option<Duration>>,
    pub(crate) output_limit: Setting<usize>,
    pub(crate) private: Setting<Privacy>,
    pub(crate) private_keep: Setting<Vec<String>>,
    pub(crate) engine: Setting<EngineChoice>,
    pub(crate) engine_directory: Setting<Option<String>>,
    pub(crate) engine_options: Setting<Vec<String>>,
    pub(crate) engine_inputs: Setting<Vec<String>>,
    pub(crate) engine_shared: Setting<Vec<String>>,
    pub(crate) engine_node_directory: Setting<Option<String>>,
    pub(crate) engine_wrapper: Setting<Vec<String>>,
    pub(crate) engine_wait: Setting<Option<Duration>>,
    pub(crate) results: Setting<Option<String>>,
    pub(crate) one_test: Setting<Option<String>>,
    pub(crate) classpath_file: Setting<Option<String>>,
    pub(crate) test_classes: Setting<Vec<String>>,
    pub(crate) store: Setting<StoreLocation>,
}

/// An invalid setting, with the values that are valid.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct SettingError {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl SettingError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }
}

/// The parsed settings file.
#[derive(Debug, Default)]
pub(crate) struct SettingsFile {
    pub(crate) path: PathBuf,
    pub(crate) table: toml::Table,
}

/// The sources of settings besides the command line.
pub(crate) struct SettingSources<'a> {
    pub(crate) file: Option<&'a SettingsFile>,
    pub(crate) variable: &'a dyn Fn(&str) -> Option<String>,
    pub(crate) cores: usize,
    pub(crate) project: &'a Path,
}

impl Settings {
    pub(crate) fn resolve(
        mut typed: TypedSettings,
        command: Vec<String>,
        sources: &SettingSources<'_>,
    ) -> Result<Self, SettingError> {
        sources.file.map_or(Ok(()), check_names)?;
        if !command.is_empty() {
            typed.insert("command", command);
        }
        let typed = &typed;
        let patterns = default_never_excuse().map(str::to_owned).collect();
        let settings = Self {
            command: sources.list("command", typed, Vec::new())?,
            immediate: sources.one("immediate", typed, 1, whole)?,
            at_end: sources.one("at-end", typed, 1, whole)?,
            fresh: sources.one("fresh", typed, 1, whole)?,
            fresh_by: sources.one("fresh-by", typed, Isolation::Fork, fresh_by)?,
            new_processes: sources.one("new-processes", typed, 8, at_least_one)?,
            too_many: sources.one("too-many", typed, 1.0, per_cent)?,
            flaky_result: sources.one("flaky-result", typed, FlakyResult::Pass, flaky_result)?,
            never_excuse: sources.list("never-excuse", typed, patterns)?,
            base: sources.one("base", typed, None, some_text)?,
            granularity: sources.one("granularity", typed, Some(Granularity::File), granularity)?,
            verify_base: sources.one("verify-base", typed, AtBase::Needed, at_base)?,
            jobs: sources.one("jobs", typed, sources.cores, at_least_one)?,
            timeout: sources.one("timeout", typed, Some(Duration::from_secs(900)), duration)?,
            output_limit: sources.one("output-limit", typed, 65536, at_least_one)?,
            private: sources.one("private", typed, Privacy::all(), privacy)?,
            private_keep: sources.list("private-keep", typed, Vec::new())?,
            engine: sources.one("engine", typed, EngineChoice::Local, engine)?,
            engine_directory: sources.one("engine-directory", typed, None, some_text)?,
            engine_options: sources.list("engine-options", typed, Vec::new())?,
            engine_inputs: sources.list("engine-inputs", typed, Vec::new())?,
            engine_shared: sources.list("engine-shared", typed, Vec::new())?,
            engine_node_directory: sources.one("engine-node-directory", typed, None, some_text)?,
            engine_wrapper: sources.list("engine-wrapper", typed, Vec::new())?,
            engine_wait: sources.one("engine-wait", typed, Some(Duration::from_secs(300)), duration)?,
            results: sources.one("results", typed, None, some_text)?,
            one_test: sources.one("one-test", typed, None, some_text)?,
            classpath_file: sources.one("classpath-file", typed, None, some_text)?,
            test_classes: sources.list("test-classes", typed, Vec::new())?,
            store: sources.location(typed)?,
        };
        NeverExcuse::new(&settings.never_excuse.value)
            .map_err(|bad| SettingError::new(format!("never-excuse: {bad}")))?;
        settings.check_runner_options()?;
        Ok(settings)
    }

    /// Settings of one runner are given together, and each must be usable.
    fn check_runner_options(&self) -> Result<(), SettingError> {
        let given = self.given_runner_options();
        let find = |name: &str| given.iter().find(|(one, ..)| *one == name);
        for options in unflake_runners::options() {
            let Some(first) = options.iter().find_map(|option| find(option.name)) else { continue };
            for option in options {
                let Some((name, value, from)) = find(option.name) else {
                    let (given, _, from) = first;
                    let text = format!("{given} ({from}) needs {}, {}", option.name, option.meaning);
                    return Err(SettingError::new(text));
                };
                (option.check)(value)
                    .map_err(|why| SettingError::new(format!("{name}: `{value}` ({from}) cannot be used: {why}")))?;
            }
        }
        Ok(())
    }

    /// Names, values and sources of the settings that belong to one runner.
    pub(crate) fn given_runner_options(&self) -> Vec<(&'static str, &str, &SettingSource)> {
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
    pub(crate) fn runner(&self) -> RunnerSelection {
        unflake_runners::select(&self.command.value, &self.runner_options())
    }

    /// Name, value and source of each setting, for people.
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
            row("new-processes", &self.new_processes, usize::to_string),
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
            row("timeout", &self.timeout, |time| time_text(*time)),
            row("output-limit", &self.output_limit, usize::to_string),
            row("private", &self.private, Privacy::to_string),
            row("private-keep", &self.private_keep, list),
            row("engine", &self.engine, |choice| choice.word().to_owned()),
            row("engine-directory", &self.engine_directory, |text| text.clone().unwrap_or_default()),
            row("engine-options", &self.engine_options, |options| list(&without_secrets(options))),
            row("engine-inputs", &self.engine_inputs, list),
            row("engine-shared", &self.engine_shared, list),
            row("engine-node-directory", &self.engine_node_directory, |text| text.clone().unwrap_or_default()),
            row("engine-wrapper", &self.engine_wrapper, list),
            row("engine-wait", &self.engine_wait, |time| time_text(*time)),
            row("results", &self.results, |text| text.clone().unwrap_or_default()),
            row("one-test", &self.one_test, |text| text.clone().unwrap_or_default()),
            row("classpath-file", &self.classpath_file, |text| text.clone().unwrap_or_default()),
            row("test-classes", &self.test_classes, list),
            row("store", &self.store, StoreLocation::to_string),
        ]
    }
}

/// Refuses a name in the settings file that is not a setting.
fn check_names(file: &SettingsFile) -> Result<(), SettingError> {
    let names = || KEYS.iter().map(|key| key.name);
    let Some(unknown) = file.table.keys().find(|name| names().all(|known| known != *name)) else { return Ok(()) };
    let hint = suggest::did_you_mean(unknown, names())
        .unwrap_or_else(|| format!("the settings are {}", names().collect::<Vec<_>>().join(", ")));
    Err(SettingError {
        message: format!("{} has an unknown setting `{unknown}`", file.path.display()),
        hint: Some(hint),
    })
}

impl SettingSources<'_> {
    fn one<T>(
        &self,
        name: &str,
        typed: &TypedSettings,
        default: T,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Setting<T>, SettingError> {
        let Some((text, from)) = self.look_up(name, typed)? else {
            return Ok(Setting { value: default, from: SettingSource::Default });
        };
        match parse(&text) {
            Ok(value) => Ok(Setting { value, from }),
            Err(wanted) => {
                let words = wanted.split('`').skip(1).step_by(2);
                let message = format!("{name}: `{text}` ({from}) is not {wanted}");
                Err(SettingError { message, hint: suggest::did_you_mean(&text, words) })
            }
        }
    }

    /// The location of the history. The error does not repeat an address: it may contain a
    /// password.
    fn location(&self, typed: &TypedSettings) -> Result<Setting<StoreLocation>, SettingError> {
        let default = self.project.join(".unflake");
        let Some((text, from)) = self.look_up("store", typed)? else {
            return Ok(Setting { value: default.into(), from: SettingSource::Default });
        };
        match StoreLocation::parse(&text, &default, self.variable) {
            Ok(value) => Ok(Setting { value, from }),
            Err(why) => Err(SettingError::new(format!("store: the address ({from}) cannot be used: {why}"))),
        }
    }

    fn look_up(&self, name: &str, typed: &TypedSettings) -> Result<Option<(String, SettingSource)>, SettingError> {
        if let Some(text) = typed.get(name).and_then(|values| values.last()) {
            return Ok(Some((text.clone(), SettingSource::Flag)));
        }
        let variable = variable_of(name);
        if let Some(text) = (self.variable)(&variable) {
            return Ok(Some((text, SettingSource::Variable(variable))));
        }
        let Some(file) = self.file else { return Ok(None) };
        let from = SettingSource::File(file.path.clone());
        Ok(match file.table.get(name) {
            None => None,
            Some(toml::Value::String(text)) => Some((text.clone(), from)),
            Some(toml::Value::Integer(number)) => Some((number.to_string(), from)),
            Some(toml::Value::Float(number)) => Some((number.to_string(), from)),
            Some(toml::Value::Boolean(yes)) => Some((yes.to_string(), from)),
            Some(other) => {
                let what = other.type_str();
                return Err(SettingError::new(format!(
                    "{name}: {from} has a value of type {what}; a text or a number is wanted"
                )));
            }
        })
    }

    fn list(
        &self,
        name: &str,
        typed: &TypedSettings,
        default: Vec<String>,
    ) -> Result<Setting<Vec<String>>, SettingError> {
        if let Some(value) = typed.get(name) {
            return Ok(Setting { value: value.clone(), from: SettingSource::Flag });
        }
        let variable = variable_of(name);
        if let Some(text) = (self.variable)(&variable) {
            let value = text.lines().map(str::to_owned).collect();
            return Ok(Setting { value, from: SettingSource::Variable(variable) });
        }
        let Some((file, value)) = self.file.and_then(|file| Some((file, file.table.get(name)?))) else {
            return Ok(Setting { value: default, from: SettingSource::Default });
        };
        let texts = value.as_array().and_then(|values| {
            values.iter().map(|value| value.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        });
        match texts {
            Some(value) => Ok(Setting { value, from: SettingSource::File(file.path.clone()) }),
            None => Err(SettingError::new(format!("{name}: {} must have a list of texts here", file.path.display()))),
        }
    }
}

impl fmt::Display for SettingSource {
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

fn engine(text: &str) -> Result<EngineChoice, String> {
    match text {
        "local" => Ok(EngineChoice::Local),
        "slurm" => Ok(EngineChoice::Slurm),
        _ if ReapiServer::is_address(text) => Ok(EngineChoice::Reapi(text.to_owned())),
        _ => Err("`local`, `slurm`, or `reapi://host:port`".to_owned()),
    }
}

/// Options without the values of headers, which authenticate.
fn without_secrets(options: &[String]) -> Vec<String> {
    let shown =
        |option: &String| match option.strip_prefix("--remote_header=").and_then(|header| header.split_once('=')) {
            Some((name, _)) => format!("--remote_header={name}=…"),
            None => option.clone(),
        };
    options.iter().map(shown).collect()
}

fn time_text(time: Option<Duration>) -> String {
    time.map_or_else(|| "0".to_owned(), |time| format!("{}s", time.as_secs_f64()))
}

fn granularity(text: &str) -> Result<Option<Granularity>, String> {
    match text {
        "file" => Ok(Some(Granularity::File)),
        "function" => Ok(Some(Granularity::Function)),
        "off" => Ok(None),
        _ => Err("`file`, `function` or `off`".to_owned()),
    }
}

fn privacy(text: &str) -> Result<Privacy, String> {
    let words = PrivatePart::ALL.map(PrivatePart::word).join(", ");
    text.parse().map_err(|_| format!("`all`, `none`, or some of {words}, separated by commas"))
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

/// The budget in seconds that `--for` gives; infinite for `0`.
pub(crate) fn time(typed: Option<&str>, default: Duration) -> Result<f64, CommandError> {
    let time = match typed {
        None => Some(default),
        Some(text) => duration(text).map_err(|wanted| {
            CommandError::usage(format!("--for: `{text}` is not a time")).hint(format!("give {wanted}"))
        })?,
    };
    Ok(time.map_or(f64::INFINITY, |time| time.as_secs_f64()))
}

/// The time after which the engine cuts sessions short. Techniques stop asking at the end of the
/// budget; what runs then gets a little longer.
pub(crate) fn engine_limit(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds + 2.0).ok()
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
