//! Factors that mean something for Python only: hash seed, interpreter, switch interval, forced
//! value.

use std::path::Path;
use std::process::Command;

use unflake_model::{
    Amount, Cause, FactorDeclaration, FactorEffect, FactorPhrase, FactorPlan, FactorProbe, FactorScale, PlanContext,
    ProbeStep, ProbeVerdict, ProgramNames, ScaleShape,
};
use unflake_worlds::{judged, seeded};

use crate::runner::OtherRuntimes;

pub(super) static FACTORS: [&FactorDeclaration; 4] = [&HASH_SEED, &INTERPRETER, &SWITCH_INTERVAL, &FORCED_VALUE];

/// Why these factors are not tried with other languages.
const PYTHON_ONLY: Option<&str> = Some("it applies to Python only");

static HASH_SEED: FactorDeclaration = FactorDeclaration {
    name: "hash-seed",
    title: "hash seed",
    plural: "hash seeds",
    syntax: "a number up to 4294967295",
    parse: |setting| setting.parse::<u32>().ok().map(|seed| seed.to_string()),
    effect: FactorEffect::Process(|seed, setup| {
        let names = ["PYTHONHASHSEED", "PERL_HASH_SEED"];
        setup.variables.extend(names.map(|name| (name.to_owned(), Some(seed.to_owned()))));
        Ok(())
    }),
    family: "seeds",
    baseline: |_| Some("0".to_owned()),
    plan: |_| ["1", "2", "3"].into(),
    declared_only: PYTHON_ONLY,
    probes: &[FactorProbe {
        label: "",
        steps: |_| Ok(["1", "1", "2"].map(|seed| ProbeStep::under("hash", seed)).into()),
        judge: seeded,
    }],
    cause: Cause::UnorderedCollection,
    ..FactorDeclaration::EMPTY
};

static FORCED_VALUE: FactorDeclaration = FactorDeclaration {
    name: "forced-value",
    title: "forced value",
    plural: "forced values",
    syntax: "`mail/send.py:18:delay=0.5`: a file, a line, a variable and a literal",
    parse: |setting| {
        let (place, value) = setting.split_once('=')?;
        let (file, place) = place.split_once(':')?;
        let (line, name) = place.split_once(':')?;
        let fits = !file.is_empty() && !name.is_empty() && !value.is_empty() && line.parse::<u32>().is_ok();
        (fits && !setting.chars().any(char::is_control)).then(|| setting.to_owned())
    },
    phrase: FactorPhrase::When(|setting, _| format!("with {setting}")),
    effect: FactorEffect::Process(|setting, setup| {
        setup.variables.push(("UNFLAKE_FORCED_VALUE".to_owned(), Some(setting.to_owned())));
        setup.runtime_support = true;
        Ok(())
    }),
    forces_values: true,
    in_forks: true,
    plan: |_| FactorPlan {
        settings: Vec::new(),
        missing: Some("it proves a located line; `unflake why` and `unflake locate` choose the value".to_owned()),
    },
    declared_only: PYTHON_ONLY,
    ..FactorDeclaration::EMPTY
};

static INTERPRETER: FactorDeclaration = FactorDeclaration {
    name: "interpreter",
    title: "interpreter version",
    plural: "interpreters",
    syntax: "its name or path: `python3.12`",
    parse: |setting| {
        let fits = !setting.is_empty() && !setting.starts_with('-') && !setting.chars().any(char::is_control);
        fits.then(|| setting.to_owned())
    },
    phrase: FactorPhrase::When(|setting, _| format!("with {setting}")),
    effect: FactorEffect::Process(|setting, setup| {
        setup.programs.push((setting.to_owned(), usual_names));
        Ok(())
    }),
    plan: other_interpreters,
    declared_only: PYTHON_ONLY,
    probes: &[FactorProbe {
        label: "",
        steps: |target| {
            let name = target.interpreter.ok_or("it has no interpreter")?;
            Ok(vec![ProbeStep::under("path", name)])
        },
        judge: |answers| match &answers[0].text {
            Ok(path) => ProbeVerdict::yes_if(path.contains("unflake-interpreter-"), || format!("it runs {path}")),
            Err(why) => ProbeVerdict::Unavailable(why.clone()),
        },
    }],
    cause: Cause::Environment,
    ..FactorDeclaration::EMPTY
};

