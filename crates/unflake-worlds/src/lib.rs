//! Worlds: processes with a chosen clock, seed, limit, network, load or home.
//!
//! [`factors()`] declares what can be set for every process.
//! An [`OpenWorld`] [prepares](OpenWorld::prepare) a command, must live as long as the command runs, and
//! reports afterwards which programs the preloaded shim [reached](OpenWorld::reached). Deliberately absent: tests,
//! runners, experiments, verdicts. Decisions are in `docs/design/worlds.md`.

mod address_layout;
#[cfg(target_os = "linux")]
mod clock;
#[cfg(target_os = "linux")]
mod elf_check;
mod error;
mod factors;
mod fork_settings;
#[cfg(target_os = "linux")]
mod fresh_home;
#[cfg(target_os = "linux")]
mod hidden_files;
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
mod private;
#[cfg(target_os = "linux")]
#[path = "../../../agents/preload/executable.rs"]
#[allow(unreachable_pub)]
mod program;
#[cfg(target_os = "linux")]
mod run;
mod runtime_support;
#[cfg(target_os = "linux")]
mod shim;
#[cfg(not(target_os = "linux"))]
mod unsupported;
#[cfg(target_os = "linux")]
mod world;

pub use error::WorldError;
pub use factors::{
    HIDES_FILES, clock_changes, drawn_addresses, factors, is_seed, judged, random_bytes, seed_factors, seeded,
};
pub use fork_settings::fork_settings;
#[cfg(target_os = "linux")]
pub use limits::SpawnSpec;
pub use outcome::{ReachedPrograms, UnreachedProgram, UnreachedReason, WorldRun};
#[cfg(target_os = "linux")]
pub use private::{PrivatePlan, PrivateRequest, SharedPart};
#[cfg(target_os = "linux")]
pub use run::{run, supervised};
pub use runtime_support::{RuntimeSupport, SupportVariable};
#[cfg(target_os = "linux")]
pub use shim::can_seed;
#[cfg(not(target_os = "linux"))]
pub use unsupported::{OpenWorld, PrivatePlan, PrivateRequest, SharedPart, SpawnSpec, can_seed, run, supervised};
#[cfg(target_os = "linux")]
pub use world::OpenWorld;
