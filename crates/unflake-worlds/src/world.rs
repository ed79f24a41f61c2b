//! An open world: factors turned into variables, limits, load and shim settings for a command.

use std::io;
use std::path::Path;
use std::process::Command;

use jiff::tz::TimeZone;
use nix::time::{ClockId, clock_gettime};
use tempfile::TempDir;
use unflake_model::{Factor, FactorEffect, Privacy, ProcessSetup, World};

use crate::address_layout::padding;
use crate::clock::shift;
use crate::elf_check::examine;
use crate::error::WorldError;
use crate::factors::{seed_factors, zone};
use crate::fresh_home::{FreshHome, NamedProgram};
use crate::hidden_files::HiddenFiles;
use crate::limits::{ProcessLimits, SHIM_SETTINGS, SpawnSpec, can_own_network, cpu_set, first_cores};
use crate::load::Load;
use crate::outcome::{ReachedPrograms, UnreachedProgram};
use crate::private::{PrivatePlan, PrivateRequest, SharedPart};
use crate::runtime_support::RuntimeSupport;
use crate::shim::Shim;

/// A world in which commands start. Its load, shim and empty home live as long as this value.
pub struct OpenWorld {
    world: World,
    setup: ProcessSetup,
    /// The factors that take effect only where the shim is loaded.
    by_shim: Vec<Factor>,
    shim: Option<Shim>,
    limits: ProcessLimits,
    home: Option<FreshHome>,
    /// Kept while processes may be started.
    _layers: Option<TempDir>,
    /// The plan, and the directory that it needs.
    private: Option<(PrivatePlan, TempDir)>,
    /// What should be private and cannot be.
    shared_parts: Vec<SharedPart>,
    programs: Vec<NamedProgram>,
    /// The directory of files that language runtimes load.
    support: Option<(TempDir, Vec<RuntimeSupport>)>,
    load: Option<Load>,
}

impl OpenWorld {
    /// Of two settings of a factor the later applies, unless it is repeatable. Without factors the
    /// shim is loaded and does nothing: the world that others are compared with.
    pub fn new(world: &World) -> Result<Self, WorldError> {
        Self::make(&std::env::temp_dir(), None, false, world)
    }

    /// The same, with its directories below one that the caller removes. Processes see the files there
    /// whatever the world hides.
    pub fn below(place: &Path, world: &World) -> Result<Self, WorldError> {
        Self::make(place, Some(place), false, world)
    }

    /// The same, for processes of other user namespaces: they cannot reach memory files of this one.
    pub fn with_files(place: &Path, world: &World) -> Result<Self, WorldError> {
        Self::make(place, Some(place), true, world)
    }

    fn make(place: &Path, shared: Option<&Path>, has_files: bool, world: &World) -> Result<Self, WorldError> {
        let world = World { factors: effective(&world.factors), ..world.clone() };
        // Factors override what follows from the seed.
        let mut factors = world.seed.map_or(Vec::new(), seed_factors);
        factors.extend(world.factors.iter().cloned());
        let factors = effective(&factors);
        let mut setup = ProcessSetup::default();
        let mut by_shim = Vec::new();
        for factor in &factors {
            let before = (setup.shim.len(), setup.clock);
            apply(factor, &mut setup).map_err(|why| WorldError { factor: Some(factor.clone()), why })?;
            if before != (setup.shim.len(), setup.clock) {
                by_shim.push(factor.clone());
            }
        }
        let shim = if factors.is_empty() && world.private.is_none() || !by_shim.is_empty() {
            Some(Shim::new(has_files.then_some(place))?)
        } else {
            None
        };
        let layers = (!setup.hidden.is_empty())
            .then(|| tempfile::Builder::new().prefix("unflake-hidden-").tempdir_in(place))
            .transpose()
            .map_err(WorldError::any("make a directory for overlays"))?;
        let hidden = match &layers {
            Some(layers) => HiddenFiles::new(&setup.hidden, layers.path(), shared)?,
            None => HiddenFiles::default(),
        };
        let (private, shared_parts) = match world.private.is_none() {
            true => (None, Vec::new()),
            false => private_plan(place, &world.private).map(|(plan, layers, parts)| (Some((plan, layers)), parts))?,
        };
        let parts = private.as_ref().map_or_else(Privacy::default, |(plan, _)| plan.parts.clone());
        let world = World { private: parts, ..world };
        let cores = setup.cores.map_or(Ok(None), first_cores);
        let limits = ProcessLimits {
            cores: cores.map_err(WorldError::any("read the CPU affinity"))?,
            memory: setup.memory,
            open_files: setup.open_files,
            own_network: setup.own_network,
            fixed_addresses: setup.address_seed.is_some(),
            hidden,
        };
        let home = setup.empty_home.then(|| FreshHome::below(place)).transpose();
        let home = home.map_err(WorldError::any("make an empty home"))?;
        let programs = setup.programs.iter().map(|(name, names)| NamedProgram::below(place, name, *names));
        let programs =
            programs.collect::<io::Result<_>>().map_err(WorldError::any("make a directory for a program"))?;
        let world = Self {
            world,
            setup,
            by_shim,
            shim,
            limits,
            home,
            _layers: layers,
            private,
            shared_parts,
            programs,
            support: None,
            load: None,
        };
        world.shim_settings()?;
        Ok(world)
    }

