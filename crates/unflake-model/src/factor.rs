//! What a test can be run under, as words that people type and machines read.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::amount::{Amount, Size};
use crate::moment::When;

/// One thing of the world around a test, and what it is set to. Several together are a world.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Words", into = "Words")]
pub enum Factor {
    /// What the clock says when the command starts. It goes on from there.
    Date(When),
    /// How fast all clocks run, in millionths: sleeps and time limits are shorter or longer by as much.
    Speed(u64),
    TimeZone(String),
    Locale(String),
    HashSeed(u32),
    RandomSeed(u64),
    /// Tests in an order drawn from this number. Carried out by whoever orders the tests.
    Order(u64),
    /// Cores that can be seen and used.
    Cores(u32),
    /// Busy processes beside the command.
    Load(u32),
    Memory(Size),
    OpenFiles(u64),
    Delays(Delays),
    Network(Network),
    Listing(Listing),
    Variable {
        name: String,
        /// None: it is not set.
        value: Option<String>,
    },
    State(State),
    /// Another interpreter under the usual names, by name or path.
    Interpreter(String),
    /// How long a thread of Python may keep the interpreter to itself. Carried out by the agent inside.
    SwitchInterval(Amount),
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
pub enum Listing {
    Sorted,
    Reversed,
    Shuffled(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// An empty home, empty caches and configuration, an empty directory for temporary files.
    Fresh,
}

/// Which factor, without its setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FactorKind {
    Date,
    Speed,
    TimeZone,
    Locale,
    HashSeed,
    RandomSeed,
    Order,
    Cores,
    Load,
    Memory,
    OpenFiles,
    Delays,
    Network,
    Listing,
    Variable,
    State,
    Interpreter,
    SwitchInterval,
}

impl FactorKind {
    pub const ALL: [Self; 18] = [
        Self::Date,
        Self::Speed,
        Self::TimeZone,
        Self::Locale,
        Self::HashSeed,
        Self::RandomSeed,
        Self::Order,
        Self::Cores,
        Self::Load,
        Self::Memory,
        Self::OpenFiles,
        Self::Delays,
        Self::Network,
        Self::Listing,
        Self::Variable,
        Self::State,
        Self::Interpreter,
        Self::SwitchInterval,
    ];

    /// Its word on the command line and in JSON.
    pub fn word(self) -> &'static str {
        self.texts().0
    }

