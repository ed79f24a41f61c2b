//! Limits of a process: cores, memory, open files.

use unflake_model::{
    Cause, FactorDeclaration, FactorEffect, FactorPhrase, FactorPlan, FactorProbe, FactorScale, ProbeAnswer, ProbeStep,
    ProbeVerdict, ScaleShape, Size,
};

use super::{as_number, canonical, judged, number_in, parsed, whole_number};

pub(super) static CORES: FactorDeclaration = FactorDeclaration {
    name: "cores",
    title: "number of cores",
    plural: "numbers of cores",
    syntax: "how many it sees and uses: `1`",
    parse: |text| number_in(text, 1..=1024),
    scale: Some(FactorScale {
        number: as_number,
        with_number: whole_number,
        shape: ScaleShape::Amount { grows: |_| false, whole: true },
    }),
    phrase: FactorPhrase::When(|setting, threshold| match (setting, threshold) {
        ("1", _) => "with a single core".to_owned(),
        (cores, true) => format!("with {cores} cores or fewer"),
        (cores, false) => format!("with {cores} cores"),
    }),
    effect: FactorEffect::Process(|setting, setup| {
        setup.cores = Some(parsed(setting));
        setup.shim.push(format!("cores={setting}"));
        Ok(())
    }),
    timing: true,
    plan: |context| match context.cores {
        1 => FactorPlan { settings: Vec::new(), missing: Some("the machine has a single core".to_owned()) },
        _ => ["1"].into(),
    },
    probes: &[FactorProbe {
        label: "",
        steps: |_| Ok(["1", "3"].map(|cores| ProbeStep::under("cores", cores)).into()),
        judge: |answers| {
            judged(answers, |texts| {
                ProbeVerdict::yes_if(texts == ["1", "3"], || {
                    format!("it sees {} cores with 1 set, {} with 3 set", texts[0], texts[1])
                })
            })
        },
    }],
    cause: Cause::Environment,
    ..FactorDeclaration::EMPTY
};

pub(super) static MEMORY: FactorDeclaration = FactorDeclaration {
    name: "memory",
    title: "memory limit",
    plural: "memory limits",
    syntax: "address space of each process: `512M`, `2G`",
    parse: canonical::<Size>,
    scale: Some(FactorScale {
        number: |setting| setting.parse::<Size>().ok().map(|size| size.bytes() as f64),
        with_number: whole_number,
        shape: ScaleShape::Amount { grows: |_| false, whole: false },
    }),
    phrase: FactorPhrase::When(|setting, threshold| match threshold {
        true => format!("with {} MB of memory or less", parsed::<Size>(setting).bytes() >> 20),
        false => format!("with {setting} of memory"),
    }),
    effect: FactorEffect::Process(|setting, setup| {
        setup.memory = Some(parsed::<Size>(setting).bytes());
        Ok(())
    }),
    plan: |_| ["512M"].into(),
    agent_only: Some(
        "an address-space limit keeps a virtual machine, or a program with a sanitizer, from starting; \
         try `unflake under --memory`",
    ),
    probes: &[FactorProbe {
        label: "",
        steps: |_| Ok(vec![ProbeStep::unset("memory"), ProbeStep::under("memory", "2G")]),
        judge: limited,
    }],
    cause: Cause::Resource,
    ..FactorDeclaration::EMPTY
};

pub(super) static OPEN_FILES: FactorDeclaration = FactorDeclaration {
    name: "open-files",
    title: "open-file limit",
    plural: "open-file limits",
    syntax: "a number",
    parse: |text| number_in(text, 4..=1 << 30),
    scale: Some(FactorScale {
        number: as_number,
        with_number: whole_number,
        shape: ScaleShape::Amount { grows: |_| false, whole: true },
    }),
    phrase: FactorPhrase::When(|setting, _| format!("when at most {setting} files can be open")),
    effect: FactorEffect::Process(|setting, setup| {
        setup.open_files = Some(parsed(setting));
        Ok(())
    }),
    plan: |_| ["64"].into(),
    probes: &[FactorProbe {
        label: "",
        steps: |_| Ok(vec![ProbeStep::unset("files"), ProbeStep::under("files", "60")]),
        judge: limited,
    }],
    cause: Cause::Resource,
    ..FactorDeclaration::EMPTY
};

fn limited(answers: &[ProbeAnswer]) -> ProbeVerdict {
    judged(answers, |texts| match texts[0] {
        "given" => ProbeVerdict::yes_if(texts[1] == "refused", || "it gets more than the limit".to_owned()),
        _ => ProbeVerdict::Unavailable("it gets no more without a limit".to_owned()),
    })
}
