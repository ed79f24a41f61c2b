//! What became of a command in a world: how it ended, what the shim could reach, and what it could not.

use std::fmt;

/// How a command in a world ended.
pub struct WorldRun {
    /// As a shell tells it: its own exit code, or 128 and the number of the signal.
    pub code: u8,
    /// None: nothing of the world needs the shim.
    pub reached: Option<ReachedPrograms>,
    /// Why the command itself could not be reached, as far as its file tells.
    pub missed: Option<UnreachedProgram>,
}

/// What is known of the processes of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReachedPrograms {
    /// Programs that were started with the shim in them. Copies that they make of themselves are not counted.
    pub processes: u32,
    /// Processes of Python that had a second thread, and heard how soon one is to give way to another.
    pub taking_turns: u32,
    /// Programs that were started and cannot have been reached, or not wholly, each once.
    pub missed: Vec<UnreachedProgram>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreachedProgram {
    pub program: String,
    pub why: Why,
}

/// Why a factor that needs the shim does not hold in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    Static,
    OtherLibrary,
    OtherMachine,
    Privileged,
    Cleared,
    OwnCalls,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Static => "is linked statically",
            Self::OtherLibrary => "uses another C library than glibc",
            Self::OtherMachine => "is for another kind of processor",
            Self::Privileged => "runs with the rights of somebody else, so the system lets nothing be preloaded",
            Self::Cleared => "was started without the environment variables that bring the shim in",
            Self::OwnCalls => "is written in Go, which asks the system directly",
        })
    }
}

impl fmt::Display for UnreachedProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.program, self.why)
    }
}
