//! Factors: settings of a world, as people type them and machines read them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::amount::{Amount, Size};
use crate::declared_factor::DeclaredFactor;
use crate::factor_kind::{BadFactor, FactorKind};
use crate::moment::{ClockSetting, Moment};

/// One setting of the environment of a test. Several together are a world.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Words", into = "Words")]
pub enum Factor {
    /// What the clock says when the command starts. It goes on from there.
    Date(ClockSetting),
    /// How fast all clocks run, in millionths: sleeps and time limits are shorter or longer by as much.
    Speed(u64),
    TimeZone(String),
    Locale(String),
    RandomSeed(u64),
    /// Tests in an order drawn from this number. Carried out by whoever orders the tests.
    Order(u64),
    /// So many copies of the test at once. Carried out by whoever runs tests.
    Beside(u32),
    /// Cores that can be seen and used.
    Cores(u32),
    /// Busy processes beside the command.
    Load(u32),
    Memory(Size),
    OpenFiles(u64),
    Delays(Delays),
    Network(Network),
    Listing(DirectoryOrder),
    Variable {
        name: String,
        /// None: it is not set.
        value: Option<String>,
    },
    State(HomeState),
    /// A factor that a runner declares, with its canonical setting.
    Declared(DeclaredFactor, String),
}

/// Delays at sleeps, waits and locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Delays {
    pub most: Amount,
    /// One of so many calls is delayed, by chance.
    pub one_in: u32,
    /// What chance is drawn from.
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Network {
    /// Nothing but this machine can be reached.
    Off,
    /// A network of its own: nothing outside of the command can be reached, other services of this machine included.
    Alone,
    /// Every connect, send and receive takes so much longer.
    Slow(Amount),
}

/// The order in which the names of a directory come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DirectoryOrder {
    Sorted,
    Reversed,
    Shuffled(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HomeState {
    /// An empty home, empty caches and configuration, an empty directory for temporary files.
    Fresh,
}

impl Factor {
    pub fn kind(&self) -> FactorKind {
        match self {
            Self::Date(_) => FactorKind::Date,
            Self::Speed(_) => FactorKind::Speed,
            Self::TimeZone(_) => FactorKind::TimeZone,
            Self::Locale(_) => FactorKind::Locale,
            Self::RandomSeed(_) => FactorKind::RandomSeed,
            Self::Order(_) => FactorKind::Order,
            Self::Beside(_) => FactorKind::Beside,
            Self::Cores(_) => FactorKind::Cores,
            Self::Load(_) => FactorKind::Load,
            Self::Memory(_) => FactorKind::Memory,
            Self::OpenFiles(_) => FactorKind::OpenFiles,
            Self::Delays(_) => FactorKind::Delays,
            Self::Network(_) => FactorKind::Network,
            Self::Listing(_) => FactorKind::Listing,
            Self::Variable { .. } => FactorKind::Variable,
            Self::State(_) => FactorKind::State,
            Self::Declared(declared, _) => FactorKind::Declared(*declared),
        }
    }

    /// The setting as it is typed.
    pub fn setting(&self) -> String {
        match self {
            Self::Date(when) => when.to_string(),
            Self::Speed(millionths) => {
                let (whole, rest) = (millionths / 1_000_000, millionths % 1_000_000);
                if rest == 0 {
                    whole.to_string()
                } else {
                    format!("{whole}.{rest:06}").trim_end_matches('0').to_owned()
                }
            }
            Self::TimeZone(word) | Self::Locale(word) | Self::Declared(_, word) => word.clone(),
            Self::Beside(number) | Self::Cores(number) | Self::Load(number) => number.to_string(),
            Self::RandomSeed(number) | Self::Order(number) | Self::OpenFiles(number) => number.to_string(),
            Self::Memory(size) => size.to_string(),
            Self::Delays(Delays { most, one_in, seed }) => format!("{most}/{one_in}@{seed}"),
            Self::Network(Network::Off) => "off".to_owned(),
            Self::Network(Network::Alone) => "alone".to_owned(),
            Self::Network(Network::Slow(by)) => format!("slow:{by}"),
            Self::Listing(DirectoryOrder::Sorted) => "sorted".to_owned(),
            Self::Listing(DirectoryOrder::Reversed) => "reversed".to_owned(),
            Self::Listing(DirectoryOrder::Shuffled(seed)) => format!("shuffled:{seed}"),
            Self::Variable { name, value: Some(value) } => format!("{name}={value}"),
            Self::Variable { name, value: None } => name.clone(),
            Self::State(HomeState::Fresh) => "fresh".to_owned(),
        }
    }

    /// The words that set it on the command line of `unflake under`, not quoted for a shell.
    pub fn flag(&self) -> String {
        format!("--{}={}", self.kind(), self.setting())
    }

    /// How much, where settings can be more or less: what a threshold is looked for in. Of dates: seconds since 1970 as if in
    /// UTC, or the seconds of a shift.
    pub fn number(&self) -> Option<f64> {
        Some(match self {
            Self::Date(when) => when.number(),
            Self::Speed(millionths) => *millionths as f64 / 1e6,
            Self::Beside(number) | Self::Cores(number) | Self::Load(number) => f64::from(*number),
            Self::Memory(size) => size.bytes() as f64,
            Self::OpenFiles(number) => *number as f64,
            Self::Delays(delays) => delays.most.seconds(),
            Self::Network(Network::Slow(by)) => by.seconds(),
            Self::Declared(declared, setting) => (declared.scale?.number)(setting)?,
            _ => return None,
        })
    }

    /// The same factor with more of it, or less. None: it cannot be set to that.
    pub fn with_number(&self, number: f64) -> Option<Self> {
        let whole = number.round() as u64;
        let setting = match self {
            Self::Date(ClockSetting::At(_)) => ClockSetting::At(Moment::at(number as i64)?).to_string(),
            Self::Date(ClockSetting::Shifted(_)) => return None,
            Self::Speed(_) => Self::Speed((number * 1e6).round() as u64).setting(),
            Self::Delays(delays) => {
                format!("{}us/{}@{}", (number * 1e6).round(), delays.one_in, delays.seed)
            }
            Self::Network(Network::Slow(_)) => format!("slow:{}us", (number * 1e6).round()),
            Self::Declared(declared, _) => (declared.scale?.setting)(number),
            _ => whole.to_string(),
        };
        self.number()?;
        self.kind().set(&setting).ok()
    }
}

/// `date=2027-01-30`
impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.kind(), self.setting())
    }
}

impl FromStr for Factor {
    type Err = BadFactor;

    fn from_str(text: &str) -> Result<Self, BadFactor> {
        let known = text.split_once('=').and_then(|(word, setting)| Some((FactorKind::from_word(word)?, setting)));
        let (kind, setting) = known.ok_or_else(|| BadFactor { kind: None, text: text.to_owned() })?;
        kind.set(setting)
    }
}

/// How a factor is written in JSON.
#[derive(Serialize, Deserialize)]
struct Words {
    factor: String,
    setting: String,
}

impl From<Factor> for Words {
    fn from(factor: Factor) -> Self {
        Self { factor: factor.kind().word().to_owned(), setting: factor.setting() }
    }
}

impl TryFrom<Words> for Factor {
    type Error = BadFactor;

    fn try_from(words: Words) -> Result<Self, BadFactor> {
        match FactorKind::from_word(&words.factor) {
            Some(kind) => kind.set(&words.setting),
            None => Ok(Self::Declared(DeclaredFactor::unknown(words.factor), words.setting)),
        }
    }
}

#[cfg(test)]
mod tests;
