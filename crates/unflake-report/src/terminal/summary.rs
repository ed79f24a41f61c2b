//! Summary at the end of a run: what to act on, the evidence, and how to reproduce it.

use std::io::{self, Write};

use unflake_model::{
    Attempt, Detail, Finding, IntersectKind, Outcome, Problem, ProblemKind, QuarantineStanding, Shows,
};

use crate::attempts_by_test::{AttemptsByTest, TestAttempts};
use crate::next_step::{NextStep, diagnosis_rank, is_diagnosis, next_of_verdict};
use crate::terminal::failure;
use crate::terminal::filter;
use crate::terminal::quarantine;
use crate::terminal::writer::{Keep, TermWriter, Tone};
use crate::text::confidence::confidence;
use crate::text::format;
use crate::text::searched::more_time;
use crate::{RunReport, TerminalStyle, one_line};

/// Real failures shown with their messages, and problems shown. The rest is listed by name.
const IN_FULL: usize = 20;
const PROBLEM_LINES: usize = 30;
/// Names shown of tests that were not run.
const NAMED: usize = 10;

/// Writes the summary of a run. `quiet` leaves out what needs no action.
pub fn summary(run: &RunReport, style: &TerminalStyle, quiet: bool, out: &mut dyn Write) -> io::Result<()> {
    let cases = AttemptsByTest::of(run);
    let counts_here = |one: &&Finding| !quarantine::is_excused(run.quarantine, &one.test);
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
        (filter::most_urgent_kind(run, &finding.test), change)
    });
    let is_open = |case: &&TestAttempts| case.has_failed() && case.finding.is_none() && !needs_outside(run, case);
    let without_verdict: Vec<&TestAttempts> = cases.list.iter().filter(is_open).collect();

    let undecided = of(Finding::is_undecided);

    let term = &mut TermWriter::new(*style, out);
    interrupted(term, run, &cases)?;
    let mut counts = counts(run, &cases, [real.len(), undecided.len() + without_verdict.len(), flaky.len()]);
    counts.push(time(run));
    term.prose(0, Tone::Bold, &counts.join(", "))?;
    problems(term, run.problems)?;
    failures_that_count(term, run, &cases, &[real, undecided].concat())?;
    failures_without_verdict(term, run, &without_verdict)?;
    if !quiet || run.flaky_gates {
        flaky_tests(term, run, &flaky)?;
    }
    filter::show_excused(term, run)?;
    if !quiet {
        quarantine::excused(term, run.quarantine, &cases)?;
        notes(term, &[run.notes, &quarantine::notes(run.quarantine)].concat())?;
    }
    not_run(term, run)?;
    search_longer(term, run)?;
    end(term, run, quiet)
}

/// Whether a test failed in private worlds only and passed outside of them: it needs what they lack.
fn needs_outside(run: &RunReport, case: &TestAttempts) -> bool {
    let world = |attempt: &Attempt| run.worlds.iter().find(|world| Some(world.id()) == attempt.world);
    let is_private = |attempt: &Attempt| world(attempt).is_some_and(|world| !world.private.is_none());
    let mut passes = case.attempts.iter().filter(|attempt| attempt.outcome.is_pass());
    case.failures().all(is_private) && passes.any(|attempt| !is_private(attempt))
}

/// The option that lets a search cover enough, where it did not.
pub(crate) fn search_longer(term: &mut TermWriter, run: &RunReport) -> io::Result<()> {
    let Some(time) = run.searched.and_then(more_time) else { return Ok(()) };
    term.blank()?;
    term.labelled(0, "next", &format!("search longer: {time}"), "")
}

/// The last lines of every summary: the exit code, and where to find what was left out.
pub(crate) fn end(term: &mut TermWriter, run: &RunReport, quiet: bool) -> io::Result<()> {
    let hidden = term.end_limit();
    if !quiet || run.exit.code != 0 {
        term.blank()?;
        let tone = if run.exit.code == 0 { Tone::Good } else { Tone::Bad };
        term.prose(0, tone, &format!("exit {}: {}", run.exit.code, one_line(run.exit.meaning)))?;
    }
    match hidden {
        0 if term.shortened => term.prose(0, Tone::Faint, "shortened; --full shows more, --json FILE has everything"),
        0 => Ok(()),
        lines => {
            let lines = format::count(lines, "line");
            term.prose(0, Tone::Faint, &format!("{lines} left out; --full shows them, --json FILE has everything"))
        }
    }
}

fn interrupted(term: &mut TermWriter, run: &RunReport, cases: &AttemptsByTest) -> io::Result<()> {
    if !run.totals.interrupted {
        return Ok(());
    }
    let progress = match cases.list.len() {
        0 => "before any test was found".to_owned(),
        all => format!("after {} of {}", cases.ran(), format::count(all, "test")),
    };
    term.prose(0, Tone::Odd, &format!("interrupted {progress}"))
}

