//! The declaration of a factor: everything that unflake knows of it, as data.
//!
//! `unflake-worlds` declares the factors that every process has, runners those of their language.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Cause, ClockSetting, Moment};

pub struct FactorDeclaration {
    /// Its name on the command line and in JSON.
    pub name: &'static str,
    /// Its name in sentences, for one setting and for several.
    pub title: &'static str,
    pub plural: &'static str,
    /// What its settings look like.
    pub syntax: &'static str,
    /// The canonical form of a setting. None: it is not a setting.
    pub parse: fn(&str) -> Option<String>,
    /// Where settings are numbers.
    pub scale: Option<FactorScale>,
    pub phrase: FactorPhrase,
    pub effect: FactorEffect,
    /// Several settings of it apply together.
    pub repeatable: bool,
    /// It changes how long things take, so it need not have its effect in every run.
    pub timing: bool,
    /// It acts at lines: programs must be built so that they can be traced.
    pub at_lines: bool,
    /// An agent inside of a runner can set it in a forked process, whatever the process that was
    /// forked has.
    pub in_forks: bool,
    /// No other world may run at the same time.
    pub exclusive: bool,
    /// It decides what a process draws at random, so every run needs a process of its own.
    pub per_process: bool,
    /// It forces a variable to a value at a line: its settings are those of `ForcedValue::setting`.
    pub forces_values: bool,
    /// Factors of one family only make sense together: a command that sets one sets all of them.
    pub family: &'static str,
    /// The category of a flaky test whose outcome it decides. Unknown: it depends.
    pub cause: Cause,
    /// The setting at the controlled baseline of an experiment.
    pub baseline: fn(&PlanContext) -> Option<String>,
    /// The settings that an experiment tries, most promising first.
    pub plan: fn(&PlanContext) -> FactorPlan,
    /// Why an experiment does not try it with runners that have no agent inside.
    pub agent_only: Option<&'static str>,
    /// Why an experiment does not try it with runners that do not declare it.
    pub declared_only: Option<&'static str>,
    /// What to report where the shim was loaded and the factor changed nothing.
    pub unaffected: &'static str,
    pub probes: &'static [FactorProbe],
}

impl FactorDeclaration {
    /// A factor that does nothing, to start from.
    pub const EMPTY: Self = Self {
        name: "",
        title: "",
        plural: "",
        syntax: "a text",
        parse: |setting| Some(setting.to_owned()),
        scale: None,
        phrase: FactorPhrase::Seeds,
        effect: FactorEffect::None,
        repeatable: false,
        timing: false,
        at_lines: false,
        in_forks: false,
        exclusive: false,
        per_process: false,
        forces_values: false,
        family: "",
        cause: Cause::Unknown,
        baseline: |_| None,
        plan: |_| FactorPlan { settings: Vec::new(), missing: None },
        agent_only: None,
        declared_only: None,
        unaffected: "",
        probes: &[],
    };
}

impl fmt::Debug for FactorDeclaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[derive(Clone, Copy)]
pub struct FactorScale {
    pub number: fn(&str) -> Option<f64>,
    /// The setting with another number. None: there is none.
    pub with_number: fn(&str, f64) -> Option<String>,
    pub shape: ScaleShape,
}

#[derive(Clone, Copy)]
pub enum ScaleShape {
    /// `grows`: whether a larger number than this is further from the baseline.
    Amount { grows: fn(f64) -> bool, whole: bool },
    /// Seconds since 1970-01-01, as if in UTC.
    Moments,
}

/// How a sentence says that a test fails under a setting.
#[derive(Clone, Copy)]
pub enum FactorPhrase {
    /// `with the hash seeds 1, 2 and 3`: settings with the same outcome are named together.
    Seeds,
    /// The setting, and whether it is a threshold.
    When(fn(&str, bool) -> String),
}

