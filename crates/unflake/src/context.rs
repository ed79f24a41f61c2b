//! What every command starts from: the current directory, the terminal, and the effective settings.

use std::env;
use std::io;
use std::path::PathBuf;

use unflake_engine::Launch;
use unflake_report::{Progress, TerminalStyle};
use unflake_store::StoreLocation;

use crate::args::ColorChoice;
use crate::args::options::groups::CommandArgs;
use crate::args::options::setting_options::SettingOptions;
use crate::config::project;
use crate::config::settings::{SettingSources, Settings};
use crate::diagnostics;
use crate::error::CommandError;
use crate::machines::{self, Machines};
use crate::output::console;

#[derive(Debug)]
pub(crate) struct Context {
    /// The directory in which unflake was started, and in which the test command runs.
    pub(crate) here: PathBuf,
    pub(crate) color: ColorChoice,
    /// Other machines, once a command uses them.
    pub(crate) machines: Machines,
}

impl Context {
    pub(crate) fn new(color: ColorChoice) -> Result<Self, CommandError> {
        let here = env::current_dir().map_err(CommandError::internal("find the current directory"))?;
        Ok(Self { here, color, machines: Machines::default() })
    }

    /// The effective settings. The test command is empty where none was given and none can be
    /// guessed.
    pub(crate) fn settings<C>(
        &self,
        options: SettingOptions<C>,
        command: CommandArgs,
    ) -> Result<Settings, CommandError> {
        let project = project::find(&self.here);
        let file = project::settings_file(&project)?;
        let sources = SettingSources {
            file: file.as_ref(),
            variable: &|name| env::var(name).ok(),
            cores: std::thread::available_parallelism().map_or(1, |cores| cores.get()),
            project: &project,
        };
        let mut settings = Settings::resolve(options.typed, command.words, &sources)?;
        if settings.command.value.is_empty()
            && let Some(guess) = project::guess_command(&project)
        {
            settings.command = guess;
        }
        diagnostics::log_settings(&project, &settings);
        Ok(settings)
    }

    /// The effective settings for a command that runs tests. Fails where there is no test command.
    pub(crate) fn test_settings<C>(
        &self,
        options: SettingOptions<C>,
        command: CommandArgs,
    ) -> Result<Settings, CommandError> {
        let settings = self.settings(options, command)?;
        need_command(&settings)?;
        let unsupported = unflake_runners::explain_unsupported(&settings.command.value, &settings.runner_options());
        unsupported.map_or(Ok(settings), |found| Err(CommandError::usage(found.why).hint(found.hint)))
    }

    /// The same for a command whose fresh sessions may run on other machines.
    pub(crate) fn search_settings<C>(
        &self,
        options: SettingOptions<C>,
        command: CommandArgs,
    ) -> Result<Settings, CommandError> {
        let mut settings = self.test_settings(options, command)?;
        machines::check(&settings)?;
        settings.jobs.value = machines::jobs(&settings);
        Ok(settings)
    }

    /// A launch for such a command.
    pub(crate) fn search_launch(&self, settings: &Settings) -> Launch {
        self.machines.launch(settings, &self.here)
    }

    /// The location of the history, for a command that runs no tests.
    pub(crate) fn store<C>(&self, options: SettingOptions<C>) -> Result<StoreLocation, CommandError> {
        Ok(self.settings(options, CommandArgs::default())?.store.value)
    }

    /// How to draw on standard output.
    pub(crate) fn style(&self) -> TerminalStyle {
        console::style(self.color, &io::stdout())
    }

    pub(crate) fn progress(&self, quiet: bool) -> Progress {
        console::progress(self.color, quiet)
    }
}

pub(crate) fn need_command(settings: &Settings) -> Result<(), CommandError> {
    if settings.command.value.is_empty() {
        let message = "there is no test command, and none can be guessed from the files here";
        let examples: Vec<String> =
            unflake_runners::examples().take(2).map(|command| format!("`unflake run -- {command}`")).collect();
        return Err(CommandError::usage(message).hint(format!("give it after two dashes: {}", examples.join(", "))));
    }
    Ok(())
}
