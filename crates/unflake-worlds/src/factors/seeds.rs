//! Seeds of what the system gives to processes: random bytes, and the addresses of their memory.

use unflake_model::{Cause, Factor, FactorDeclaration, FactorEffect, FactorKind, FactorPlan, FactorProbe, ProbeStep};

use super::{canonical, parsed, seeded};
use crate::address_layout::can_fix_addresses;

/// Whether a factor is a seed of processes: one number sets all of these.
pub fn is_seed(kind: &FactorKind) -> bool {
    kind.family == FAMILY && matches!(kind.effect, FactorEffect::Process(_))
}

/// The factors that one seed sets, as far as this system can set them: everything that a process
/// draws once.
pub fn seed_factors(seed: u64) -> Vec<Factor> {
    let is_possible = |kind: &FactorKind| kind.name != ADDRESS_SEED.name || can_fix_addresses().is_ok();
    // Some seeds are smaller numbers.
    let set = |kind: FactorKind| kind.set(&seed.to_string()).or_else(|_| kind.set(&(seed as u32).to_string())).ok();
    FactorKind::all().into_iter().filter(is_seed).filter(is_possible).filter_map(set).collect()
}

/// The factor by which random bytes of the system follow from a seed.
pub fn random_bytes(seed: u64) -> Option<Factor> {
    FactorKind::all().into_iter().find(|kind| kind.name == RANDOM_SEED.name)?.set(&seed.to_string()).ok()
}

/// The factor of a world in which the system draws every address layout, whatever the world's seed.
pub fn drawn_addresses() -> Option<Factor> {
    FactorKind::all().into_iter().find(|kind| kind.name == ADDRESS_SEED.name)?.set(DRAWN).ok()
}

const FAMILY: &str = "seeds";
/// The setting of addresses that no seed decides.
const DRAWN: &str = "random";

pub(super) static RANDOM_SEED: FactorDeclaration = FactorDeclaration {
    name: "random-seed",
    title: "random seed",
    plural: "random seeds",
    syntax: "a number",
    parse: canonical::<u64>,
    effect: FactorEffect::Process(|setting, setup| {
        setup.random_seed = Some(parsed::<u64>(setting));
        setup.shim.push(format!("random={}", parsed::<u64>(setting) as i64));
        Ok(())
    }),
    family: FAMILY,
    baseline: |_| Some("0".to_owned()),
    plan: |_| ["1", "2", "3", "4", "5"].into(),
    probes: &[FactorProbe {
        label: "",
        steps: |_| Ok(["1", "1", "2"].map(|seed| ProbeStep::under("random", seed)).into()),
        judge: seeded,
    }],
    cause: Cause::Randomness,
    ..FactorDeclaration::EMPTY
};

pub(super) static ADDRESS_SEED: FactorDeclaration = FactorDeclaration {
    name: "address-seed",
    title: "address seed",
    plural: "address seeds",
    syntax: "a number; 0: the same layout without padding; random: as the system draws it",
    parse: |text| if text == DRAWN { Some(text.to_owned()) } else { canonical::<u64>(text) },
    effect: FactorEffect::Process(|setting, setup| {
        if setting == DRAWN {
            return Ok(());
        }
        can_fix_addresses()?;
        setup.address_seed = Some(parsed::<u64>(setting));
        setup.shim.push(format!("addresses={}", parsed::<u64>(setting) as i64));
        Ok(())
    }),
    per_process: true,
    family: FAMILY,
    baseline: |_| can_fix_addresses().is_ok().then(|| "0".to_owned()),
    plan: |_| match can_fix_addresses() {
        Ok(()) => ["1", "2", "3"].into(),
        Err(why) => FactorPlan { settings: Vec::new(), missing: Some(why) },
    },
    probes: &[FactorProbe {
        label: "",
        steps: |_| Ok(["1", "1", "2"].map(|seed| ProbeStep::under("addresses", seed)).into()),
        judge: seeded,
    }],
    ..FactorDeclaration::EMPTY
};
