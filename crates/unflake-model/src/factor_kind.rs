//! The kinds of factors, and how their settings are parsed.

use std::fmt;

use crate::amount::Amount;
use crate::declared_factor::{self, DeclaredFactor};
use crate::factor::{Delays, DirectoryOrder, Factor, HomeState, Network};

/// A factor without its setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FactorKind {
    Date,
    Speed,
    TimeZone,
    Locale,
    RandomSeed,
    Order,
    Beside,
    Cores,
    Load,
    Memory,
    OpenFiles,
    Delays,
    Network,
    Listing,
    Variable,
    State,
    /// One that a runner declares.
    Declared(DeclaredFactor),
}

impl FactorKind {
    /// Those that every process has.
    const GENERIC: [Self; 16] = [
        Self::Date,
        Self::Speed,
        Self::TimeZone,
        Self::Locale,
        Self::RandomSeed,
        Self::Order,
        Self::Beside,
        Self::Cores,
        Self::Load,
        Self::Memory,
        Self::OpenFiles,
        Self::Delays,
        Self::Network,
        Self::Listing,
        Self::Variable,
        Self::State,
    ];

    /// All kinds: the generic ones, then those that runners have declared.
    pub fn all() -> Vec<Self> {
        Self::GENERIC.into_iter().chain(declared_factor::all().into_iter().map(Self::Declared)).collect()
    }

    /// Its name on the command line and in JSON.
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
            Self::RandomSeed => ("random-seed", "random seed", "a number"),
            Self::Order => ("order", "test order", "a number that the order is drawn from"),
            Self::Beside => ("beside", "copies of itself", "how many run at once: `4`"),
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
            Self::Declared(declared) => (declared.name, declared.title, declared.settings),
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::all().into_iter().find(|kind| kind.word() == word)
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
            Self::RandomSeed => setting.parse().ok().map(Factor::RandomSeed),
            Self::Order => setting.parse().ok().map(Factor::Order),
            Self::Beside => Some(Factor::Beside(from(2..=64)? as u32)),
            Self::Cores => Some(Factor::Cores(from(1..=1024)? as u32)),
            Self::Load => Some(Factor::Load(from(1..=1024)? as u32)),
            Self::Memory => setting.parse().ok().map(Factor::Memory),
            Self::OpenFiles => Some(Factor::OpenFiles(from(4..=1 << 30)?)),
            Self::Delays => delays(setting).map(Factor::Delays),
            Self::Network => network(setting).map(Factor::Network),
            Self::Listing => listing(setting).map(Factor::Listing),
            Self::Variable => variable(setting),
            Self::State => (setting == "fresh").then_some(Factor::State(HomeState::Fresh)),
            Self::Declared(declared) => (declared.parse)(setting).map(|setting| Factor::Declared(declared, setting)),
        };
        parsed.ok_or_else(bad)
    }
}

impl fmt::Display for FactorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The text is not a factor, or not a setting of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadFactor {
    pub(crate) kind: Option<FactorKind>,
    pub(crate) text: String,
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

fn listing(text: &str) -> Option<DirectoryOrder> {
    match text {
        "sorted" => Some(DirectoryOrder::Sorted),
        "reversed" => Some(DirectoryOrder::Reversed),
        "shuffled" => Some(DirectoryOrder::Shuffled(0)),
        _ => text.strip_prefix("shuffled:")?.parse().ok().map(DirectoryOrder::Shuffled),
    }
}

fn variable(text: &str) -> Option<Factor> {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value.to_owned())));
    let fits = !name.is_empty() && !text.contains('\0');
    fits.then(|| Factor::Variable { name: name.to_owned(), value })
}