    /// What people call it.
    pub fn title(self) -> &'static str {
        self.texts().1
    }

    /// What its settings look like.
    pub fn settings(self) -> &'static str {
        self.texts().2
    }

    fn texts(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Date => {
                ("date", "date and time", "`2027-01-30` (noon), `2028-02-29T23:59:58+01:00`, `+3d`, `-1d12h`")
            }
            Self::Speed => ("speed", "clock speed", "how many times as fast: `10`, `0.1`"),
            Self::TimeZone => ("time-zone", "time zone", "`Asia/Tokyo`, `UTC`, `JST-9`"),
            Self::Locale => ("locale", "locale", "one that is installed: `C`, `de_DE.UTF-8`"),
            Self::HashSeed => ("hash-seed", "hash seed", "a number up to 4294967295"),
            Self::RandomSeed => ("random-seed", "random seed", "a number"),
            Self::Order => ("order", "test order", "a number that the order is drawn from"),
            Self::Cores => ("cores", "parallelism", "how many cores there are: `1`"),
            Self::Load => ("load", "CPU load", "how many busy processes run beside it: `2`"),
            Self::Memory => ("memory", "memory limit", "address space of each process: `512M`, `2G`"),
            Self::OpenFiles => ("open-files", "open-file limit", "a number"),
            Self::Delays => {
                ("delays", "delays", "how long at most: `20ms`; `20ms/5@7` for one in 5 calls, drawn from 7")
            }
            Self::Network => ("network", "network", "`off`, `alone` or `slow:100ms`"),
            Self::Listing => ("listing", "directory listing order", "`sorted`, `reversed` or `shuffled:7`"),
            Self::Variable => ("variable", "environment variable", "`NAME=VALUE`, or `NAME` to unset it"),
            Self::State => {
                ("state", "initial state", "`fresh`: an empty home, caches, configuration and temporary files")
            }
            Self::Interpreter => ("interpreter", "interpreter version", "its name or path: `python3.12`"),
            Self::SwitchInterval => {
                ("switch-interval", "switch interval", "how long a thread of Python goes on: `1us`")
            }
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// The factor with this setting.
    pub fn set(self, setting: &str) -> Result<Factor, BadFactor> {
        let bad = || BadFactor { kind: Some(self), text: setting.to_owned() };
        let from = |range: std::ops::RangeInclusive<u64>| {
            setting.parse().ok().filter(|number| range.contains(number)).ok_or_else(bad)
        };
        let word = || {
            let fits = !setting.is_empty() && !setting.starts_with('-') && !setting.chars().any(char::is_control);
            fits.then(|| setting.to_owned()).ok_or_else(bad)
        };
        let parsed = match self {
            Self::Date => setting.parse().ok().map(Factor::Date),
            Self::Speed => speed(setting).map(Factor::Speed),
            Self::TimeZone => Some(Factor::TimeZone(word()?)),
            Self::Locale => Some(Factor::Locale(word()?)),
            Self::HashSeed => setting.parse().ok().map(Factor::HashSeed),
            Self::RandomSeed => setting.parse().ok().map(Factor::RandomSeed),
            Self::Order => setting.parse().ok().map(Factor::Order),
            Self::Cores => Some(Factor::Cores(from(1..=1024)? as u32)),
            Self::Load => Some(Factor::Load(from(1..=1024)? as u32)),
            Self::Memory => setting.parse().ok().map(Factor::Memory),
            Self::OpenFiles => Some(Factor::OpenFiles(from(4..=1 << 30)?)),
            Self::Delays => delays(setting).map(Factor::Delays),
            Self::Network => network(setting).map(Factor::Network),
            Self::Listing => listing(setting).map(Factor::Listing),
            Self::Variable => variable(setting),
            Self::State => (setting == "fresh").then_some(Factor::State(State::Fresh)),
            Self::Interpreter => Some(Factor::Interpreter(word()?)),
            Self::SwitchInterval => setting.parse().ok().map(Factor::SwitchInterval),
        };
        parsed.ok_or_else(bad)
    }
}

