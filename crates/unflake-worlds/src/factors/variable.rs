//! Environment variables of the user.

use std::env;

use unflake_model::{
    Cause, FactorDeclaration, FactorEffect, FactorPhrase, FactorPlan, FactorProbe, PlanContext, ProbeStep, ProbeVerdict,
};

use super::judged;

/// Variables, or beginnings of their names, without which little works, or which other factors set.
const ESSENTIAL: [&str; 19] = [
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_", "TZ", "TMP", "TEMP", "PWD", "OLDPWD", "SHLVL",
    "_", "LD_", "XDG_", "UNFLAKE_", "SSL_",
];

pub(super) static VARIABLE: FactorDeclaration = FactorDeclaration {
    name: "variable",
    title: "environment variable",
    plural: "environment variables",
    syntax: "`NAME=VALUE`, or `NAME` to unset it",
    parse: |text| {
        let fits = !text.is_empty() && !text.starts_with('=') && !text.contains('\0');
        fits.then(|| text.to_owned())
    },
    phrase: FactorPhrase::When(|setting, _| match setting.contains('=') {
        true => format!("with {setting}"),
        false => format!("without the variable {setting}"),
    }),
    effect: FactorEffect::Process(|setting, setup| {
        let (name, value) = setting.split_once('=').map_or((setting, None), |(name, value)| (name, Some(value)));
        setup.variables.push((name.to_owned(), value.map(str::to_owned)));
        Ok(())
    }),
    repeatable: true,
    plan: unset_variables,
    probes: &[FactorProbe {
        label: "",
        steps: |_| Ok(vec![ProbeStep::under("variable", "FACTOR_PROBE=set")]),
        judge: |answers| {
            judged(answers, |texts| ProbeVerdict::yes_if(texts[0] == "set", || "it does not see it".to_owned()))
        },
    }],
    cause: Cause::Environment,
    ..FactorDeclaration::EMPTY
};

fn unset_variables(context: &PlanContext) -> FactorPlan {
    let is_essential = |name: &String| {
        let prefixes = ESSENTIAL.iter().chain(&context.tool_variables);
        prefixes.into_iter().any(|prefix| name == prefix || prefix.len() > 1 && name.starts_with(prefix))
    };
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut settings: Vec<String> = names.filter(|name| !is_essential(name)).collect();
    settings.sort();
    let missing = settings.is_empty().then(|| "only essential variables are set".to_owned());
    FactorPlan { settings, missing }
}
