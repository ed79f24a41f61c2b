//! What a search covered, as text.

use unflake_model::{Coverage, PairCount, Searched};

use crate::text::format;

/// `41 tests, 88 sessions, 96 % of ordered pairs, 9.0 s`: how much was searched.
pub fn searched_text(searched: &Searched) -> String {
    let Coverage { tests, tried, left_out, pairs, complete } = searched.coverage;
    let mut parts = vec![match tried + left_out {
        reached if reached < tests => format!("{tried} of {}", format::count(tests as usize, "test")),
        _ => format::count(tried as usize, "test"),
    }];
    if left_out > 0 {
        parts.push(format!("{left_out} left out (skipped, or ends its process)"));
    }
    parts.push(format::count(searched.sessions as usize, "session"));
    parts.extend(pairs.map(|pairs| {
        let by_state = match pairs.by_state {
            0 => String::new(),
            covered => format!(" ({} by comparing state)", share(PairCount { covered, ..pairs })),
        };
        format!("{} of ordered pairs{by_state}", share(pairs))
    }));
    parts.push(match searched.budget {
        Some(budget) if !complete => format!("budget of {} exhausted", format::rough_duration(budget)),
        _ => format::duration(searched.seconds),
    });
    parts.join(", ")
}

/// The option that gives a search that covered too little the time it needs. None: it covered
/// enough, or there is nothing to search.
pub fn more_time(searched: &Searched) -> Option<String> {
    let coverage = searched.coverage;
    if coverage.tests == 0 || !coverage.is_thin() {
        return None;
    }
    let done = match coverage.pairs {
        Some(pairs) if pairs.covered > 0 => pairs.covered as f64 / pairs.of as f64,
        _ => f64::from(coverage.tried) / f64::from(coverage.tests.max(1)),
    };
    // Unknown where nothing was reached: then ten times as much.
    let needed = searched.budget.unwrap_or(searched.seconds).max(searched.seconds) / done.clamp(0.01, 0.9);
    let minutes = (needed / 60.0).ceil() as u64;
    Some(if minutes < 120 { format!("--for {minutes}m") } else { format!("--for {}h", minutes.div_ceil(60)) })
}

fn share(pairs: PairCount) -> String {
    match pairs {
        PairCount { covered, of, .. } if covered >= of => "all".to_owned(),
        PairCount { covered, of, .. } => {
            let percent = covered as f64 * 100.0 / of as f64;
            if percent < 1.0 { format!("{percent:.1} %") } else { format!("{:.0} %", percent.floor()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn searched(tried: u32, covered: u64, complete: bool) -> Searched {
        let pairs = Some(PairCount { covered, by_state: 0, of: 1640 });
        let coverage = Coverage { tests: 41, tried, left_out: 0, pairs, complete };
        Searched { coverage, sessions: 88, seconds: 9.0, budget: Some(600.0) }
    }

    #[test]
    fn a_complete_search() {
        assert_eq!(searched_text(&searched(41, 1640, true)), "41 tests, 88 sessions, all of ordered pairs, 9.0 s");
        assert_eq!(more_time(&searched(41, 1640, true)), None);
    }

    #[test]
    fn pairs_that_did_not_run_are_told_apart() {
        let mut some = searched(41, 1640, true);
        some.coverage.pairs = Some(PairCount { covered: 1640, by_state: 1312, of: 1640 });
        let text = searched_text(&some);
        assert_eq!(text, "41 tests, 88 sessions, all of ordered pairs (80 % by comparing state), 9.0 s");
    }

    #[test]
    fn a_search_out_of_budget() {
        let thin = searched(41, 164, false);
        assert_eq!(searched_text(&thin), "41 tests, 88 sessions, 10 % of ordered pairs, budget of 10 min exhausted");
        assert_eq!(more_time(&thin).as_deref(), Some("--for 100m"));
        assert_eq!(more_time(&searched(41, 900, false)), None, "more than half");
        assert!(searched_text(&searched(3, 4, false)).starts_with("3 of 41 tests, 88 sessions, 0.2 %"));
    }

    #[test]
    fn without_tests_more_time_does_not_help() {
        let coverage = Coverage { tests: 0, tried: 0, left_out: 0, pairs: None, complete: false };
        assert_eq!(more_time(&Searched { coverage, ..searched(0, 0, false) }), None);
    }
}
