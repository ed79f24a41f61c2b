//! A world: factors turned into variables, limits, load and shim settings for a command.

use std::io;
use std::path::Path;
use std::process::Command;

use jiff::tz::TimeZone;
use nix::time::{ClockId, clock_gettime};
use tempfile::TempDir;
use unflake_model::{Factor, FactorEffect, ProcessSetup};

use crate::clock::shift;
use crate::elf_check::examine;
use crate::error::WorldError;
use crate::factors::zone;
use crate::fresh_home::{FreshHome, NamedProgram};
use crate::hidden_files::HiddenFiles;
use crate::limits::{ProcessLimits, SHIM_SETTINGS, SpawnSpec, can_own_network, cpu_set, first_cores};
use crate::load::Load;
use crate::outcome::{ReachedPrograms, UnreachedProgram};
use crate::shim::Shim;

/// A world in which commands start. Its load, shim and empty home live as long as this value.
pub struct World {
    factors: Vec<Factor>,
    setup: ProcessSetup,
    /// The factors that take effect only where the shim is loaded.
    by_shim: Vec<Factor>,
    shim: Option<Shim>,
    limits: ProcessLimits,
    home: Option<FreshHome>,
    /// Kept while processes may be started.
    _layers: Option<TempDir>,
    programs: Vec<NamedProgram>,
    load: Option<Load>,
}

impl World {
    /// Of two settings of a factor the later applies, unless it is repeatable. Without factors the
    /// shim is loaded and does nothing: the world that others are compared with.
    pub fn new(factors: &[Factor]) -> Result<Self, WorldError> {
        Self::make(&std::env::temp_dir(), None, factors)
    }

    /// The same, with its directories below one that the caller removes. Processes see the files there
    /// whatever the world hides.
    pub fn below(place: &Path, factors: &[Factor]) -> Result<Self, WorldError> {
        Self::make(place, Some(place), factors)
    }

    fn make(place: &Path, shared: Option<&Path>, factors: &[Factor]) -> Result<Self, WorldError> {
        let factors = effective(factors);
        let mut setup = ProcessSetup::default();
        let mut by_shim = Vec::new();
        for factor in &factors {
            let before = (setup.shim.len(), setup.clock);
            apply(factor, &mut setup).map_err(|why| WorldError { factor: Some(factor.clone()), why })?;
            if before != (setup.shim.len(), setup.clock) {
                by_shim.push(factor.clone());
            }
        }
        let shim = if factors.is_empty() || !by_shim.is_empty() { Some(Shim::new()?) } else { None };
        let layers = (!setup.hidden.is_empty())
            .then(|| tempfile::Builder::new().prefix("unflake-hidden-").tempdir_in(place))
            .transpose()
            .map_err(WorldError::any("make a directory for overlays"))?;
        let hidden = match &layers {
            Some(layers) => HiddenFiles::new(&setup.hidden, layers.path(), shared)?,
            None => HiddenFiles::default(),
        };
        let cores = setup.cores.map_or(Ok(None), first_cores);
        let limits = ProcessLimits {
            cores: cores.map_err(WorldError::any("read the CPU affinity"))?,
            memory: setup.memory,
            open_files: setup.open_files,
            own_network: setup.own_network,
            hidden,
        };
        let home = setup.empty_home.then(|| FreshHome::below(place)).transpose();
        let home = home.map_err(WorldError::any("make an empty home"))?;
        let programs = setup.programs.iter().map(|(name, names)| NamedProgram::below(place, name, *names));
        let programs =
            programs.collect::<io::Result<_>>().map_err(WorldError::any("make a directory for a program"))?;
        let world = Self { factors, setup, by_shim, shim, limits, home, _layers: layers, programs, load: None };
        world.shim_settings()?;
        Ok(world)
    }

    /// Starts the busy processes. Called late, so that preparing tests is not slowed down.
    pub fn load(&mut self) -> Result<(), WorldError> {
        if self.setup.busy_processes > 0 {
            let cores = self.limits.cores.as_deref().and_then(|cores| cpu_set(cores).ok());
            let started = Load::start(self.setup.busy_processes, cores);
            self.load = Some(started.map_err(WorldError::any("start busy processes"))?);
        }
        Ok(())
    }

    pub fn factors(&self) -> &[Factor] {
        &self.factors
    }

