//! Summary at the end of a run: what to act on, the evidence, and how to reproduce it.

use std::io::{self, Write};

use unflake_model::{
    Detail, Finding, IntersectKind, Isolation, Outcome, Problem, ProblemKind, QuarantineStanding, VerdictKind,
};

use crate::attempts_by_test::{Case, Cases};
use crate::terminal::failure;
use crate::terminal::filter;
use crate::terminal::quarantine;
use crate::terminal::writer::{Keep, Page, Tone};
use crate::text::format;
use crate::{RunReport, TerminalStyle, one_line, quote};

/// Real failures shown with their messages, and problems shown. The rest is listed by name.
const IN_FULL: usize = 20;
const PROBLEM_LINES: usize = 30;
/// Names shown of tests that were not run.
const NAMED: usize = 10;

/// Writes the summary of a run. `quiet` leaves out what needs no action.
pub fn summary(run: &RunReport, look: &TerminalStyle, quiet: bool, out: &mut dyn Write) -> io::Result<()> {
    let cases = Cases::of(run);
    let counts_here = |one: &&Finding| !quarantine::is_excused(run.apart, &one.test);
    let of = |wanted: fn(&Finding) -> bool| {
        run.findings.iter().filter(|one| wanted(one)).filter(counts_here).collect::<Vec<_>>()
    };
    let (mut real, flaky) = (of(Finding::is_real), of(Finding::is_flaky));
    // Failures that the change can have caused come first.
    real.sort_by_key(|finding| {
        let change = match change(&cases, finding) {
            Some((IntersectKind::Affected, _)) => 0,
            Some((IntersectKind::Unaffected, _)) => 2,
            _ => 1,
        };
        // New kinds of failure come before unknown ones.
        (filter::first_of(run, &finding.test), change)
    });
    let unjudged: Vec<&Case> = cases.list.iter().filter(|case| case.has_failed() && case.finding.is_none()).collect();

    let page = &mut Page::new(*look, out);
    stopped(page, run, &cases)?;
    let mut counts = counts(run, &cases, [real.len(), unjudged.len(), flaky.len()]);
    let separator = look.sign(" · ").trim_end();
    counts.iter_mut().for_each(|count| count.push_str(separator));
    counts.push(time(run));
    page.words(2, Tone::Bold, counts.iter().map(String::as_str))?;
    problems(page, run.problems)?;
    real_failures(page, run, &cases, &real)?;
    unjudged_failures(page, run, &unjudged)?;
    if !quiet || run.flaky_gates {
        flaky_tests(page, run, &flaky)?;
    }
    filter::let_go(page, run)?;
    if !quiet {
        quarantine::excused(page, run.apart, &cases)?;
        notes(page, &[run.notes, &quarantine::notes(run.apart)].concat())?;
    }
    not_run(page, run)?;
    end(page, run, quiet)
}

/// The last lines of every summary: where the details are, and the exit code.
pub(crate) fn end(page: &mut Page, run: &RunReport, quiet: bool) -> io::Result<()> {
    if page.shortened {
        page.blank()?;
        page.prose(2, Tone::Faint, "what is cut short here is complete with --json FILE")?;
    }
    if !quiet || run.exit.code != 0 {
        page.blank()?;
        let tone = if run.exit.code == 0 { Tone::Good } else { Tone::Bad };
        page.prose(0, tone, &format!("exit {}: {}", run.exit.code, one_line(run.exit.meaning)))?;
    }
    Ok(())
}

fn stopped(page: &mut Page, run: &RunReport, cases: &Cases) -> io::Result<()> {
    if !run.totals.interrupted {
        return Ok(());
    }
    let how_far = match cases.list.len() {
        0 => "no tests had been found yet".to_owned(),
        all => format!("{} of {} had run", cases.ran(), format::count(all, "test")),
    };
    page.prose(2, Tone::Odd, &format!("stopped by you: {how_far}"))
}

