//! The environment variables with which unflake starts a driver.

use std::env;
use std::path::PathBuf;

use unflake_protocol::variables;
use unflake_worlds::SpawnSpec;

use crate::process::spec::EnvChanges;

pub(crate) struct DriverEnv {
    pub(crate) socket: PathBuf,
    pub(crate) environment: u32,
    /// A directory for files that are removed with the run.
    pub(crate) run_dir: PathBuf,
    /// How many characters of one text to keep.
    pub(crate) output_limit: usize,
    /// A directory for files that stay from run to run.
    pub(crate) cache: Option<PathBuf>,
    /// A directory that the drivers of all worlds of this run share.
    pub(crate) shared: Option<PathBuf>,
    /// Whether builds and lists in it are those of this run, too.
    pub(crate) reuses: bool,
    /// Whether to record the lines that tests run through.
    pub(crate) traced: bool,
    /// … with the values of variables.
    pub(crate) values: bool,
    /// Whether lines are recorded, and not only passed through so that threads can be delayed there.
    pub(crate) records: bool,
    /// The layers to report, joined by commas.
    pub(crate) layers: Option<String>,
    /// Whether assertions may be let fail.
    pub(crate) filter: bool,
    /// Makes the environment of the project's processes what it was before unflake.
    pub(crate) restore: EnvChanges,
    /// How to start processes in the world that tests run in.
    pub(crate) spawn: Option<SpawnSpec>,
}

impl DriverEnv {
    /// None: unflake did not start this process.
    pub(crate) fn read() -> Option<Self> {
        let mut restore: EnvChanges =
            env::var(variables::RESTORE).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        for name in variables::ALL {
            restore.insert(name.to_owned(), None);
        }
        let spawn: Option<SpawnSpec> = env::var(variables::DOOR).ok().and_then(|text| serde_json::from_str(&text).ok());
        Some(Self {
            socket: env::var_os(variables::SOCKET)?.into(),
            environment: env::var(variables::ENVIRONMENT).ok()?.parse().ok()?,
            run_dir: env::var_os(variables::SIDE)?.into(),
            output_limit: env::var(variables::OUTPUT_LIMIT).ok().and_then(|text| text.parse().ok()).unwrap_or(65_536),
            cache: env::var_os(variables::CACHE).map(PathBuf::from),
            shared: env::var_os(variables::SHARED).map(PathBuf::from),
            reuses: env::var_os(variables::REUSED).is_some(),
            traced: env::var_os(variables::TRACED).is_some(),
            layers: env::var(variables::LAYERS).ok(),
            filter: env::var_os(variables::FILTER).is_some(),
            records: env::var_os(variables::TRACED).is_some_and(|what| what != "delays"),
            values: env::var_os(variables::TRACED).is_some_and(|what| what == "values"),
            restore,
            spawn,
        })
    }
}
