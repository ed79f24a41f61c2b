//! Output of tests cannot control the terminal or the CI system.

use proptest::prelude::*;
use unflake_model::{Event, Timestamp};
use unflake_report::{HistoryRow, Progress, TerminalStyle, TimeZone, attempts_table, one_line, plain};

use crate::divergences::any_divergence;
use crate::samples::*;

pub(crate) fn check(page: &str) {
    assert!(page.chars().all(|c| c == '\n' || !c.is_control()), "a control character in {page:?}");
    assert!(!page.contains('\u{202e}') && !page.contains('\u{2066}'), "a bidi override in {page:?}");
    for line in page.lines() {
        assert!(!line.trim_start().starts_with("::"), "a command to GitHub: {line:?}");
        assert!(!line.contains("##["), "a command to Azure: {line:?}");
        assert_eq!(line, line.trim_end(), "blanks at the end");
    }
}

pub(crate) fn any_style() -> impl Strategy<Value = TerminalStyle> {
    let width = prop_oneof![0usize..130, Just(usize::MAX)];
    (width, any::<bool>()).prop_map(|(width, unicode)| TerminalStyle {
        colour: false,
        width,
        unicode,
        lines: usize::MAX,
    })
}

proptest! {
    #[test]
    fn plain_text_is_plain(text in hostile()) {
        let safe = plain(&text);
        prop_assert!(safe.chars().all(|c| c == '\n' || !c.is_control()));
        prop_assert!(!safe.contains("##["));
        prop_assert_eq!(plain(&safe), safe.clone());
        prop_assert!(!one_line(&text).chars().any(char::is_control));
    }

    #[test]
    fn the_summary_is_plain(sample in any_run(), style in any_style(), quiet in any::<bool>()) {
        check(&sample.summary(&style, quiet));
    }

    #[test]
    fn only_unflake_writes_escape_sequences(sample in any_run(), style in any_style()) {
        let mut events = vec![Event::RunStarted { command: vec![sample.notes.concat()] }];
        events.push(Event::TestsListed { tests: sample.tests.clone(), deselected: 0, isolated: false, seconds: 0.0 });
        for problem in &sample.problems {
            events.push(Event::Problem(problem.clone()));
        }
        for attempt in &sample.attempts {
            events.push(Event::AttemptStarted {
                purpose: attempt.purpose,
                session: attempt.session,
                environment: attempt.environment,
                test: attempt.test.clone(),
                run: attempt.run,
            });
            events.push(Event::AttemptEnded(attempt.clone()));
        }
        let play = |mut progress: Progress| {
            written(|out| {
                for (at, event) in events.iter().enumerate() {
                    progress.event(at as f64 * 7.0, event, out)?;
                }
                progress.clear(out)
            })
        };
        check(&play(Progress::plain(style)));
        let terminal = play(Progress::terminal(style)).replace("\x1b[K", "");
        prop_assert!(terminal.chars().all(|c| matches!(c, '\n' | '\r') || !c.is_control()));
        prop_assert_eq!(play(Progress::silent()), "");
    }

    #[test]
    fn the_location_is_plain(case in any_divergence(), style in any_style(), quiet in any::<bool>()) {
        check(&case.terminal(&style, quiet));
    }

    #[test]
    fn the_history_is_plain(sample in any_run(), style in any_style(), revision in hostile(), when in any::<i64>()) {
        let rows: Vec<HistoryRow> = sample
            .attempts
            .iter()
            .map(|attempt| HistoryRow {
                when: Timestamp(when),
                outcome: attempt.outcome,
                seconds: attempt.seconds,
                revision: Some(&revision),
                purpose: attempt.purpose,
                origin: attempt.origin,
                position: attempt.position,
                run: attempt.run,
                imported_from: None,
                message: &attempt.stdout,
            })
            .collect();
        let id = unflake_model::TestId::new(&revision);
        check(&written(|out| attempts_table(&id, None, &rows, &TimeZone::UTC, &style, out)));
    }
}
