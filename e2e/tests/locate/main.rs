//! Specimens that fail by chance, through `unflake locate`, against what is true of them: the line that is named first is the one
//! where it starts, or at least has to do with it, and the cause is the true one.
//!
//! A few run by default. `UNFLAKE_SPECIMENS=all cargo test -p e2e --test locate -- --nocapture` runs all of them, any other word
//! those with it in their names. `bench/locate.py` makes the table.

mod stories;
mod truth;

use std::collections::BTreeSet;

use e2e::{Examined, Ran, Story, built, in_every_run, python, repository};
use truth::{Specimen, specimens};
use unflake_model::Cause;

#[test]
fn what_is_true_is_told_of_lines_that_are_there() {
    for Specimen { name, locate, .. } in specimens() {
        assert!(!locate.exact.is_empty() && !locate.cause.is_empty(), "{name} does not say where it starts");
        for line in locate.lines() {
            let there = line.there(&repository().join("specimens").join(&name));
            assert_eq!(there.as_deref(), Some(line.text.as_str()), "{name}, {}", line.at);
        }
        let different: BTreeSet<&str> = locate.lines().map(|line| line.at.as_str()).collect();
        assert_eq!(different.len(), locate.lines().count(), "{name} calls a line two things");
        for category in locate.also.iter().map(|also| &also.category).chain([&locate.category]) {
            assert!(Cause::from_word(category).is_some(), "{name}: there is no cause {category}");
        }
        assert!(locate.also.iter().all(|also| !also.because.is_empty()), "{name}: an alternative needs a reason");
        let share = f64::from(locate.share.failed) / f64::from(locate.share.of);
        assert!(locate.share.of >= 30 && (0.15..=0.65).contains(&share), "{name} fails in {share:.2} of its runs");
    }
}

#[test]
fn specimens_are_of_all_kinds() {
    let all = specimens();
    let categories: BTreeSet<&str> = all.iter().map(|specimen| specimen.locate.category.as_str()).collect();
    assert_eq!(categories, Cause::ALL.iter().map(|cause| cause.word()).collect());
    let how_many = |of: &dyn Fn(&Specimen) -> bool| all.iter().filter(|specimen| of(specimen)).count();
    assert!(how_many(&|specimen| specimen.args == ["pytest"]) >= 24);
    assert!(how_many(&|specimen| specimen.args != ["pytest"]) >= 8);
    assert!(how_many(&|specimen| !specimen.locate.herring.is_empty()) >= 8);
    assert!(how_many(&|specimen| specimen.locate.fresh.is_some()) >= 2);
    assert!(how_many(&|specimen| specimen.locate.quick) >= 6);
}

#[test]
fn it_is_found_where_it_starts() {
    let wanted = std::env::var("UNFLAKE_SPECIMENS").unwrap_or_default();
    let mut chosen = specimens();
    chosen.retain(|specimen| match wanted.as_str() {
        "" => specimen.locate.quick,
        "all" => true,
        part => specimen.name.contains(part),
    });
    in_every_run(
        &chosen,
        |specimen| specimen.name.clone(),
        |specimen| match (examine(specimen), &specimen.locate.falls_short) {
            (wrong, None) => Examined { wrong, short: Vec::new() },
            (short, Some(why)) if !short.is_empty() => {
                Examined { wrong: Vec::new(), short: [vec![format!("falls short: {why}")], short].concat() }
            }
            _ => Examined::default(),
        },
    );
}

/// Locates once and says in what way that is not as expected.
fn examine(specimen: &Specimen) -> Vec<String> {
    let story = Story::copy_of(&built(&specimen.name, &specimen.build));
    let mut ran = locate(&story, specimen, &specimen.args);
    if let Some(advice) = advice(&ran) {
        // The program has to be built for tracing, which unflake tells how to do.
        for command in [advice, "cmake --build build-traced".to_owned()] {
            let done = story.command("sh").args(["-c", &command]).output().unwrap();
            assert!(done.status.success(), "{command}\n{}", String::from_utf8_lossy(&done.stderr));
        }
        let traced: Vec<String> = specimen.args.iter().map(|word| word.replace("build/", "build-traced/")).collect();
        ran = locate(&story, specimen, &traced);
    }
    let Some(document) = &ran.json else { return vec![format!("exit {}: {}", ran.code, ran.stderr)] };
    let mut differences = Vec::new();
    let tests = document["tests"].as_array().map_or(0, Vec::len);
    if tests != specimen.tests {
        differences.push(format!("{tests} tests instead of {}", specimen.tests));
    }
    let findings = ran.list("findings").iter().filter(|finding| finding["technique"] == "divergence");
    match *findings.collect::<Vec<_>>() {
        [finding] if finding["test"] == specimen.locate.test.as_str() => {
            differences.extend(specimen.locate.differences(finding));
        }
        ref others => {
            differences.push(format!("{} findings, none of them of this test alone; {}", others.len(), ran.remarks()))
        }
    }
    differences
}

fn locate(story: &Story, specimen: &Specimen, args: &[String]) -> Ran {
    let runner = [python().to_str().unwrap(), "-m", "pytest"];
    let words = args.iter().flat_map(|word| match word.as_str() {
        "pytest" => runner.to_vec(),
        other => vec![other],
    });
    let call = story.unflake(["locate", &specimen.locate.test, "--json"]).arg(story.place().join("found.json"));
    call.args(&specimen.options).arg("--").args(words).end()
}

/// The command that makes a build that can be traced, where unflake asks for one.
fn advice(ran: &Ran) -> Option<String> {
    let problems = ran.json.as_ref()?["problems"].as_array()?.iter().filter_map(|problem| problem["text"].as_str());
    let text: String = problems.collect();
    let from = text.find("CXX=clang++")?;
    let to = text[from..].find("\nWith gcc")?;
    Some(text[from..from + to].to_owned())
}
