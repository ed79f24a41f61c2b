//! What a driver is told by unflake, and a world in which the project cannot see it.

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;

use unflake_protocol::variables;
use unflake_worlds::SpawnSpec;

pub(crate) struct Told {
    pub(crate) socket: PathBuf,
    pub(crate) environment: u32,
    pub(crate) side: PathBuf,
    /// How many characters of one text to keep.
    pub(crate) output_limit: usize,
    /// Where things may stay from run to run.
    pub(crate) cache: Option<PathBuf>,
    /// A place that drivers of other worlds have, too, gone with the run.
    pub(crate) shared: Option<PathBuf>,
    /// Whether to record the order in which tests run through their code.
    pub(crate) traced: bool,
    /// … with the values they come by, where they can be seen.
    pub(crate) values: bool,
    /// The layers at which it is to be told what tests look like.
    pub(crate) layers: Option<String>,
    /// Whether assertions may be let fail.
    pub(crate) filter: bool,
    /// What the variables of unflake change for a process of the project: values to set, or to remove.
    pub(crate) restore: BTreeMap<String, Option<String>>,
    /// The way into the world that tests are to run in.
    pub(crate) door: Option<SpawnSpec>,
}

impl Told {
    /// None without unflake on the other side.
    pub(crate) fn read() -> Option<Self> {
        let mut restore: BTreeMap<String, Option<String>> =
            env::var(variables::RESTORE).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        for name in variables::ALL {
            restore.insert(name.to_owned(), None);
        }
        Some(Self {
            socket: env::var_os(variables::SOCKET)?.into(),
            environment: env::var(variables::ENVIRONMENT).ok()?.parse().ok()?,
            side: env::var_os(variables::SIDE)?.into(),
            output_limit: env::var(variables::OUTPUT_LIMIT).ok().and_then(|text| text.parse().ok()).unwrap_or(65_536),
            cache: env::var_os(variables::CACHE).map(PathBuf::from),
            shared: env::var_os(variables::SHARED).map(PathBuf::from),
            traced: env::var_os(variables::TRACED).is_some(),
            layers: env::var(variables::LAYERS).ok(),
            filter: env::var_os(variables::FILTER).is_some(),
            values: env::var_os(variables::TRACED).is_some_and(|what| what == "values"),
            restore,
            door: env::var(variables::DOOR).ok().and_then(|text| serde_json::from_str(&text).ok()),
        })
    }
}
