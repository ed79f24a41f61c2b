//! Locale, of those that are installed.

use std::process::Command;

use unflake_model::{
    Cause, FactorDeclaration, FactorEffect, FactorPhrase, FactorPlan, FactorProbe, ProbeStep, ProbeVerdict,
};

use super::{judged, word};

const BUILT_IN: [&str; 2] = ["C", "POSIX"];
const DECIMAL_COMMA: [&str; 8] = ["de_", "fr_", "es_", "it_", "pl_", "ru_", "nl_", "pt_"];
/// Where upper and lower case differ from other languages.
const OTHER_CASE: [&str; 1] = ["tr_"];

pub(super) static LOCALE: FactorDeclaration = FactorDeclaration {
    name: "locale",
    title: "locale",
    plural: "locales",
    syntax: "an installed one: `C`, `de_DE.UTF-8`",
    parse: word,
    phrase: FactorPhrase::When(|setting, _| format!("with the locale {setting}")),
    effect: FactorEffect::Process(|setting, setup| {
        check(setting, &installed())?;
        setup.variables.push(("LC_ALL".to_owned(), Some(setting.to_owned())));
        Ok(())
    }),
    baseline: |_| Some("C.UTF-8".to_owned()),
    plan: |_| {
        let installed = installed();
        let comma = find(&installed, &DECIMAL_COMMA);
        let missing = comma.is_none().then(|| "no locale with a decimal comma is installed (`locale -a`)".to_owned());
        let settings = [comma, find(&installed, &OTHER_CASE), Some("C".to_owned())];
        FactorPlan { settings: settings.into_iter().flatten().collect(), missing }
    },
    probes: &[FactorProbe {
        label: "",
        steps: |_| {
            let installed = installed();
            let others = installed.iter().filter(|name| !BUILT_IN.contains(&name.as_str()));
            // One of a language, where there is one.
            let other = others.max_by_key(|name| !name.starts_with("C.")).ok_or("only C is installed")?;
            Ok(vec![ProbeStep::under("locale", "C"), ProbeStep::under("locale", other)])
        },
        judge: |answers| {
            judged(answers, |texts| match texts[0] {
                "nothing" => ProbeVerdict::Unavailable("its programs use no locale".to_owned()),
                text => ProbeVerdict::yes_if(text != texts[1], || format!("it shows `{text}` in two locales")),
            })
        },
    }],
    cause: Cause::Environment,
    ..FactorDeclaration::EMPTY
};

fn installed() -> Vec<String> {
    let listed = Command::new("locale").arg("-a").output().map(|output| output.stdout).unwrap_or_default();
    let listed: Vec<String> = String::from_utf8_lossy(&listed).lines().map(str::to_owned).collect();
    if listed.is_empty() { BUILT_IN.map(str::to_owned).into() } else { listed }
}

fn find(installed: &[String], prefixes: &[&str]) -> Option<String> {
    let is_utf8 = |name: &&String| name.to_lowercase().replace('-', "").ends_with("utf8");
    let begins = |name: &&String| prefixes.iter().any(|prefix| name.starts_with(prefix));
    installed.iter().filter(is_utf8).find(begins).cloned()
}

/// Refuses a locale that is not installed: programs would silently use `C`.
fn check(name: &str, installed: &[String]) -> Result<(), String> {
    let plain = |name: &str| name.to_lowercase().replace("utf-8", "utf8");
    let is_known = installed.iter().map(String::as_str).chain(BUILT_IN).any(|known| plain(known) == plain(name));
    is_known.then_some(()).ok_or_else(|| format!("it is not installed; installed are {}", installed.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locales_that_are_not_installed_are_rejected() {
        let installed = ["C", "C.utf8", "POSIX"].map(str::to_owned);
        assert_eq!(check("C.UTF-8", &installed), Ok(()));
        assert_eq!(
            check("xx_XX.UTF-8", &installed),
            Err("it is not installed; installed are C, C.utf8, POSIX".to_owned())
        );
    }
}
