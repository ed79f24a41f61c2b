//! A world: factors turned into variables, limits, load and shim settings for a command.

use std::io;
use std::path::Path;
use std::process::Command;

use jiff::tz::TimeZone;
use nix::time::{ClockId, clock_gettime};
use unflake_model::{DirectoryOrder, Factor, FactorEffect, Network};

use crate::clock::{check_locale, shift, zone};
use crate::elf_check::examine;
use crate::error::WorldError;
use crate::fresh_home::{FreshHome, NamedProgram};
use crate::limits::{ProcessLimits, SHIM_SETTINGS, SpawnSpec, can_own_network, cpu_set, first_cores};
use crate::load::Load;
use crate::outcome::{ReachedPrograms, UnreachedProgram};
use crate::shim::Shim;

/// A world in which commands start. Its load, shim and empty home live as long as this value.
pub struct World {
    factors: Vec<Factor>,
    shim: Option<Shim>,
    limits: ProcessLimits,
    zone: Option<TimeZone>,
    state: Option<FreshHome>,
    programs: Vec<NamedProgram>,
    busy: u32,
    load: Option<Load>,
}

impl World {
    /// Of two settings of a factor the later applies; variables add up. Without factors the shim is loaded
    /// and does nothing: the world that others are compared with.
    pub fn new(factors: &[Factor]) -> Result<Self, WorldError> {
        Self::below(&std::env::temp_dir(), factors)
    }

    /// The same, with its directories below one that the caller removes.
    pub fn below(place: &Path, factors: &[Factor]) -> Result<Self, WorldError> {
        let factors = &last_of_each(factors);
        let shim = if factors.is_empty() || factors.iter().any(needs_shim) { Some(Shim::new()?) } else { None };
        let mut world = Self {
            factors: factors.clone(),
            shim,
            limits: ProcessLimits::default(),
            zone: None,
            state: None,
            programs: Vec::new(),
            busy: 0,
            load: None,
        };
        for factor in factors {
            match factor {
                Factor::TimeZone(name) => world.zone = Some(zone(factor, name)?),
                Factor::Locale(name) => check_locale(factor, name)?,
                Factor::Beside(_) => {
                    return Err(WorldError::set(factor, "only a run of tests has copies, and a command is run once"));
                }
                Factor::Order(_) => {
                    return Err(WorldError::set(
                        factor,
                        "only a run of tests has an order, and a command is run as it is",
                    ));
                }
                Factor::Cores(count) => {
                    world.limits.cores =
                        first_cores(*count).map_err(WorldError::any("find out which cores there are"))?;
                }
                Factor::Load(count) => world.busy = *count,
                Factor::Memory(size) => world.limits.memory = Some(size.bytes()),
                Factor::OpenFiles(number) => world.limits.open_files = Some(*number),
                Factor::Network(network) => {
                    world.limits.own_network = *network == Network::Alone;
                    if world.limits.own_network {
                        can_own_network()
                            .map_err(|error| WorldError::set(factor, format!("{error}; `off` needs no rights")))?;
                    }
                }
                Factor::State(_) => {
                    world.state = Some(FreshHome::below(place).map_err(WorldError::any("make an empty home"))?);
                }
                Factor::Declared(declared, name) => {
                    if let FactorEffect::Program(names) = declared.effect {
                        let made = NamedProgram::below(place, name, names);
                        let made = made.map_err(WorldError::any("make a place for the interpreter"))?;
                        world.programs.push(made.ok_or_else(|| WorldError::set(factor, "there is no such program"))?);
                    }
                }
                Factor::Date(_) | Factor::Speed(_) | Factor::RandomSeed(_) => {}
                Factor::Delays(_) | Factor::Listing(_) | Factor::Variable { .. } => {}
            }
        }
        world.shim_settings()?;
        Ok(world)
    }