/// The number of tests, and how many are of each kind of interest.
fn counts(run: &RunReport, cases: &AttemptsByTest, [real, without_verdict, flaky]: [usize; 3]) -> Vec<String> {
    let all = cases.list.len();
    let mut counts = vec![if cases.ran() == 0 { nothing_ran(run).to_owned() } else { format::count(all, "test") }];
    let mut push = |number: usize, text: String| counts.extend((number > 0).then_some(text));
    push(run.problems.len(), format::count(run.problems.len(), "problem"));
    push(real, format::count(real, "real failure"));
    push(without_verdict, format!("{} not decided", format::count(without_verdict, "failure")));
    push(flaky, format!("{flaky} flaky"));
    let excused = run.quarantine.iter().filter(|one| one.standing == QuarantineStanding::Excused).count();
    push(excused, format!("{excused} quarantined"));
    let filtered = filter::excused_count(run);
    push(filtered, format!("{filtered} excused by the filter"));

    let ended = |outcome| cases.list.iter().filter(|case| case.outcome() == Some(outcome)).count();
    let passed = ended(Outcome::Passed);
    if passed == all
        && real + without_verdict + filtered == 0
        && run.problems.is_empty()
        && !(run.flaky_gates && flaky > 0)
    {
        push(passed, "all passed".to_owned());
    } else if real + without_verdict + flaky == 0 {
        push(passed, format!("{passed} passed"));
    }
    let (skipped, expected) = (ended(Outcome::Skipped), ended(Outcome::ExpectedFailure));
    push(skipped, format!("{skipped} skipped"));
    push(expected, format::count(expected, "expected failure"));
    let unexpected = ended(Outcome::UnexpectedPass);
    push(unexpected, format!("{unexpected} passed unexpectedly"));
    push(run.left.len(), format!("{} not run", run.left.len()));
    push(run.deselected as usize, format!("{} deselected", run.deselected));
    counts
}

fn time(run: &RunReport) -> String {
    let all = format::duration(run.totals.seconds);
    match run.totals.rerun_seconds {
        reruns if reruns >= 0.05 => format!("{all} ({} retries)", format::duration(reruns)),
        _ => all,
    }
}

fn nothing_ran(run: &RunReport) -> &'static str {
    if run.tests.is_empty() && run.problems.is_empty() && !run.totals.interrupted {
        "no tests found"
    } else {
        "no tests ran"
    }
}

pub(crate) fn problems(term: &mut TermWriter, problems: &[Problem]) -> io::Result<()> {
    for (at, problem) in problems.iter().enumerate() {
        let what = format::problem_text(problem.kind);
        let indent = term.indent();
        term.blank()?;
        let mut text = problem.text.as_str();
        match &problem.place {
            Some(place) => {
                term.head(Tone::Bad, "ERROR", &one_line(place))?;
                term.prose(indent, Tone::Usual, what)?;
            }
            None => {
                // A start-up failure is described by unflake itself, whose first sentence is more
                // precise.
                let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
                let precise = problem.kind == ProblemKind::Start;
                text = if precise { rest } else { text };
                term.head(Tone::Bad, "ERROR", &one_line(if precise { first } else { what }))?;
            }
        }
        if at < IN_FULL {
            term.quote(indent + 2, text, PROBLEM_LINES, Keep::Ends)?;
        } else {
            term.cut(indent + 2, "its text is left out")?;
        }
    }
    Ok(())
}

/// Real failures, and those that are not decided.
fn failures_that_count(
    term: &mut TermWriter,
    run: &RunReport,
    cases: &AttemptsByTest,
    failures: &[&Finding],
) -> io::Result<()> {
    let label = |finding: &Finding| if finding.is_real() { "REAL" } else { "UNDECIDED" };
    for finding in failures.iter().take(IN_FULL) {
        term.blank()?;
        term.head(Tone::Bad, label(finding), &one_line(finding.test.as_str()))?;
        let indent = term.indent();
        term.prose(indent, Tone::Usual, &one_line(&finding.sentence))?;
        if let Some((_, sentence)) = change(cases, finding) {
            term.prose(indent, Tone::Usual, &one_line(sentence))?;
        }
        for sentence in filter::filter_sentences(run, &finding.test) {
            term.prose(indent, Tone::Usual, &one_line(sentence))?;
        }
        if let Some(case) = cases.get(&finding.test) {
            case.failures().next().map_or(Ok(()), |first| failure::show(term, first, &finding.sentence))?;
            failure::show_other_kinds(term, case.failures())?;
        }
        known_cause(term, run, finding)?;
        reproduce(term, indent, finding)?;
    }
    let rest = failures.get(IN_FULL..).unwrap_or_default();
    if !rest.is_empty() {
        term.blank()?;
        term.shortened = true;
        term.prose(0, Tone::Usual, &format!("{}, by name only:", format::count(rest.len(), "more failure")))?;
    }
    for finding in rest {
        term.head(Tone::Bad, label(finding), &one_line(finding.test.as_str()))?;
    }
    Ok(())
}