    /// Lets language runtimes load what makes them draw from the seed, follow the schedule and
    /// force a value, where the world has one.
    pub fn support_runtimes(&mut self, support: impl FnOnce() -> Vec<RuntimeSupport>) -> Result<(), WorldError> {
        if self.setup.random_seed.is_some() || self.setup.runtime_support {
            let support = support();
            let directory = tempfile::Builder::new().prefix("unflake-world-").tempdir();
            let directory = directory.map_err(WorldError::any("make a directory for language runtimes"))?;
            for one in &support {
                one.write(directory.path()).map_err(WorldError::any("write files for language runtimes"))?;
            }
            self.support = Some((directory, support));
        }
        Ok(())
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

    pub fn world(&self) -> &World {
        &self.world
    }

    /// What this machine does not permit to be private, of what should be.
    pub fn shared_parts(&self) -> &[SharedPart] {
        &self.shared_parts
    }

    /// The variables to set and to remove for a command. A date starts at this moment.
    pub fn variables(&self) -> Vec<(String, Option<String>)> {
        let mut set: Vec<(String, Option<String>)> = Vec::new();
        if let Some(shim) = &self.shim {
            // Other preloaded libraries stay, after the shim.
            let others = std::env::var("LD_PRELOAD").ok().filter(|others| !others.is_empty());
            let all = [Some(shim.library()), others];
            set.push(("LD_PRELOAD".to_owned(), Some(all.into_iter().flatten().collect::<Vec<_>>().join(":"))));
            let mut settings = self.shim_settings().expect("they were valid when the world was created");
            if let Some(seed) = self.setup.address_seed {
                let length = settings.len() + shim.library().len();
                settings.insert_str(0, &format!("padding={};", "x".repeat(padding(seed, length))));
            }
            set.push((SHIM_SETTINGS.to_owned(), Some(settings)));
            set.extend(sanitizer_option());
        }
        set.extend(self.home.iter().flat_map(FreshHome::variables));
        set.extend(self.programs.iter().flat_map(NamedProgram::variables));
        if let Some((directory, support)) = &self.support {
            let variables = support.iter().flat_map(|one| &*one.variables);
            set.extend(variables.map(|variable| variable.prepended(directory.path())));
        }
        set.extend(self.setup.variables.iter().cloned());
        set
    }

    /// How another process starts a command in this world, from this moment on.
    pub fn spawn_spec(&self) -> SpawnSpec {
        SpawnSpec {
            variables: self.variables(),
            limits: self.limits.clone(),
            private: self.private.as_ref().map(|(plan, _)| plan.clone()),
        }
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

/// A plan for a private world of the current directory, and what it does not make private. Where parts
/// are named, each of them must be.
fn private_plan(place: &Path, parts: &Privacy) -> Result<(PrivatePlan, TempDir, Vec<SharedPart>), WorldError> {
    let layers = tempfile::Builder::new().prefix("unflake-private-").tempdir_in(place);
    let layers = layers.map_err(WorldError::any("make a directory for overlays"))?;
    let project = std::env::current_dir().map_err(WorldError::any("find the current directory"))?;
    let request = PrivateRequest { parts: parts.clone(), project, keep: Vec::new() };
    let (plan, shared) = PrivatePlan::make(&request, layers.path());
    match (plan, shared.first()) {
        (Some(plan), None) => Ok((plan, layers, shared)),
        (Some(plan), _) if *parts == Privacy::all() => Ok((plan, layers, shared)),
        (_, first) => {
            let (part, why) = first.map_or(("", ""), |(part, why)| (part.word(), why));
            Err(WorldError { factor: None, why: format!("cannot make {part} private: {why}") })
        }
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

/// Makes gcc's AddressSanitizer accept a library before its own.
fn sanitizer_option() -> Option<(String, Option<String>)> {
    const OPTION: &str = "verify_asan_link_order";
    let name = "ASAN_OPTIONS".to_owned();
    let old = std::env::var(&name).unwrap_or_default();
    let separator = if old.is_empty() { "" } else { ":" };
    (!old.contains(OPTION)).then(|| (name, Some(format!("{old}{separator}{OPTION}=0"))))
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
