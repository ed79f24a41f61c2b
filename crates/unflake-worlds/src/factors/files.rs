//! The order of directory entries, the home directory, and files that are missing.

use unflake_model::{
    Cause, FactorDeclaration, FactorEffect, FactorPhrase, FactorPlan, FactorProbe, ProbeStep, ProbeVerdict,
};

use super::{judged, word};

pub(super) static LISTING: FactorDeclaration = FactorDeclaration {
    name: "listing",
    title: "directory order",
    plural: "directory orders",
    syntax: "`sorted`, `reversed`, `shuffled:7`",
    parse: |text| match text {
        "sorted" | "reversed" => Some(text.to_owned()),
        "shuffled" => Some("shuffled:0".to_owned()),
        _ => seed(text).map(|seed| format!("shuffled:{seed}")),
    },
    phrase: FactorPhrase::When(|setting, _| match setting {
        "sorted" => "when directories are listed by name".to_owned(),
        "reversed" => "when directories are listed in reverse order".to_owned(),
        _ => "when directories are listed in a shuffled order".to_owned(),
    }),
    effect: FactorEffect::Process(|setting, setup| {
        setup.shim.push(match (setting, seed(setting)) {
            (_, Some(seed)) => format!("listing=2,{}", seed as i64),
            ("reversed", _) => "listing=1,0".to_owned(),
            _ => "listing=0,0".to_owned(),
        });
        Ok(())
    }),
    baseline: |_| Some("sorted".to_owned()),
    plan: |_| ["reversed", "shuffled:1"].into(),
    probes: &[FactorProbe {
        label: "",
        steps: |_| Ok(["sorted", "reversed"].map(|order| ProbeStep::under("listing", order)).into()),
        judge: |answers| {
            judged(answers, |texts| match texts {
                ["a b c d e", "e d c b a"] => ProbeVerdict::Yes,
                ["a b c d e", "a b c d e"] => ProbeVerdict::No("it sorts the names itself".to_owned()),
                _ => ProbeVerdict::No(format!("it lists {} and, reversed, {}", texts[0], texts[1])),
            })
        },
    }],
    cause: Cause::UnorderedCollection,
    ..FactorDeclaration::EMPTY
};

fn seed(text: &str) -> Option<u64> {
    text.strip_prefix("shuffled:")?.parse().ok()
}

pub(super) static STATE: FactorDeclaration = FactorDeclaration {
    name: "state",
    title: "initial state",
    plural: "initial states",
    syntax: "`fresh`, for an empty home and temporary directory",
    parse: |text| (text == "fresh").then(|| text.to_owned()),
    phrase: FactorPhrase::When(|_, _| "with an empty home directory and no files of earlier runs".to_owned()),
    effect: FactorEffect::Process(|_, setup| {
        setup.empty_home = true;
        Ok(())
    }),
    plan: |_| ["fresh"].into(),
    probes: &[FactorProbe {
        label: "",
        steps: |_| Ok(vec![ProbeStep::under("home", "fresh")]),
        judge: |answers| {
            judged(answers, |texts| {
                ProbeVerdict::yes_if(texts[0].contains("unflake-state-"), || format!("its home is {}", texts[0]))
            })
        },
    }],
    cause: Cause::Environment,
    ..FactorDeclaration::EMPTY
};

pub(super) static WITHOUT: FactorDeclaration = FactorDeclaration {
    name: "without",
    title: "missing file",
    plural: "missing files",
    syntax: "a file or directory that is not there; repeatable",
    parse: |text| {
        let path = std::path::absolute(word(text)?).ok()?;
        path.file_name().and_then(|_| path.to_str()).map(str::to_owned)
    },
    phrase: FactorPhrase::When(|path, _| format!("without {path}")),
    effect: FactorEffect::Process(|path, setup| {
        setup.hidden.push(path.into());
        Ok(())
    }),
    repeatable: true,
    plan: |_| FactorPlan {
        settings: Vec::new(),
        missing: Some("`unflake run` hides the files that a failing test wrote".to_owned()),
    },
    cause: Cause::Environment,
    ..FactorDeclaration::EMPTY
};
