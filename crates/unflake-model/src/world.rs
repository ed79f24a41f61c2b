//! Worlds as values: everything outside a test that unflake chose or knows, recorded with each attempt.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::fingerprint::hash;
use crate::{Factor, Isolation};

/// The circumstances of an attempt, as far as they were chosen. `unflake under` accepts them back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct World {
    /// In the order in which they apply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub factors: Vec<Factor>,
    /// The number from which hash seed, random seeds and address layout follow; in forks of one process
    /// random numbers only. None: all are drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// What is the attempt's own, and not that of the machine.
    #[serde(default, skip_serializing_if = "Privacy::is_none")]
    pub private: Privacy,
    /// What the attempt has in common with attempts of other sessions.
    #[serde(default)]
    pub shared: Shared,
    /// The name of the machine, where it is not the one that unflake runs on. No command can choose it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
}

/// Identifies a world by its content: ten hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WorldId(pub u64);

/// What attempts of different sessions have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shared {
    /// Each has processes of its own.
    #[default]
    Machine,
    /// They are forks of one process: with its hash seed, its addresses and everything it imported.
    Fork,
    /// They run in one process, one after the other.
    Process,
}

/// The parts of a world that are private. Written as names separated by commas.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Privacy(pub BTreeSet<PrivatePart>);

/// A part of a world that can be private.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PrivatePart {
    /// The files of the project can be read; what is written is private.
    Project,
    /// The same for the home directory.
    Home,
    /// The same for the directories of temporary files. Shared memory is empty.
    Temp,
    /// A loopback interface of its own and no other network.
    Network,
    /// System V and POSIX inter-process communication.
    Ipc,
    /// The host name.
    HostName,
}

impl World {
    /// A world that differs from the user's by these factors only.
    pub fn of(factors: Vec<Factor>) -> Self {
        Self { factors, ..Self::default() }
    }

    /// Equal for worlds that differ in the order of their factors only.
    pub fn id(&self) -> WorldId {
        let mut canonical = self.clone();
        canonical.factors.sort_by_key(|factor| factor.kind().name);
        let machine = self.machine.iter().map(|name| format!("machine {name}"));
        let parts = [canonical.options(), vec![self.shared.word().to_owned()], machine.collect()].concat();
        WorldId(hash(parts.join("\n").as_bytes()) & WorldId::MASK)
    }

    /// The options of `unflake under` that give this world, not quoted for a shell. What attempts
    /// share has no option: a command has a process of its own.
    pub fn options(&self) -> Vec<String> {
        let seed = self.seed.map(|seed| format!("--seed={seed}"));
        let private = (!self.private.is_none()).then(|| format!("--private={}", self.private));
        self.factors.iter().map(Factor::flag).chain(seed).chain(private).collect()
    }
}

impl Shared {
    pub fn word(self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::Fork => "fork",
            Self::Process => "process",
        }
    }

    /// What attempts in an environment share with others.
    pub fn by(origin: Isolation) -> Self {
        match origin {
            Isolation::Process => Self::Machine,
            Isolation::Fork => Self::Fork,
            Isolation::InProcess => Self::Process,
        }
    }
}

impl WorldId {
    const MASK: u64 = (1 << 40) - 1;
}

impl fmt::Display for WorldId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:010x}", self.0)
    }
}

impl FromStr for WorldId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = u64::from_str_radix(text, 16).ok().filter(|number| *number <= Self::MASK && text.len() == 10);
        number.map(Self).ok_or_else(|| format!("`{text}` is not the id of a world: ten hexadecimal digits"))
    }
}

impl TryFrom<String> for WorldId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<WorldId> for String {
    fn from(id: WorldId) -> Self {
        id.to_string()
    }
}

impl Privacy {
    pub fn all() -> Self {
        Self(PrivatePart::ALL.into())
    }

    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    pub fn has(&self, part: PrivatePart) -> bool {
        self.0.contains(&part)
    }

    #[must_use]
    pub fn without(mut self, part: PrivatePart) -> Self {
        self.0.remove(&part);
        self
    }
}

impl fmt::Display for Privacy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            0 => f.write_str("none"),
            count if count == PrivatePart::ALL.len() => f.write_str("all"),
            _ => f.write_str(&self.0.iter().map(|part| part.word()).collect::<Vec<_>>().join(",")),
        }
    }
}

impl FromStr for Privacy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let part = |word: &str| {
            let known = PrivatePart::ALL.into_iter().find(|part| part.word() == word);
            known.ok_or_else(|| {
                let words: Vec<&str> = PrivatePart::ALL.iter().map(|part| part.word()).collect();
                format!("`{word}` cannot be private: give all, none, or some of {}", words.join(", "))
            })
        };
        match text {
            "all" => Ok(Self::all()),
            "none" => Ok(Self::default()),
            _ => text.split(',').map(part).collect::<Result<_, _>>().map(Self),
        }
    }
}

impl PrivatePart {
    pub const ALL: [Self; 6] = [Self::Project, Self::Home, Self::Temp, Self::Network, Self::Ipc, Self::HostName];

    pub fn word(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Home => "home",
            Self::Temp => "temp",
            Self::Network => "network",
            Self::Ipc => "ipc",
            Self::HostName => "host-name",
        }
    }

    /// What attempts share where it is not private.
    pub fn shared_text(self) -> &'static str {
        match self {
            Self::Project => "project files",
            Self::Home => "home directory",
            Self::Temp => "temporary directories",
            Self::Network => "ports",
            Self::Ipc => "shared memory and message queues",
            Self::HostName => "host name",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_the_same_on_every_day_and_machine() {
        let world = World { seed: Some(7), private: Privacy::all(), shared: Shared::Fork, ..World::default() };
        assert_eq!(World::default().id().to_string(), "cb98d7be6e");
        assert_ne!(world.id(), World::default().id());
        assert_eq!(world.id().to_string().parse(), Ok(world.id()));
        assert!("cb98d7be6".parse::<WorldId>().is_err());
    }

    #[test]
    fn worlds_of_different_machines_differ_and_have_the_same_options() {
        let there = World { machine: Some("node7".to_owned()), ..World::default() };
        assert_ne!(there.id(), World::default().id());
        assert_eq!(there.options(), World::default().options());
        assert_eq!(serde_json::from_str::<World>(&serde_json::to_string(&there).unwrap()).unwrap(), there);
    }

    #[test]
    fn a_world_survives_json_and_an_older_one_is_read() {
        let world = World { seed: Some(7), private: Privacy::all(), shared: Shared::Fork, ..World::default() };
        let text = serde_json::to_string(&world).unwrap();
        assert_eq!(serde_json::from_str::<World>(&text).unwrap(), world);
        assert_eq!(serde_json::from_str::<World>("{}").unwrap(), World::default());
    }

    #[test]
    fn a_world_is_printed_as_options() {
        let some = Privacy([PrivatePart::Network, PrivatePart::Project].into());
        let world = World { seed: Some(7), private: some.clone(), ..World::default() };
        assert_eq!(world.options(), ["--seed=7", "--private=project,network"]);
        assert_eq!("network,project".parse::<Privacy>(), Ok(some));
        assert_eq!("all".parse::<Privacy>().map(|all| all.to_string()), Ok("all".to_owned()));
        assert!("files".parse::<Privacy>().is_err());
    }
}