static SWITCH_INTERVAL: FactorDeclaration = FactorDeclaration {
    name: "switch-interval",
    title: "switch interval",
    plural: "switch intervals",
    syntax: "how long a Python thread runs at a time: `10us`",
    parse: |setting| setting.parse::<Amount>().ok().map(|interval| interval.to_string()),
    scale: Some(FactorScale {
        number: |setting| setting.parse::<Amount>().ok().map(Amount::seconds),
        with_number: |_, seconds| Some(format!("{}us", (seconds * 1e6).round())),
        shape: ScaleShape::Amount { grows: |_| false, whole: false },
    }),
    timing: true,
    phrase: FactorPhrase::When(|setting, threshold| {
        let or_less = if threshold { " or less" } else { "" };
        format!("when threads switch every {setting}{or_less}")
    }),
    effect: FactorEffect::Process(|setting, setup| {
        let interval = setting.parse::<Amount>().map_or(0, Amount::microseconds);
        setup.shim.push(format!("turns={interval}"));
        Ok(())
    }),
    plan: |_| ["10us"].into(),
    declared_only: PYTHON_ONLY,
    unaffected: "no Python process had a second thread",
    probes: &[FactorProbe {
        label: "",
        steps: |_| Ok(vec![ProbeStep::under("turns", "20us")]),
        judge: |answers| {
            judged(answers, |texts| match texts[0] {
                "nothing" => ProbeVerdict::Unavailable("it applies to Python only".to_owned()),
                turns => ProbeVerdict::yes_if(turns == "20", || format!("its threads switch every {turns} us, not 20")),
            })
        },
    }],
    ..FactorDeclaration::EMPTY
};

/// `python3.12` gets the names `python` and `python3`; `…/bin/java` also sets `JAVA_HOME`.
fn usual_names(program: &Path) -> ProgramNames {
    let own = program.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let family = own.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let names = if family == "python" { vec!["python", "python3"] } else { vec![family] };
    let mut variables = Vec::new();
    if own == "java"
        && let Some(home) = program.canonicalize().ok().as_deref().and_then(Path::parent).and_then(Path::parent)
    {
        variables.push(("JAVA_HOME".to_owned(), home.to_string_lossy().into_owned()));
    }
    ProgramNames { names: names.into_iter().map(str::to_owned).collect(), variables }
}

pub(super) fn others(context: &PlanContext) -> OtherRuntimes {
    let FactorPlan { settings, missing } = other_interpreters(context);
    let version = settings.into_iter().next().ok_or_else(|| missing.unwrap_or_default());
    OtherRuntimes { version, ..OtherRuntimes::none("no Python of the same version by another vendor is known") }
}

/// Other interpreters with pytest, where the command calls one by its usual name.
fn other_interpreters(context: &PlanContext) -> FactorPlan {
    let missing = |why: &str| FactorPlan { settings: Vec::new(), missing: Some(why.to_owned()) };
    let Some(own) = context.command.first().filter(|word| ["python", "python3"].contains(&word.as_str())) else {
        return missing("the command does not start with `python` or `python3`, so its interpreter is fixed");
    };
    let output = |program: &str, script: &str| {
        let output = Command::new(program).args(["-c", script]).output().ok().filter(|output| output.status.success());
        output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let version = output(own, "import sys; print('%d.%d' % sys.version_info[:2])").unwrap_or_default();
    let names = (8..16).map(|minor| format!("python3.{minor}")).filter(|name| !name.ends_with(&format!("on{version}")));
    let settings: Vec<String> = names.filter(|name| output(name, "import pytest").is_some()).collect();
    match settings.is_empty() {
        true => missing("no other installed interpreter has pytest"),
        false => FactorPlan { settings, missing: None },
    }
}
