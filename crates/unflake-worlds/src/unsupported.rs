//! Systems other than Linux: no factor can be set, and every attempt says so.

use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

use serde::{Deserialize, Serialize};
use unflake_model::Factor;

use crate::error::WorldError;
use crate::outcome::{ReachedPrograms, UnreachedProgram, WorldRun};

/// How to start a command in a world. There is none here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SpawnSpec {}

impl SpawnSpec {
    pub fn prepare(&self, _: &mut Command) {}

    pub fn begin(&self) -> io::Result<()> {
        Ok(())
    }

    pub fn arm(&self, _: bool) -> io::Result<()> {
        Ok(())
    }
}

/// A world in which commands start. There is none here.
pub struct World(Infallible);

impl World {
    pub fn new(factors: &[Factor]) -> Result<Self, WorldError> {
        Self::below(Path::new(""), factors)
    }

    pub fn below(_: &Path, factors: &[Factor]) -> Result<Self, WorldError> {
        Err(WorldError { factor: factors.first().cloned(), why: "factors can be set on Linux only".to_owned() })
    }

    pub fn load(&mut self) -> Result<(), WorldError> {
        match self.0 {}
    }

    pub fn factors(&self) -> &[Factor] {
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

pub fn supervised(work: impl FnOnce() -> u8) -> ExitCode {
    ExitCode::from(work())
}

pub fn run(world: World, _: &[String]) -> Result<WorldRun, WorldError> {
    match world.0 {}
}