    /// The variables to set and to remove for a command. A date starts at this moment.
    pub fn variables(&self) -> Vec<(String, Option<String>)> {
        let mut set: Vec<(String, Option<String>)> = Vec::new();
        if let Some(shim) = &self.shim {
            // Other preloaded libraries stay, after the shim.
            let others = std::env::var("LD_PRELOAD").ok().filter(|others| !others.is_empty());
            let all = [Some(shim.library()), others];
            set.push(("LD_PRELOAD".to_owned(), Some(all.into_iter().flatten().collect::<Vec<_>>().join(":"))));
            let settings = self.shim_settings().expect("they were valid when the world was created");
            set.push((SHIM_SETTINGS.to_owned(), Some(settings)));
        }
        set.extend(self.home.iter().flat_map(FreshHome::variables));
        set.extend(self.programs.iter().flat_map(NamedProgram::variables));
        set.extend(self.setup.variables.iter().cloned());
        set
    }

    /// How another process starts a command in this world, from this moment on.
    pub fn spawn_spec(&self) -> SpawnSpec {
        SpawnSpec { variables: self.variables(), limits: self.limits.clone() }
    }

    /// Prepares a command to start in this world.
    pub fn prepare(&self, command: &mut Command) {
        self.spawn_spec().prepare(command);
    }

    /// Switches delays on or off in all processes at once. They start switched off.
    pub fn arm(&self, armed: bool) -> io::Result<()> {
        self.shim.as_ref().map_or(Ok(()), |shim| shim.arm(armed))
    }

    /// Which programs the shim has reached so far. None: no factor needs it.
    pub fn reached(&self) -> Option<ReachedPrograms> {
        self.shim.as_ref().and_then(|shim| shim.reached().ok())
    }

    /// Why the shim will not reach a program, as far as its file shows.
    pub fn unreachable(&self, program: &str) -> Option<UnreachedProgram> {
        self.shim.as_ref().and_then(|_| examine(program))
    }

    /// The factors that take effect only where the shim is loaded.
    pub fn by_shim(&self) -> &[Factor] {
        &self.by_shim
    }

    /// The settings of the shim, in the format of `agents/preload/settings.rs`.
    fn shim_settings(&self) -> Result<String, WorldError> {
        let origins = [ClockId::CLOCK_REALTIME, ClockId::CLOCK_MONOTONIC, ClockId::CLOCK_BOOTTIME].map(now);
        let mut words = vec![format!("origins={},{},{}", origins[0], origins[1], origins[2])];
        if let Some(clock) = self.setup.clock {
            let zone_variable = self.setup.variables.iter().rev().find(|(name, _)| name == "TZ");
            let zone = zone_variable.and_then(|(_, value)| zone(value.as_deref()?).ok());
            let shift = shift(clock, zone.unwrap_or_else(TimeZone::system), origins[0]);
            let shift =
                shift.map_err(|why| WorldError { factor: None, why: format!("cannot set the clock: {why}") })?;
            words.push(format!("shift={shift}"));
        }
        words.extend(self.setup.shim.iter().cloned());
        words.extend(self.shim.as_ref().map(|shim| format!("page={}", shim.page())));
        Ok(words.join(";"))
    }
}

/// Adds the effect of a factor. The error says why this machine cannot set it.
fn apply(factor: &Factor, setup: &mut ProcessSetup) -> Result<(), String> {
    let FactorEffect::Process(effect) = factor.kind().effect else { return Ok(()) };
    let (had_network, programs) = (setup.own_network, setup.programs.len());
    effect(factor.setting(), setup)?;
    if setup.own_network && !had_network {
        can_own_network().map_err(|error| format!("{error}; `off` needs no permission"))?;
    }
    match setup.programs[programs..].iter().all(|(name, _)| NamedProgram::exists(name)) {
        true => Ok(()),
        false => Err("there is no such program".to_owned()),
    }
}

fn effective(factors: &[Factor]) -> Vec<Factor> {
    let is_last = |index: usize| factors[index + 1..].iter().all(|later| later.kind() != factors[index].kind());
    let applies = |(index, factor): &(usize, &Factor)| factor.kind().repeatable || is_last(*index);
    factors.iter().enumerate().filter(applies).map(|(_, factor)| factor.clone()).collect()
}

fn now(clock: ClockId) -> i64 {
    let time = clock_gettime(clock).expect("the system has this clock");
    time.tv_sec() * 1_000_000_000 + time.tv_nsec()
}
