//! Specimens of divergence: `unflake locate` must name a line where the divergence starts, or one
//! that is related to it, and the true cause. `bench/locate.py` prints the table of all specimens.

use std::collections::BTreeSet;
use std::sync::Arc;

use e2e::{RunOutput, Sandbox, repository};
use libtest_mimic::Trial;
use unflake_model::Cause;

use crate::truth::Truth;
use crate::{Differences, Specimen, command_line, in_every_run};

pub(crate) fn trial(specimen: &Arc<Specimen>, name: &str) -> Trial {
    let ignored = !truth(specimen).quick;
    let specimen = Arc::clone(specimen);
    let examine = move || in_every_run(truth(&specimen).known_gap.as_deref(), || examine(&specimen));
    Trial::test(name, examine).with_ignored_flag(ignored)
}

fn truth(specimen: &Specimen) -> &Truth {
    specimen.locate.as_ref().expect("it has this table")
}

/// Tests of the expectations themselves.
pub(crate) fn consistency_checks(specimens: &[Arc<Specimen>]) -> Vec<Trial> {
    let located = || specimens.iter().filter(|specimen| specimen.locate.is_some()).cloned().collect::<Vec<_>>();
    let (lines, kinds) = (located(), located());
    vec![
        Trial::test("divergence::expected_lines_exist", move || {
            lines.iter().for_each(|specimen| expected_lines_exist(specimen));
            Ok(())
        }),
        Trial::test("divergence::specimens_are_of_all_kinds", move || {
            specimens_are_of_all_kinds(&kinds);
            Ok(())
        }),
    ]
}

fn expected_lines_exist(specimen: &Specimen) {
    let (path, truth) = (&specimen.path, truth(specimen));
    assert!(!truth.exact.is_empty() && !truth.cause.is_empty(), "{path} does not say where it starts");
    for line in truth.lines() {
        let actual = line.actual_text(&repository().join("specimens").join(path));
        assert_eq!(actual.as_deref(), Some(line.text.as_str()), "{path}, {}", line.at);
    }
    let different: BTreeSet<&str> = truth.lines().map(|line| line.at.as_str()).collect();
    assert_eq!(different.len(), truth.lines().count(), "{path} lists a line twice");
    for category in truth.also.iter().map(|also| &also.category).chain([&truth.category]) {
        assert!(Cause::from_word(category).is_some(), "{path}: there is no cause {category}");
    }
    assert!(truth.also.iter().all(|also| !also.reason.is_empty()), "{path}: an alternative needs a reason");
    let share = f64::from(truth.share.failed) / f64::from(truth.share.of);
    assert!(truth.share.of >= 30 && (0.15..=0.65).contains(&share), "{path} fails in {share:.2} of its runs");
}

fn specimens_are_of_all_kinds(all: &[Arc<Specimen>]) {
    let categories: BTreeSet<&str> = all.iter().map(|specimen| truth(specimen).category.as_str()).collect();
    assert_eq!(categories, Cause::ALL.iter().map(|cause| cause.word()).collect());
    let count = |matches: &dyn Fn(&Specimen) -> bool| all.iter().filter(|specimen| matches(specimen)).count();
    assert!(count(&|specimen| specimen.args == ["pytest"]) >= 24);
    assert!(count(&|specimen| specimen.args != ["pytest"]) >= 8);
    assert!(count(&|specimen| !truth(specimen).red_herring.is_empty()) >= 8);
    assert!(count(&|specimen| truth(specimen).fresh.is_some()) >= 2);
    assert!(count(&|specimen| truth(specimen).quick) >= 6);
}

/// Locates once.
fn examine(specimen: &Specimen) -> Differences {
    let (sandbox, truth) = (specimen.sandbox(), truth(specimen));
    let mut result = locate(&sandbox, specimen, &specimen.args);
    if let Some(configure) = suggested_build(&result) {
        for command in [configure, "cmake --build build-traced".to_owned()] {
            let built = sandbox.command("sh").args(["-c", &command]).output().unwrap();
            assert!(built.status.success(), "{command}\n{}", String::from_utf8_lossy(&built.stderr));
        }
        let traced: Vec<String> = specimen.args.iter().map(|word| word.replace("build/", "build-traced/")).collect();
        result = locate(&sandbox, specimen, &traced);
    }
    let Some(document) = &result.json else { return vec![format!("exit {}: {}", result.code, result.stderr)] };
    let mut differences = Vec::new();
    let tests = document["tests"].as_array().map_or(0, Vec::len);
    if tests != specimen.tests {
        differences.push(format!("{tests} tests instead of {}", specimen.tests));
    }
    let findings = result.list("findings").iter().filter(|finding| finding["technique"] == "divergence");
    match *findings.collect::<Vec<_>>() {
        [finding] if finding["test"] == truth.test.as_str() => differences.extend(truth.differences(finding)),
        ref others => differences.push(format!(
            "{} findings instead of one about {}; {}",
            others.len(),
            truth.test,
            result.remarks()
        )),
    }
    differences
}

fn locate(sandbox: &Sandbox, specimen: &Specimen, args: &[String]) -> RunOutput {
    let invocation = sandbox.unflake(["locate", &truth(specimen).test, "--for", "0"]).json().args(&specimen.options);
    invocation.arg("--").args(command_line(args)).finish()
}

/// The command that configures a traceable build, where unflake suggests one.
fn suggested_build(result: &RunOutput) -> Option<String> {
    let problems = result.json.as_ref()?["problems"].as_array()?.iter().filter_map(|problem| problem["text"].as_str());
    let text: String = problems.collect();
    let from = text.find("CXX=clang++")?;
    let to = text[from..].find("\nWith gcc")?;
    Some(text[from..from + to].to_owned())
}
