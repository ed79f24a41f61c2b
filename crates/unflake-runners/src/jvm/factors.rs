//! Factors that mean something for JVMs only: orders that the JDK leaves open.

use unflake_model::{Cause, FactorDeclaration, FactorEffect, FactorPhrase};

pub(super) static FACTORS: [&FactorDeclaration; 2] = [&COLLECTION_ORDER, &REFLECTION_ORDER];

/// Why these factors are not tried with other languages.
const JVM_ONLY: Option<&str> = Some("it applies to Java only");

static COLLECTION_ORDER: FactorDeclaration = FactorDeclaration {
    name: "collection-order",
    title: "order of hash collections",
    plural: "orders of hash collections",
    syntax: "`reversed` or `shuffled:7`",
    parse: order,
    phrase: FactorPhrase::When(|setting, _| {
        format!(
            "when HashMap and HashSet iterate in {} order",
            if setting == REVERSED { "reverse" } else { "a shuffled" }
        )
    }),
    effect: FactorEffect::Process(|setting, setup| {
        setup.shim.push(format!("collections={}", agent_setting(setting)));
        setup.runtime_support = true;
        Ok(())
    }),
    plan: |_| [REVERSED, "shuffled:1", "shuffled:2"].into(),
    declared_only: JVM_ONLY,
    cause: Cause::UnorderedCollection,
    ..FactorDeclaration::EMPTY
};

static REFLECTION_ORDER: FactorDeclaration = FactorDeclaration {
    name: "reflection-order",
    title: "order of reflection",
    plural: "orders of reflection",
    syntax: "`reversed` or `shuffled:7`",
    parse: order,
    phrase: FactorPhrase::When(|setting, _| {
        let order = if setting == REVERSED { "reverse" } else { "a shuffled" };
        format!("when reflection lists fields and methods in {order} order")
    }),
    effect: FactorEffect::Process(|setting, setup| {
        setup.shim.push(format!("members={}", agent_setting(setting)));
        setup.runtime_support = true;
        Ok(())
    }),
    plan: |_| [REVERSED, "shuffled:1"].into(),
    declared_only: JVM_ONLY,
    cause: Cause::UnorderedCollection,
    ..FactorDeclaration::EMPTY
};

const REVERSED: &str = "reversed";

fn order(setting: &str) -> Option<String> {
    match setting {
        REVERSED => Some(setting.to_owned()),
        "shuffled" => Some("shuffled:0".to_owned()),
        _ => setting.strip_prefix("shuffled:")?.parse::<u32>().ok().map(|seed| format!("shuffled:{seed}")),
    }
}

/// The setting as the agent reads it: a word or a seed.
fn agent_setting(setting: &str) -> &str {
    setting.strip_prefix("shuffled:").unwrap_or(setting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_have_one_canonical_form() {
        assert_eq!(order("reversed").as_deref(), Some("reversed"));
        assert_eq!(order("shuffled").as_deref(), Some("shuffled:0"));
        assert_eq!(order("shuffled:07").as_deref(), Some("shuffled:7"));
        assert_eq!(["sorted", "7", "shuffled:x", ""].map(order), [None, None, None, None]);
    }
}
