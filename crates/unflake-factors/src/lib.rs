//! A world for a process: factors as the set-up of a command, and the shim that is preloaded for what the system cannot set.
//!
//! [`Under`] is such a world. Whoever starts a command in it lets it [prepare](Under::prepare) the command, keeps it as
//! long as the command runs, and asks afterwards what was [reached](Under::reached). Deliberately absent: tests, runners,
//! experiments, verdicts. The decisions are in `docs/design/18-factors.md`.

mod cannot;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod ended;
#[cfg(target_os = "linux")]
mod examine;
#[cfg(target_os = "linux")]
mod load;
#[cfg(target_os = "linux")]
#[path = "../../../agents/preload/shared_page.rs"]
#[allow(dead_code, unreachable_pub)] // The shim uses the rest of it.
mod page;
#[cfg(target_os = "linux")]
mod places;
#[cfg(target_os = "linux")]
#[path = "../../../agents/preload/executable.rs"]
#[allow(unreachable_pub)]
mod program;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod set_up;
#[cfg(target_os = "linux")]
mod shim;
#[cfg(target_os = "linux")]
mod under;
#[cfg(target_os = "linux")]
mod zone;

pub use cannot::Cannot;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{Door, Under, run, watched};
pub use ended::{Ended, Missed, Reached, Why};
#[cfg(target_os = "linux")]
pub use run::{run, watched};
#[cfg(target_os = "linux")]
pub use set_up::Door;
#[cfg(target_os = "linux")]
pub use under::Under;
