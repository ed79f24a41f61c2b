//! A world for a process: factors as the set-up of a command, and the shim that is preloaded for what the system cannot set.
//!
//! [`World`] is such a world. Whoever starts a command in it lets it [prepare](World::prepare) the command, keeps it as
//! long as the command runs, and asks afterwards what was [reached](World::reached). Deliberately absent: tests, runners,
//! experiments, verdicts. The decisions are in `docs/design/worlds.md`.

#[cfg(target_os = "linux")]
mod clock;
#[cfg(target_os = "linux")]
mod elf_check;
mod error;
#[cfg(target_os = "linux")]
mod fresh_home;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod load;
mod outcome;
#[cfg(target_os = "linux")]
#[path = "../../../agents/preload/shared_page.rs"]
#[allow(dead_code, unreachable_pub)] // The shim uses the rest of it.
mod page;
#[cfg(target_os = "linux")]
#[path = "../../../agents/preload/executable.rs"]
#[allow(unreachable_pub)]
mod program;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod shim;
#[cfg(not(target_os = "linux"))]
mod unsupported;
#[cfg(target_os = "linux")]
mod world;

pub use error::WorldError;
#[cfg(target_os = "linux")]
pub use limits::SpawnSpec;
pub use outcome::{ReachedPrograms, UnreachedProgram, Why, WorldRun};
#[cfg(target_os = "linux")]
pub use run::{run, watched};
#[cfg(not(target_os = "linux"))]
pub use unsupported::{SpawnSpec, World, run, watched};
#[cfg(target_os = "linux")]
pub use world::World;
