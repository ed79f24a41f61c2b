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
    /// The time when the command starts. The clock runs on from there.
    Date(ClockSetting),
    /// The speed of all clocks in millionths; sleeps and timeouts scale with it.
    Speed(u64),
    TimeZone(String),
    Locale(String),
    RandomSeed(u64),
    /// The seed of the test order. Applied by the technique that orders tests.
    Order(u64),
    /// Copies of the test at once. Applied by the engine.
    Beside(u32),
    /// Visible and usable cores.
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
        /// None: unset.
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
    /// One in this many calls is delayed, at random.
    pub one_in: u32,
    /// The seed of the delays.
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Network {
    /// Only this machine is reachable.
    Off,
    /// Its own network namespace: nothing else is reachable, not even services of this machine.
    Alone,
    /// Every connect, send and receive takes this much longer.
    Slow(Amount),
}

/// The order of directory entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DirectoryOrder {
    Sorted,
    Reversed,
    Shuffled(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HomeState {
    /// Empty home, caches, configuration and temporary directory.
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

    /// The canonical setting, as it is typed.
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

    /// The option of `unflake under` that sets it, not quoted for a shell.
    pub fn flag(&self) -> String {
        format!("--{}={}", self.kind(), self.setting())
    }

    /// The setting as a number, where settings are ordered. Of dates: seconds since 1970-01-01 as if in UTC, or
    /// the seconds of a shift.
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

    /// The factor with another number. None: that is not a setting.
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

/// A factor in JSON.
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
