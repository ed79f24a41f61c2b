//! The seed of the random bytes that the system gives to processes.

use unflake_model::{FactorDeclaration, FactorEffect, FactorProbe, ProbeStep};

use super::{canonical, parsed, seeded};

pub(super) static RANDOM_SEED: FactorDeclaration = FactorDeclaration {
    name: "random-seed",
    title: "random seed",
    plural: "random seeds",
    syntax: "a number",
    parse: canonical::<u64>,
    effect: FactorEffect::Process(|setting, setup| {
        setup.shim.push(format!("random={}", parsed::<u64>(setting) as i64));
        Ok(())
    }),
    per_process: true,
    family: "seeds",
    baseline: |_| Some("0".to_owned()),
    plan: |_| ["1", "2", "3", "4", "5"].into(),
    probes: &[FactorProbe {
        label: "",
        steps: |_| Ok(["1", "1", "2"].map(|seed| ProbeStep::under("random", seed)).into()),
        judge: seeded,
    }],
    ..FactorDeclaration::EMPTY
};