/// What a setting changes.
#[derive(Clone, Copy)]
pub enum FactorEffect {
    None,
    /// The processes that start in the world. The error says why it cannot be set on this machine.
    Process(fn(&str, &mut ProcessSetup) -> Result<(), String>),
    /// The tests that run first: with 0 in the runner's order, with 1 in reverse, else shuffled.
    TestOrder,
    /// The number of copies of the test that run at once.
    Copies,
}

/// What a world changes for the processes that start in it.
#[derive(Clone, Default)]
pub struct ProcessSetup {
    /// None: unset.
    pub variables: Vec<(String, Option<String>)>,
    pub clock: Option<ClockSetting>,
    /// Settings of the preloaded shim.
    pub shim: Vec<String>,
    /// What processes draw at random follows from it.
    pub random_seed: Option<u64>,
    /// Every process has the same address layout, moved by this seed.
    pub address_seed: Option<u64>,
    /// Language runtimes need support for a setting: the processes alone do not follow it.
    pub runtime_support: bool,
    pub cores: Option<u32>,
    /// Bytes of address space.
    pub memory: Option<u64>,
    pub open_files: Option<u64>,
    pub own_network: bool,
    pub busy_processes: u32,
    pub empty_home: bool,
    /// Files and directories that the processes do not see. What they write there is discarded.
    pub hidden: Vec<PathBuf>,
    /// Programs that come first in `PATH`, with the names that they get there.
    pub programs: Vec<(String, NamesOfProgram)>,
}

/// The names that a program gets, by its path.
pub type NamesOfProgram = fn(&Path) -> ProgramNames;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramNames {
    pub names: Vec<String>,
    pub variables: Vec<(String, String)>,
}

/// What the settings of an experiment depend on.
#[derive(Clone, Debug)]
pub struct PlanContext {
    /// Local time.
    pub now: Moment,
    /// The time zone of this machine.
    pub zone: Option<String>,
    pub cores: usize,
    /// The user's command.
    pub command: Vec<String>,
    /// Beginnings of the names of environment variables without which runners do not work.
    pub tool_variables: Vec<&'static str>,
}

/// Settings that an experiment tries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FactorPlan {
    pub settings: Vec<String>,
    /// Why there are none, or not all that would be worth trying.
    pub missing: Option<String>,
}

impl<const N: usize> From<[&str; N]> for FactorPlan {
    fn from(settings: [&str; N]) -> Self {
        Self { settings: settings.map(str::to_owned).into(), missing: None }
    }
}

/// How `unflake doctor` finds out whether a factor takes effect in a language runtime.
pub struct FactorProbe {
    /// Which settings it is about, where a factor has several probes.
    pub label: &'static str,
    /// What a program is asked, one step after the other.
    pub steps: fn(&ProbeTarget) -> Result<Vec<ProbeStep>, String>,
    /// What the answers prove.
    pub judge: fn(&[ProbeAnswer]) -> ProbeVerdict,
}

/// The runtime that is probed.
#[derive(Clone, Copy, Debug)]
pub struct ProbeTarget {
    /// The command that starts its interpreter. None: it has no interpreter.
    pub interpreter: Option<&'static str>,
    pub cores: usize,
}

/// One question to a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeStep {
    pub question: &'static str,
    /// The setting under which the program runs. None: the factor is not set.
    pub setting: Option<String>,
}

impl ProbeStep {
    pub fn unset(question: &'static str) -> Self {
        Self { question, setting: None }
    }

    pub fn under(question: &'static str, setting: impl Into<String>) -> Self {
        Self { question, setting: Some(setting.into()) }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ProbeAnswer {
    /// The error says why there is no answer.
    pub text: Result<String, String>,
    pub took: Duration,
}

/// Whether a factor takes effect in a runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeVerdict {
    Yes,
    /// What was observed instead.
    No(String),
    /// It cannot be set on this machine, or has no meaning in that runtime.
    Unavailable(String),
}

impl ProbeVerdict {
    pub fn yes_if(observed: bool, otherwise: impl FnOnce() -> String) -> Self {
        if observed { Self::Yes } else { Self::No(otherwise()) }
    }
}