/// How a failure relates to the change. Where nothing could be compared, the summary says so once.
fn change<'a>(cases: &AttemptsByTest<'a>, finding: &Finding) -> Option<(IntersectKind, &'a str)> {
    let intersect = cases.get(&finding.test)?.intersect?;
    match &intersect.detail {
        Detail::Intersect(detail) if detail.base.is_some() => Some((detail.kind, &intersect.sentence)),
        _ => None,
    }
}

/// Failed tests without a verdict, usually because the run was stopped.
fn failures_without_verdict(
    term: &mut TermWriter,
    run: &RunReport,
    without_verdict: &[&TestAttempts],
) -> io::Result<()> {
    let why = if run.totals.interrupted { "interrupted before its retries" } else { "it was not retried" };
    for (at, case) in without_verdict.iter().enumerate() {
        if at <= IN_FULL {
            term.blank()?;
        }
        term.head(Tone::Bad, "FAIL", &one_line(case.id.as_str()))?;
        if let Some(attempt) = case.failures().next().filter(|_| at < IN_FULL) {
            term.prose(term.indent(), Tone::Usual, &format!("not decided: {why}"))?;
            failure::show(term, attempt, "")?;
        }
    }
    term.shortened |= without_verdict.len() > IN_FULL;
    Ok(())
}

fn flaky_tests(term: &mut TermWriter, run: &RunReport, flaky: &[&Finding]) -> io::Result<()> {
    if !flaky.is_empty() {
        term.blank()?;
    }
    for finding in flaky {
        term.head(Tone::Odd, "FLAKY", &one_line(finding.test.as_str()))?;
        let indent = term.indent();
        // What fails the run is shown in full, whatever the feedback.
        if let Some(feedback) = run.not_useful(finding).filter(|_| !run.flaky_gates) {
            term.prose(indent, Tone::Faint, &format::feedback_text(feedback))?;
            continue;
        }
        term.prose(indent, Tone::Usual, &one_line(&finding.sentence))?;
        known_cause(term, run, finding)?;
        reproduce(term, indent, finding)?;
        if let Some(NextStep::Command(next)) = next_of_verdict(run, finding) {
            term.labelled(indent, "next", &one_line(&next.command), next.purpose)?;
        }
    }
    Ok(())
}

/// The earlier finding that explains the failures of a test, in one line.
fn known_cause(term: &mut TermWriter, run: &RunReport, finding: &Finding) -> io::Result<()> {
    let known = run.known_about(&finding.test).filter(|known| is_diagnosis(&known.finding));
    let Some(known) = known.min_by_key(|known| diagnosis_rank(&known.finding)) else { return Ok(()) };
    let confidence = confidence(&known.finding).unwrap_or_default();
    let sentence = one_line(&known.finding.sentence).into_owned();
    let text = format!("{sentence} ({confidence}, {})", known.date_and_commit());
    term.labelled_prose(term.indent(), "cause", &text)
}

/// The commands that reproduce a finding, with what each shows.
pub(crate) fn reproduce(term: &mut TermWriter, indent: usize, finding: &Finding) -> io::Result<()> {
    commands(term, indent, "reproduce", finding)
}

/// The same under another label.
pub(crate) fn commands(term: &mut TermWriter, indent: usize, label: &'static str, finding: &Finding) -> io::Result<()> {
    for (at, one) in finding.reproduce.iter().enumerate() {
        let label = if at == 0 { label } else { "" };
        let remark = match one.shows {
            Shows::AlwaysFails => "fails every time",
            Shows::Fails if finding.reproduce.len() == 1 => "",
            Shows::Fails => "fails",
            Shows::Passes => "passes",
            Shows::SometimesFails => "fails sometimes",
        };
        term.labelled(indent, label, &one_line(&one.command), remark)?;
    }
    Ok(())
}

pub(crate) fn notes(term: &mut TermWriter, notes: &[String]) -> io::Result<()> {
    if !notes.is_empty() {
        term.blank()?;
    }
    for note in notes {
        term.prose(0, Tone::Usual, &format!("note: {}", one_line(note)))?;
    }
    Ok(())
}

fn not_run(term: &mut TermWriter, run: &RunReport) -> io::Result<()> {
    // After a stop the first line has the count; the names are of no interest.
    if run.left.is_empty() || run.totals.interrupted {
        return Ok(());
    }
    term.blank()?;
    let why = run.left_why.map(|why| format!(": {}", one_line(why))).unwrap_or_default();
    term.prose(0, Tone::Odd, &format!("{} not run{why}", format::count(run.left.len(), "test")))?;
    for id in run.left.iter().take(NAMED) {
        term.line(&[(Tone::Usual, "  "), (Tone::Usual, &one_line(id.as_str()))])?;
    }
    match run.left.len().saturating_sub(NAMED) {
        0 => Ok(()),
        more => term.cut(2, &format!("and {more} more")),
    }
}