/// The number of tests, and how many are of each kind of interest.
fn counts(run: &RunReport, cases: &Cases, [real, unjudged, flaky]: [usize; 3]) -> Vec<String> {
    let all = cases.list.len();
    let mut counts = vec![if cases.ran() == 0 { nothing_ran(run).to_owned() } else { format::count(all, "test") }];
    let mut tell = |number: usize, text: String| counts.extend((number > 0).then_some(text));
    tell(run.problems.len(), format::count(run.problems.len(), "problem"));
    tell(real, format::count(real, "real failure"));
    tell(unjudged, format!("{} without a verdict", format::count(unjudged, "failure")));
    tell(flaky, format!("{flaky} flaky"));
    let excused = run.apart.iter().filter(|one| one.standing == QuarantineStanding::Excused).count();
    tell(excused, format!("{excused} in quarantine failed"));
    let let_go = filter::let_go_in(run);
    tell(let_go, format!("{let_go} let go"));

    let ended = |outcome| cases.list.iter().filter(|case| case.outcome() == Some(outcome)).count();
    let passed = ended(Outcome::Passed);
    if passed == all && real + unjudged + let_go == 0 && run.problems.is_empty() && !(run.flaky_gates && flaky > 0) {
        tell(passed, "all passed".to_owned());
    } else if real + unjudged + flaky == 0 {
        tell(passed, format!("{passed} passed"));
    }
    let (skipped, expected) = (ended(Outcome::Skipped), ended(Outcome::ExpectedFailure));
    tell(skipped, format!("{skipped} skipped"));
    tell(expected, format::count(expected, "expected failure"));
    let unexpected = ended(Outcome::UnexpectedPass);
    tell(unexpected, format!("{unexpected} passed unexpectedly"));
    tell(run.left.len(), format!("{} not run", run.left.len()));
    tell(run.deselected as usize, format!("{} deselected", run.deselected));
    counts
}

fn time(run: &RunReport) -> String {
    let all = format::duration(run.totals.seconds);
    match run.totals.rerun_seconds {
        reruns if reruns >= 0.05 => format!("{all} (of which reruns {})", format::duration(reruns)),
        _ => all,
    }
}

fn nothing_ran(run: &RunReport) -> &'static str {
    if run.tests.is_empty() && run.problems.is_empty() && !run.totals.interrupted {
        "no tests were found"
    } else {
        "no tests were run"
    }
}

fn problems(page: &mut Page, problems: &[Problem]) -> io::Result<()> {
    for (at, problem) in problems.iter().enumerate() {
        let what = format::problem_in_words(problem.kind);
        let indent = page.indent();
        page.blank()?;
        let mut text = problem.text.as_str();
        match &problem.place {
            Some(place) => {
                page.head(Tone::Bad, "✗", "ERROR", &one_line(place))?;
                page.prose(indent, Tone::Usual, what)?;
            }
            None => {
                // A start-up failure is described by unflake itself, whose first sentence is more
                // precise.
                let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
                let precise = problem.kind == ProblemKind::Start;
                text = if precise { rest } else { text };
                page.head(Tone::Bad, "✗", "ERROR", &one_line(if precise { first } else { what }))?;
            }
        }
        if at < IN_FULL {
            page.quote(indent + 2, text, PROBLEM_LINES, Keep::Ends)?;
        } else {
            page.cut(indent + 2, "its text is left out")?;
        }
    }
    Ok(())
}

fn real_failures(page: &mut Page, run: &RunReport, cases: &Cases, real: &[&Finding]) -> io::Result<()> {
    for finding in real.iter().take(IN_FULL) {
        page.blank()?;
        page.head(Tone::Bad, "✗", "REAL", &one_line(finding.test.as_str()))?;
        let indent = page.indent();
        page.prose(indent, Tone::Usual, &one_line(&finding.sentence))?;
        if let Some((_, sentence)) = change(cases, finding) {
            page.prose(indent, Tone::Usual, &one_line(sentence))?;
        }
        for sentence in filter::known_of(run, &finding.test) {
            page.prose(indent, Tone::Usual, &one_line(sentence))?;
        }
        if let Some(case) = cases.get(&finding.test) {
            case.failures().next().map_or(Ok(()), |first| failure::show(page, first, &finding.sentence))?;
            failure::show_other_ways(page, case.failures())?;
        }
        repeat(page, finding)?;
    }
    let rest = real.get(IN_FULL..).unwrap_or_default();
    if !rest.is_empty() {
        page.blank()?;
        page.shortened = true;
        page.prose(2, Tone::Usual, &format!("{}, by name only:", format::count(rest.len(), "more real failure")))?;
    }
    for finding in rest {
        page.head(Tone::Bad, "✗", "REAL", &one_line(finding.test.as_str()))?;
    }
    Ok(())
}

