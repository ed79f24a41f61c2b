//! Factors that mean something for Python only: hash seed, interpreter, switch interval.

use std::path::Path;
use std::process::Command;

use unflake_model::{Amount, FactorDeclaration, FactorEffect, FactorPhrase, FactorScale, ProgramNames};

pub(crate) static FACTORS: [&FactorDeclaration; 3] = [&HASH_SEED, &INTERPRETER, &SWITCH_INTERVAL];

/// Why these factors are not tried with other languages.
const PYTHON_ONLY: &str = "it is a matter of Python";

static HASH_SEED: FactorDeclaration = FactorDeclaration {
    name: "hash-seed",
    title: "hash seed",
    settings: "a number up to 4294967295",
    parse: |setting| setting.parse::<u32>().ok().map(|seed| seed.to_string()),
    scale: None,
    works_in_time: false,
    phrase: FactorPhrase::Seeds,
    effect: FactorEffect::Variables(|seed| {
        vec![("PYTHONHASHSEED", seed.to_owned()), ("PERL_HASH_SEED", seed.to_owned())]
    }),
    baseline: Some("0"),
    plan: |_| Ok(["1", "2", "3"].map(str::to_owned).into()),
    elsewhere: PYTHON_ONLY,
    unaffected: "",
};

static INTERPRETER: FactorDeclaration = FactorDeclaration {
    name: "interpreter",
    title: "interpreter version",
    settings: "its name or path: `python3.12`",
    parse: |setting| {
        let fits = !setting.is_empty() && !setting.starts_with('-') && !setting.chars().any(char::is_control);
        fits.then(|| setting.to_owned())
    },
    scale: None,
    works_in_time: false,
    phrase: FactorPhrase::When(|setting, _| format!("with {setting}")),
    effect: FactorEffect::Program(usual_names),
    baseline: None,
    plan: other_interpreters,
    elsewhere: PYTHON_ONLY,
    unaffected: "",
};

static SWITCH_INTERVAL: FactorDeclaration = FactorDeclaration {
    name: "switch-interval",
    title: "switch interval",
    settings: "how long a thread of Python goes on: `1us`",
    parse: |setting| setting.parse::<Amount>().ok().map(|interval| interval.to_string()),
    scale: Some(FactorScale {
        number: |setting| setting.parse::<Amount>().ok().map(Amount::seconds),
        setting: |seconds| format!("{}us", (seconds * 1e6).round()),
    }),
    works_in_time: true,
    phrase: FactorPhrase::When(|setting, threshold| {
        let or_sooner = if threshold { " or sooner" } else { "" };
        format!("when threads take turns every {setting}{or_sooner}")
    }),
    effect: FactorEffect::Shim(|setting| {
        let interval = setting.parse::<Amount>().map_or(0, Amount::microseconds);
        format!("turns={interval}")
    }),
    baseline: None,
    plan: |_| Ok(vec!["10us".to_owned()]),
    elsewhere: PYTHON_ONLY,
    unaffected: "no Python had a second thread",
};

/// `python3.12` is called `python` and `python3`; `…/bin/java` belongs to the directory above `bin`.
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

/// Other interpreters with pytest, where the command calls one by its usual name.
fn other_interpreters(command: &[String]) -> Result<Vec<String>, String> {
    if !command.first().is_some_and(|word| word == "python" || word == "python3") {
        return Err("the command does not begin with `python` or `python3`, so it has its own".to_owned());
    }
    let output = |program: &str, script: &str| {
        let output = Command::new(program).args(["-c", script]).output().ok().filter(|output| output.status.success());
        output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let version = "import sys; print('%d.%d' % sys.version_info[:2])";
    let own = output(&command[0], version).unwrap_or_default();
    let others = (8..16).map(|minor| format!("python3.{minor}")).filter(|name| !name.ends_with(&format!("on{own}")));
    let with_pytest: Vec<String> = others.filter(|name| output(name, "import pytest").is_some()).collect();
    if with_pytest.is_empty() { Err("no other interpreter here has pytest".to_owned()) } else { Ok(with_pytest) }
}
