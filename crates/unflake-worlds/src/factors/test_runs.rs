//! Test order and copies of a test: factors of a run of tests, which a single command does not have.

use unflake_model::{FactorDeclaration, FactorEffect, FactorPhrase, FactorPlan, FactorScale, ScaleShape};

use super::{as_number, canonical, number_in, whole_number};

pub(super) static ORDER: FactorDeclaration = FactorDeclaration {
    name: "order",
    title: "test order",
    plural: "test orders",
    syntax: "`0` (the runner's), `1` (reversed), or a seed to shuffle",
    parse: canonical::<u64>,
    phrase: FactorPhrase::When(|setting, _| match setting {
        "0" => "when the tests before it run first".to_owned(),
        "1" => "when the tests after it run first, in reverse order".to_owned(),
        seed => format!("when other tests run first, shuffled with seed {seed}"),
    }),
    effect: FactorEffect::TestOrder,
    plan: |_| ["0", "1"].into(),
    ..FactorDeclaration::EMPTY
};

pub(super) static BESIDE: FactorDeclaration = FactorDeclaration {
    name: "beside",
    title: "copies at the same time",
    plural: "numbers of copies",
    syntax: "how many run at once: `4`",
    parse: |text| number_in(text, 2..=64),
    scale: Some(FactorScale {
        number: as_number,
        with_number: whole_number,
        shape: ScaleShape::Amount { grows: |_| true, whole: true },
    }),
    phrase: FactorPhrase::When(|setting, threshold| {
        let or_more = if threshold { " or more" } else { "" };
        format!("when {setting}{or_more} copies run at the same time")
    }),
    effect: FactorEffect::Copies,
    timing: true,
    exclusive: true,
    plan: |context| FactorPlan { settings: vec![(2 * context.cores).clamp(4, 64).to_string()], missing: None },
    ..FactorDeclaration::EMPTY
};