    /// Starts the busy processes. Called late, so that preparing tests is not slowed down.
    pub fn load(&mut self) -> Result<(), WorldError> {
        if self.busy > 0 {
            let cores = self.limits.cores.as_deref().and_then(|cores| cpu_set(cores).ok());
            let started = Load::start(self.busy, cores);
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
        let mut put = |name: &str, value: String| set.push((name.to_owned(), Some(value)));
        for factor in &self.factors {
            match factor {
                Factor::TimeZone(name) => put("TZ", name.clone()),
                Factor::Locale(name) => put("LC_ALL", name.clone()),
                Factor::Declared(declared, setting) => {
                    if let FactorEffect::Variables(variables) = declared.effect {
                        variables(setting).into_iter().for_each(|(name, value)| put(name, value));
                    }
                }
                _ => {}
            }
        }
        if let Some(shim) = &self.shim {
            // Other preloaded libraries stay, after the shim.
            let others = std::env::var("LD_PRELOAD").ok().filter(|others| !others.is_empty());
            let all = [Some(shim.library()), others];
            put("LD_PRELOAD", all.into_iter().flatten().collect::<Vec<_>>().join(":"));
            put(SHIM_SETTINGS, self.shim_settings().expect("they were valid when the world was created"));
        }
        set.extend(self.state.iter().flat_map(FreshHome::variables));
        set.extend(self.programs.iter().flat_map(NamedProgram::variables));
        for factor in &self.factors {
            if let Factor::Variable { name, value } = factor {
                set.push((name.clone(), value.clone()));
            }
        }
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
    pub fn by_shim(&self) -> impl Iterator<Item = &Factor> {
        self.factors.iter().filter(|factor| needs_shim(factor))
    }

    /// The settings of the shim, in the format of `agents/preload/settings.rs`.
    fn shim_settings(&self) -> Result<String, WorldError> {
        let origins = [ClockId::CLOCK_REALTIME, ClockId::CLOCK_MONOTONIC, ClockId::CLOCK_BOOTTIME].map(now);
        let mut words = vec![format!("origins={},{},{}", origins[0], origins[1], origins[2])];
        for factor in &self.factors {
            let word = match factor {
                Factor::Date(when) => {
                    let zone = self.zone.clone().unwrap_or_else(TimeZone::system);
                    format!("shift={}", shift(factor, *when, zone, origins[0])?)
                }
                Factor::Speed(millionths) => format!("speed={millionths}"),
                Factor::RandomSeed(seed) => format!("random={}", *seed as i64),
                Factor::Cores(count) => format!("cores={count}"),
                Factor::Delays(delays) => {
                    let most = delays.most.microseconds() * 1_000;
                    format!("delays={most},{},{}", delays.one_in, delays.seed as i64)
                }
                Factor::Network(Network::Off) => "off".to_owned(),
                Factor::Network(Network::Slow(by)) => format!("slow={}", by.microseconds() * 1_000),
                Factor::Listing(DirectoryOrder::Sorted) => "listing=0,0".to_owned(),
                Factor::Listing(DirectoryOrder::Reversed) => "listing=1,0".to_owned(),
                Factor::Listing(DirectoryOrder::Shuffled(seed)) => format!("listing=2,{}", *seed as i64),
                Factor::Declared(declared, setting) => match declared.effect {
                    FactorEffect::Shim(word) => word(setting),
                    _ => continue,
                },
                _ => continue,
            };
            words.push(word);
        }
        words.extend(self.shim.as_ref().map(|shim| format!("page={}", shim.page())));
        Ok(words.join(";"))
    }
}

fn last_of_each(factors: &[Factor]) -> Vec<Factor> {
    let adds_up = |factor: &Factor| matches!(factor, Factor::Variable { .. });
    let is_last = |index: usize| factors[index + 1..].iter().all(|later| later.kind() != factors[index].kind());
    let kept = |(index, factor): &(usize, &Factor)| adds_up(factor) || is_last(*index);
    factors.iter().enumerate().filter(kept).map(|(_, factor)| factor.clone()).collect()
}

fn needs_shim(factor: &Factor) -> bool {
    match factor {
        Factor::Date(_) | Factor::Speed(_) | Factor::RandomSeed(_) | Factor::Cores(_) => true,
        Factor::Delays(_) | Factor::Listing(_) => true,
        Factor::Declared(declared, _) => matches!(declared.effect, FactorEffect::Shim(_)),
        Factor::Network(network) => *network != Network::Alone,
        _ => false,
    }
}

fn now(clock: ClockId) -> i64 {
    let time = clock_gettime(clock).expect("the system has this clock");
    time.tv_sec() * 1_000_000_000 + time.tv_nsec()
}
