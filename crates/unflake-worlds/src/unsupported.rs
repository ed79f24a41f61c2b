//! Elsewhere than on Linux no factor can be set, and that is said.

use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

use serde::{Deserialize, Serialize};
use unflake_model::Factor;

use crate::error::WorldError;
use crate::outcome::{ReachedPrograms, UnreachedProgram, WorldRun};

/// The way into a world. There is none here.
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

/// A world that commands can be started in. There is none here.
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

    pub fn door(&self) -> SpawnSpec {
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

    pub fn misses(&self, _: &str) -> Option<UnreachedProgram> {
        match self.0 {}
    }

    pub fn by_shim(&self) -> impl Iterator<Item = &Factor> {
        match self.0 {}
        #[allow(unreachable_code)]
        [].iter()
    }
}

pub fn watched(work: impl FnOnce() -> u8) -> ExitCode {
    ExitCode::from(work())
}

pub fn run(under: World, _: &[String]) -> Result<WorldRun, WorldError> {
    match under.0 {}
}
