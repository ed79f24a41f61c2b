//! Systems other than Linux: no factor can be set, and every attempt says so.

use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde::{Deserialize, Serialize};
use unflake_model::{Factor, Privacy, PrivatePart, World};

use crate::error::WorldError;
use crate::outcome::{ReachedPrograms, UnreachedProgram, WorldRun};
use crate::runtime_support::RuntimeSupport;

/// How to start a command in a world. There is none here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SpawnSpec {}

impl SpawnSpec {
    pub fn setting(&self, _: &str) -> Option<String> {
        None
    }

    pub fn prepare(&self, _: &mut Command) {}

    #[must_use]
    pub fn in_private(self, _: &PrivatePlan) -> Self {
        self
    }

    pub fn begin(&self) -> io::Result<()> {
        Ok(())
    }

    pub fn arm(&self, _: bool) -> io::Result<()> {
        Ok(())
    }
}

/// What should be private.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateRequest {
    pub parts: Privacy,
    pub project: PathBuf,
    pub keep: Vec<PathBuf>,
}

/// How a process enters a private world. There is none here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrivatePlan {
    pub parts: Privacy,
}

pub type SharedPart = (PrivatePart, String);

impl PrivatePlan {
    pub fn make(request: &PrivateRequest, _: &Path) -> (Option<Self>, Vec<SharedPart>) {
        let why = || "worlds are private on Linux only".to_owned();
        (None, request.parts.0.iter().map(|part| (*part, why())).collect())
    }

    pub fn needs_user_namespace(&self) -> bool {
        false
    }
}

/// A world in which commands start. There is none here.
pub struct OpenWorld(Infallible);

impl OpenWorld {
    pub fn new(world: &World) -> Result<Self, WorldError> {
        Self::below(Path::new(""), world)
    }

    pub fn below(_: &Path, world: &World) -> Result<Self, WorldError> {
        Err(WorldError { factor: world.factors.first().cloned(), why: "factors can be set on Linux only".to_owned() })
    }

    pub fn with_files(place: &Path, world: &World) -> Result<Self, WorldError> {
        Self::below(place, world)
    }

    pub fn support_runtimes(&mut self, _: impl FnOnce() -> Vec<RuntimeSupport>) -> Result<(), WorldError> {
        match self.0 {}
    }

    pub fn load(&mut self) -> Result<(), WorldError> {
        match self.0 {}
    }

    pub fn world(&self) -> &World {
        match self.0 {}
    }

    pub fn shared_parts(&self) -> &[SharedPart] {
        match self.0 {}
    }

    pub fn variables(&self) -> Vec<(String, Option<String>)> {
        match self.0 {}
    }

    pub fn spawn_spec(&self) -> SpawnSpec {
        match self.0 {}
    }

    pub fn prepare(&self, _: &mut Command) {
        match self.0 {}
    }

    pub fn arm(&self, _: bool) -> io::Result<()> {
        match self.0 {}
    }

    pub fn reached(&self) -> Option<ReachedPrograms> {
        match self.0 {}
    }

    pub fn unreachable(&self, _: &str) -> Option<UnreachedProgram> {
        match self.0 {}
    }

    pub fn by_shim(&self) -> &[Factor] {
        match self.0 {}
    }
}

pub fn can_seed() -> bool {
    false
}

pub fn supervised(work: impl FnOnce() -> u8) -> ExitCode {
    ExitCode::from(work())
}

pub fn run(world: OpenWorld, _: &[String]) -> Result<WorldRun, WorldError> {
    match world.0 {}
}
