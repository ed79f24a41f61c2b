//! How a command in a world ended, and which of its programs the shim reached.

use std::fmt;

/// How a command in a world ended.
pub struct WorldRun {
    /// As a shell reports it: the exit code, or 128 plus the signal.
    pub code: u8,
    /// None: no factor of the world needs the shim.
    pub reached: Option<ReachedPrograms>,
    /// Why the shim cannot reach the command itself, as far as its file shows.
    pub missed: Option<UnreachedProgram>,
}

/// Which processes of a command the shim reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReachedPrograms {
    /// Programs that loaded the shim. Forks are not counted.
    pub processes: u32,
    /// Interpreters with a second thread in which the shim set the switch interval.
    pub taking_turns: u32,
    /// Programs that the shim did not reach, or not completely, each once.
    pub missed: Vec<UnreachedProgram>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreachedProgram {
    pub program: String,
    pub why: UnreachedReason,
}

/// Why the shim does not reach a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnreachedReason {
    Static,
    OtherLibrary,
    OtherMachine,
    Privileged,
    Cleared,
    OwnCalls,
}

impl fmt::Display for UnreachedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Static => "is linked statically",
            Self::OtherLibrary => "uses another C library than glibc",
            Self::OtherMachine => "is for another kind of processor",
            Self::Privileged => "runs as another user, so the system ignores preloaded libraries",
            Self::Cleared => "was started without the environment variables that load the shim",
            Self::OwnCalls => "is written in Go, which makes system calls without the C library",
        })
    }
}

impl fmt::Display for UnreachedProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.program, self.why)
    }
}
