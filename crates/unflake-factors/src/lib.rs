//! A world for a process: factors as the set-up of a command, and the shim that is preloaded for what the system cannot set.
//!
//! [`Under`] is such a world. Whoever starts a command in it lets it [prepare](Under::prepare) the command, keeps it as
//! long as the command runs, and asks afterwards what was [reached](Under::reached). Deliberately absent: tests, runners,
//! experiments, verdicts. The decisions are in `docs/design/18-factors.md`.

mod cannot;
mod load;
#[path = "../../../agents/preload/page.rs"]
#[allow(dead_code, unreachable_pub)] // The shim uses the rest of it.
mod page;
mod places;
#[path = "../../../agents/preload/program.rs"]
#[allow(unreachable_pub)]
mod program;
mod reached;
mod run;
mod set_up;
mod shim;
mod under;
mod zone;

pub use cannot::Cannot;
pub use reached::{Missed, Reached, Why};
pub use run::{Ended, run, watched};
pub use under::Under;
