//! Options that set settings. Each command lists the settings that it uses, and gets no other
//! option.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use crate::config::keys::{SettingKey, key};

/// Settings that belong together, by name.
pub(crate) type SettingGroup = &'static [&'static str];

pub(crate) const RERUNS: SettingGroup =
    &["immediate", "at-end", "fresh", "fresh-by", "new-processes", "too-many", "flaky-result", "never-excuse"];
pub(crate) const FRESH_BY: SettingGroup = &["fresh-by"];
/// The change, and what to compare it with.
pub(crate) const CHANGE: SettingGroup = &["base", "granularity"];
pub(crate) const BASE: SettingGroup = &["base"];
pub(crate) const VERIFY_BASE: SettingGroup = &["verify-base"];
pub(crate) const JOBS: SettingGroup = &["jobs"];
/// Limits on one attempt.
pub(crate) const ATTEMPT: SettingGroup = &["timeout", "output-limit"];
/// What runs side by side do not share.
pub(crate) const PRIVATE: SettingGroup = &["private", "private-keep"];
/// Runners that unflake knows by their result files only.
pub(crate) const RESULT_FILES: SettingGroup = &["results", "one-test"];
/// Compiled tests that unflake runs itself.
pub(crate) const CLASS_PATH: SettingGroup = &["classpath-file", "test-classes"];
/// Other machines on which sessions run.
pub(crate) const MACHINES: SettingGroup = &["engine"];
pub(crate) const STORE: SettingGroup = &["store"];

/// A command with options for settings.
pub(crate) trait UsesSettings {
    const SETTINGS: &'static [SettingGroup];
    /// Settings whose option has no effect without another option, and that option.
    const REQUIRED: &'static [(&'static str, &'static str)] = &[];
}

/// Settings that were typed, by name.
pub(crate) type TypedSettings = BTreeMap<&'static str, Vec<String>>;

/// The options for the settings of command `C`.
pub(crate) struct SettingOptions<C> {
    pub(crate) typed: TypedSettings,
    command: PhantomData<fn() -> C>,
}

/// The option of commands that use no setting but the location of the history.
pub(crate) type StoreOption = SettingOptions<HistoryOnly>;

pub(crate) struct HistoryOnly;

impl UsesSettings for HistoryOnly {
    const SETTINGS: &'static [SettingGroup] = &[STORE];
}

impl<C: UsesSettings> SettingOptions<C> {
    fn keys() -> impl Iterator<Item = &'static SettingKey> {
        C::SETTINGS.iter().copied().flatten().map(|name| key(name))
    }
}

impl<C> Default for SettingOptions<C> {
    fn default() -> Self {
        Self { typed: TypedSettings::new(), command: PhantomData }
    }
}

impl<C> fmt::Debug for SettingOptions<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.typed.fmt(f)
    }
}

impl<C: UsesSettings> Args for SettingOptions<C> {
    fn augment_args(command: Command) -> Command {
        let required =
            |key: &'static SettingKey| C::REQUIRED.iter().filter(|(name, _)| *name == key.name).map(|(_, by)| *by);
        Self::keys().fold(command, |command, key| command.arg(required(key).fold(option(key), Arg::requires)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<C: UsesSettings> FromArgMatches for SettingOptions<C> {
    fn from_arg_matches(found: &ArgMatches) -> Result<Self, clap::Error> {
        let typed = |key: &'static SettingKey| {
            let values = found.get_many::<String>(key.name)?;
            Some((key.name, values.cloned().collect()))
        };
        Ok(Self { typed: Self::keys().filter_map(typed).collect(), command: PhantomData })
    }

    fn update_from_arg_matches(&mut self, found: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(found)?;
        Ok(())
    }
}

/// The option of a setting. Its value is checked where settings from all sources are.
fn option(key: &'static SettingKey) -> Arg {
    let option = Arg::new(key.name)
        .long(key.name)
        .value_name(key.value)
        .help(key.help() + &key.default_note())
        .long_help(key.long_help())
        .help_heading(key.heading())
        .hide_short_help(!key.usual)
        .action(if key.list { ArgAction::Append } else { ArgAction::Set });
    let option = key.short.into_iter().fold(option, Arg::short);
    match key.bare {
        Some(meaning) => option.num_args(0..=1).require_equals(true).default_missing_value(meaning),
        None => option,
    }
}