/// How a failure relates to the change. Where nothing could be compared, the summary says so once.
fn change<'a>(cases: &Cases<'a>, finding: &Finding) -> Option<(IntersectKind, &'a str)> {
    let intersect = cases.get(&finding.test)?.intersect?;
    match &intersect.detail {
        Detail::Intersect(detail) if detail.base.is_some() => Some((detail.kind, &intersect.sentence)),
        _ => None,
    }
}

/// Failed tests without a verdict, usually because the run was stopped.
fn unjudged_failures(page: &mut Page, run: &RunReport, unjudged: &[&Case]) -> io::Result<()> {
    let why =
        if run.totals.interrupted { "the run was stopped before it was run again" } else { "it was not run again" };
    for (at, case) in unjudged.iter().enumerate() {
        if at <= IN_FULL {
            page.blank()?;
        }
        page.head(Tone::Bad, "✗", "FAIL", &one_line(case.id.as_str()))?;
        if let Some(attempt) = case.failures().next().filter(|_| at < IN_FULL) {
            page.prose(page.indent(), Tone::Usual, &format!("no verdict: {why}"))?;
            failure::show(page, attempt, "")?;
        }
    }
    page.shortened |= unjudged.len() > IN_FULL;
    Ok(())
}

fn flaky_tests(page: &mut Page, run: &RunReport, flaky: &[&Finding]) -> io::Result<()> {
    if !flaky.is_empty() {
        page.blank()?;
    }
    for finding in flaky {
        page.head(Tone::Odd, "≈", "FLAKY", &one_line(finding.test.as_str()))?;
        // What fails the run is shown in full, whatever the feedback.
        if let Some(answer) = run.answer(finding).filter(|_| !run.flaky_gates) {
            page.prose(page.indent(), Tone::Faint, &format::answered(answer))?;
            continue;
        }
        page.prose(page.indent(), Tone::Usual, &one_line(&finding.sentence))?;
        repeat(page, finding)?;
        if leaves_a_question(finding) {
            let next = format!("{} unflake order {}", page.look.sign("→"), quote(finding.test.as_str()));
            page.beside(page.indent(), (Tone::Usual, &next), (Tone::Faint, "names the test that does it"))?;
        } else if run.can_locate && is_chance(finding) {
            let next = format!("{} unflake locate {}", page.look.sign("→"), quote(finding.test.as_str()));
            page.beside(page.indent(), (Tone::Usual, &next), (Tone::Faint, "says where in the code it starts"))?;
        }
    }
    Ok(())
}

/// Whether another test makes it fail in a shared process.
fn leaves_a_question(finding: &Finding) -> bool {
    finding.verdict().is_some_and(|verdict| {
        verdict.kind == VerdictKind::FlakyStateDependent && verdict.evidence.fresh == Some(Isolation::Fork)
    })
}

/// Whether the failure is random.
fn is_chance(finding: &Finding) -> bool {
    finding.verdict().is_some_and(|verdict| verdict.kind == VerdictKind::FlakyIndependent)
}

fn repeat(page: &mut Page, finding: &Finding) -> io::Result<()> {
    let Some(command) = &finding.repeat else { return Ok(()) };
    page.beside(page.indent(), (Tone::Faint, "see it yourself"), (Tone::Usual, &one_line(command)))
}

pub(crate) fn notes(page: &mut Page, notes: &[String]) -> io::Result<()> {
    if !notes.is_empty() {
        page.blank()?;
    }
    for note in notes {
        page.prose(2, Tone::Usual, &format!("note: {}", one_line(note)))?;
    }
    Ok(())
}

fn not_run(page: &mut Page, run: &RunReport) -> io::Result<()> {
    // After a stop the first line has the count; the names are of no interest.
    if run.left.is_empty() || run.totals.interrupted {
        return Ok(());
    }
    page.blank()?;
    let why = run.left_why.map(|why| format!(": {}", one_line(why))).unwrap_or_default();
    page.prose(2, Tone::Odd, &format!("{} not run{why}", format::count(run.left.len(), "test")))?;
    for id in run.left.iter().take(NAMED) {
        page.line(&[(Tone::Usual, "    "), (Tone::Usual, &one_line(id.as_str()))])?;
    }
    match run.left.len().saturating_sub(NAMED) {
        0 => Ok(()),
        more => page.cut(4, &format!("and {more} more")),
    }
}
