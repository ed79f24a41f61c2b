//! The network: none, none and no local services, or a slow one.

use unflake_model::{
    Amount, Cause, FactorDeclaration, FactorEffect, FactorPhrase, FactorProbe, FactorScale, ProbeAnswer, ProbeStep,
    ProbeVerdict, ScaleShape,
};

use super::judges::longer_by;
use super::timing::rounded;

pub(super) static NETWORK: FactorDeclaration = FactorDeclaration {
    name: "network",
    title: "network",
    plural: "network settings",
    syntax: "`off`, `slow:100ms`, `alone` (no local services)",
    parse: |text| match text {
        "off" | "alone" => Some(text.to_owned()),
        "slow" => Some("slow:100ms".to_owned()),
        _ => slow(text).map(|by| format!("slow:{by}")),
    },
    scale: Some(FactorScale {
        number: |setting| slow(setting).map(Amount::seconds),
        with_number: |setting, seconds| slow(setting).map(|_| format!("slow:{}us", (seconds * 1e6).round())),
        shape: ScaleShape::Amount { grows: |_| true, whole: false },
    }),
    phrase: FactorPhrase::When(|setting, threshold| match (setting, slow(setting)) {
        (_, Some(by)) if threshold => format!("when the network is slower by {} or more", rounded(by)),
        (_, Some(by)) => format!("when the network is slower by {by}"),
        ("alone", _) => "without a network and without services on this machine".to_owned(),
        _ => "without a network".to_owned(),
    }),
    effect: FactorEffect::Process(|setting, setup| {
        match slow(setting) {
            Some(by) => setup.shim.push(format!("slow={}", by.microseconds() * 1_000)),
            None if setting == "alone" => setup.own_network = true,
            None => setup.shim.push("off".to_owned()),
        }
        Ok(())
    }),
    timing: true,
    plan: |_| ["off", "slow:200ms"].into(),
    probes: &[
        FactorProbe { label: "off", steps: |_| Ok(unreachable_steps("off")), judge: unreachable },
        FactorProbe { label: "alone", steps: |_| Ok(unreachable_steps("alone")), judge: unreachable },
        FactorProbe {
            label: "slow",
            steps: |_| Ok(vec![ProbeStep::unset("echo"), ProbeStep::under("echo", "slow:300ms")]),
            judge: |answers| longer_by(answers, 300),
        },
    ],
    cause: Cause::Network,
    ..FactorDeclaration::EMPTY
};

fn slow(text: &str) -> Option<Amount> {
    text.strip_prefix("slow:")?.parse().ok()
}

fn unreachable_steps(setting: &str) -> Vec<ProbeStep> {
    vec![ProbeStep::unset("connect"), ProbeStep::under("connect", setting), ProbeStep::under("echo", setting)]
}

/// Other machines are unreachable, the process itself is not.
fn unreachable(answers: &[ProbeAnswer]) -> ProbeVerdict {
    match [&answers[0].text, &answers[1].text, &answers[2].text] {
        [Ok(without), ..] if without == "unreachable" => {
            ProbeVerdict::Unavailable("this machine has no network".to_owned())
        }
        [Err(why), ..] => ProbeVerdict::No(why.clone()),
        [_, Err(why), _] => ProbeVerdict::Unavailable(why.clone()),
        [_, _, Err(why)] => ProbeVerdict::No(why.clone()),
        [_, _, Ok(echo)] if echo.parse::<i64>().is_err() => {
            ProbeVerdict::No(format!("it cannot reach itself either: {echo}"))
        }
        [_, Ok(with), _] => ProbeVerdict::yes_if(with == "unreachable", || {
            format!("a connection to another machine ends with `{with}`")
        }),
    }
}