impl fmt::Display for FactorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Factor {
    pub fn kind(&self) -> FactorKind {
        match self {
            Self::Date(_) => FactorKind::Date,
            Self::Speed(_) => FactorKind::Speed,
            Self::TimeZone(_) => FactorKind::TimeZone,
            Self::Locale(_) => FactorKind::Locale,
            Self::HashSeed(_) => FactorKind::HashSeed,
            Self::RandomSeed(_) => FactorKind::RandomSeed,
            Self::Order(_) => FactorKind::Order,
            Self::Cores(_) => FactorKind::Cores,
            Self::Load(_) => FactorKind::Load,
            Self::Memory(_) => FactorKind::Memory,
            Self::OpenFiles(_) => FactorKind::OpenFiles,
            Self::Delays(_) => FactorKind::Delays,
            Self::Network(_) => FactorKind::Network,
            Self::Listing(_) => FactorKind::Listing,
            Self::Variable { .. } => FactorKind::Variable,
            Self::State(_) => FactorKind::State,
            Self::Interpreter(_) => FactorKind::Interpreter,
            Self::SwitchInterval(_) => FactorKind::SwitchInterval,
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
            Self::TimeZone(word) | Self::Locale(word) | Self::Interpreter(word) => word.clone(),
            Self::HashSeed(number) | Self::Cores(number) | Self::Load(number) => number.to_string(),
            Self::RandomSeed(number) | Self::Order(number) | Self::OpenFiles(number) => number.to_string(),
            Self::Memory(size) => size.to_string(),
            Self::Delays(Delays { most, one_in, seed }) => format!("{most}/{one_in}@{seed}"),
            Self::Network(Network::Off) => "off".to_owned(),
            Self::Network(Network::Alone) => "alone".to_owned(),
            Self::Network(Network::Slow(by)) => format!("slow:{by}"),
            Self::Listing(Listing::Sorted) => "sorted".to_owned(),
            Self::Listing(Listing::Reversed) => "reversed".to_owned(),
            Self::Listing(Listing::Shuffled(seed)) => format!("shuffled:{seed}"),
            Self::Variable { name, value: Some(value) } => format!("{name}={value}"),
            Self::Variable { name, value: None } => name.clone(),
            Self::State(State::Fresh) => "fresh".to_owned(),
            Self::SwitchInterval(interval) => interval.to_string(),
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
            Self::Cores(number) | Self::Load(number) => f64::from(*number),
            Self::Memory(size) => size.bytes() as f64,
            Self::OpenFiles(number) => *number as f64,
            Self::Delays(delays) => delays.most.seconds(),
            Self::Network(Network::Slow(by)) => by.seconds(),
            Self::SwitchInterval(interval) => interval.seconds(),
            _ => return None,
        })
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

/// What is no factor, or no setting of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadFactor {
    kind: Option<FactorKind>,
    text: String,
}

impl fmt::Display for BadFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.text;
        match self.kind {
            Some(kind) => write!(f, "`{text}` is no setting of {kind}: it is {}", kind.settings()),
            None => write!(f, "`{text}` is no factor: one is written like `date=2027-01-30`"),
        }
    }
}

impl std::error::Error for BadFactor {}

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
        let kind = FactorKind::from_word(&words.factor);
        kind.ok_or(BadFactor { kind: None, text: words.factor })?.set(&words.setting)
    }
}

// -- Settings -----------------------------------------------------------------------------------------------------------

/// From a thousandth to a thousand times as fast.
fn speed(text: &str) -> Option<u64> {
    let text = text.trim_start_matches(['x', '×']);
    let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(rest) || rest.len() > 6 || whole.len() > 4 {
        return None;
    }
    let millionths = whole.parse::<u64>().ok()? * 1_000_000 + format!("{rest:0<6}").parse::<u64>().ok()?;
    (1_000..=1_000_000_000).contains(&millionths).then_some(millionths)
}

fn delays(text: &str) -> Option<Delays> {
    let (text, seed) = text.split_once('@').unwrap_or((text, "0"));
    let (most, one_in) = text.split_once('/').unwrap_or((text, "10"));
    let one_in = one_in.parse().ok().filter(|one_in| *one_in > 0)?;
    Some(Delays { most: most.parse().ok()?, one_in, seed: seed.parse().ok()? })
}

fn network(text: &str) -> Option<Network> {
    match text {
        "off" => Some(Network::Off),
        "alone" => Some(Network::Alone),
        "slow" => Some(Network::Slow(Amount::milliseconds(100))),
        _ => text.strip_prefix("slow:")?.parse().ok().map(Network::Slow),
    }
}

fn listing(text: &str) -> Option<Listing> {
    match text {
        "sorted" => Some(Listing::Sorted),
        "reversed" => Some(Listing::Reversed),
        "shuffled" => Some(Listing::Shuffled(0)),
        _ => text.strip_prefix("shuffled:")?.parse().ok().map(Listing::Shuffled),
    }
}

fn variable(text: &str) -> Option<Factor> {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value.to_owned())));
    let fits = !name.is_empty() && !text.contains('\0');
    fits.then(|| Factor::Variable { name: name.to_owned(), value })
}

#[cfg(test)]
#[path = "factor_tests.rs"]
mod tests;
