//! Findings on order-dependent tests: detail and sentence.

use unflake_model::{Detail, Finding, Isolation, OrderDependence, OrderKind, Repeats, Replay, TestId, VerdictKind};

use crate::finding::{counted_verdict, finding};
use crate::order::polluter_search::{Dependence, SearchConclusion};
use crate::order::progress::SuspectRecord;

/// If there are more tests than this, only the first are named.
const NAMED: usize = 3;

pub(crate) fn findings(record: &SuspectRecord) -> Vec<Finding> {
    let test = &record.suspect.test;
    let found = match &record.conclusion {
        Some(SearchConclusion::Depends(dependence)) => Some(depends(test, dependence)),
        Some(SearchConclusion::Random { alone, other }) => Some(random(record, *alone, *other)),
        Some(SearchConclusion::Unchanged | SearchConclusion::Unknown | SearchConclusion::OnlyInParallel) => None,
        None => unfinished(record),
    };
    let replays = found.as_ref().map_or(Vec::new(), |found| found.replays.clone());
    found.into_iter().chain(record.state.iter().map(|state| state.finding(test, replays.clone()))).collect()
}

fn depends(test: &TestId, found: &Dependence) -> Finding {
    let (culprits, test_alone) = (&found.culprits[0][..], std::slice::from_ref(test));
    let order = if found.by_loading { [test_alone, culprits].concat() } else { [culprits, test_alone].concat() };
    let Repeats { seen, tried, alone_passed, alone_tried } = found.evidence;
    let (then, otherwise, same) = match found.kind {
        OrderKind::Victim => ("fails", "passes", alone_passed),
        OrderKind::Brittle => ("passes", "fails", alone_tried - alone_passed),
    };
    let alone = if found.by_loading { "with its own file only" } else { "alone" };
    let culprit = sequence(culprits);
    let mut sentence = match found.by_loading {
        true if !found.loaded.is_empty() => {
            let are = if found.loaded.len() == 1 { "is" } else { "are" };
            format!("{then} when {} {are} loaded ({seen} of {tried} runs)", found.loaded.join(" and "))
        }
        true => format!("{then} when the file of {culprit} is loaded ({seen} of {tried} runs)"),
        false => format!("{then} after {culprit} ({seen} of {tried} runs)"),
    };
    sentence.push_str(&format!(", {otherwise} {alone} ({same} of {alone_tried} runs)"));
    match (found.culprits.len(), found.each_tried) {
        (1, Some(tried)) if found.culprits[0].len() == 1 && tried > 1 => {
            sentence.push_str(&match tried - 1 {
                1 => "; the one other test does not do this".to_owned(),
                others => format!("; none of the {others} others does this"),
            });
        }
        (1, _) => {}
        (lists, _) => {
            let others: Vec<String> = found.culprits[1..].iter().take(NAMED).map(|list| sequence(list)).collect();
            sentence.push_str(&format!("; also after {}", others.join(", or after ")));
            match lists.saturating_sub(NAMED + 1) {
                0 => {}
                more => sentence.push_str(&format!(", and {more} more")),
            }
            if found.has_more {
                sentence.push_str(&format!(" (the search stopped at {lists}; --thorough finds all)"));
            }
        }
    }
    if let [first, more @ ..] = &found.cleaners[..] {
        let more = match more.len() {
            0 => String::new(),
            1 => " (or 1 other)".to_owned(),
            more => format!(" (or {more} others)"),
        };
        sentence.push_str(&format!("; cleaner: {first}{more}"));
    }
    if let Some(why) = &found.unfinished {
        sentence.push_str(&format!("; {why}"));
    }
    let detail = OrderDependence {
        kind: found.kind,
        culprits: found.culprits.clone(),
        cleaners: found.cleaners.clone(),
        order: order.clone(),
        evidence: found.evidence,
        failure: found.failure.clone(),
        unfinished: found.unfinished.clone(),
    };
    finding(test, Detail::Order(detail), sentence, replays(found.kind, &found.evidence, order, test))
}

/// Names tests that are needed together.
fn sequence(list: &[TestId]) -> String {
    match list {
        [one] => one.to_string(),
        [one, two] => format!("{one}, then {two}"),
        _ if list.len() <= NAMED => list.iter().map(TestId::to_string).collect::<Vec<_>>().join(", then "),
        _ => format!("{} tests, the last {}", list.len(), list[list.len() - 1]),
    }
}

fn random(record: &SuspectRecord, alone: u32, other: u32) -> Finding {
    let (attempts, failed) = record.tally;
    let sentence = match other {
        0 => format!("random: failed in {failed} of {attempts} runs, in none of {alone} alone; no order reproduces it"),
        _ => format!("random: failed in {failed} of {attempts} runs, in any order"),
    };
    let kind = VerdictKind::FlakyIndependent;
    counted_verdict(&record.suspect.test, kind, record.tally, Isolation::Fork, sentence)
}

/// A possible dependence that the run had no time to repeat.
fn unfinished(record: &SuspectRecord) -> Option<Finding> {
    let alone = record.alone.filter(|_| record.suspect.seen)?;
    let best = record.best.borrow();
    let before = if best.is_empty() { &record.suspect.before } else { &*best };
    let test = &record.suspect.test;
    let order = [&before[..], std::slice::from_ref(test)].concat();
    let passes = alone.is_pass();
    let (kind, then, otherwise) = match passes {
        true => (OrderKind::Victim, "failed", "passed"),
        false => (OrderKind::Brittle, "passed", "failed"),
    };
    let why = "budget exhausted before it was repeated and minimized";
    let sentence = format!("{then} once after {} tests, {otherwise} alone; {why}", before.len());
    let evidence = Repeats { seen: 1, tried: 1, alone_passed: passes.into(), alone_tried: 1 };
    let replays = replays(kind, &evidence, order.clone(), test);
    let detail = OrderDependence {
        kind,
        culprits: Vec::new(),
        cleaners: Vec::new(),
        order,
        evidence,
        failure: None,
        unfinished: Some(why.to_owned()),
    };
    Some(finding(test, Detail::Order(detail), sentence, replays))
}

/// A victim fails in the order; a brittle test fails alone and passes in the order.
fn replays(kind: OrderKind, evidence: &Repeats, order: Vec<TestId>, test: &TestId) -> Vec<Replay> {
    let Repeats { seen, tried, alone_passed, alone_tried } = *evidence;
    match kind {
        OrderKind::Victim => vec![Replay::counted(order, seen, tried)],
        OrderKind::Brittle => vec![
            Replay::counted(vec![test.clone()], alone_tried - alone_passed, alone_tried),
            Replay::counted(order, tried - seen, tried),
        ],
    }
}
