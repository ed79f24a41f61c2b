//! Constructors of findings that the techniques share.

use unflake_model::{Detail, EarlierRuns, Evidence, Finding, Isolation, Replay, Rung, TestId, Verdict, VerdictKind};

/// A finding that the given sessions reproduce. The run loop adds the commands for them.
pub(crate) fn finding(test: &TestId, detail: Detail, sentence: String, replays: Vec<Replay>) -> Finding {
    Finding { test: test.clone(), detail, sentence, reproduce: Vec::new(), replays }
}

/// A verdict that rests on counted attempts alone, outside the ladder. The test alone reproduces
/// it.
pub(crate) fn counted_verdict(
    test: &TestId,
    kind: VerdictKind,
    (attempts, failed): (u32, u32),
    fresh: Isolation,
    sentence: String,
) -> Finding {
    let evidence = Evidence {
        attempts,
        failed,
        fresh: Some(fresh),
        after: 0,
        never_excuse: None,
        confirmed: None,
        not_rerun: None,
        other_seeds_failed: 0,
        left_files: Vec::new(),
        beside: Vec::new(),
        earlier: EarlierRuns::default(),
    };
    let rung = kind.is_flaky().then_some(Rung::Fresh);
    let replay = Replay::counted(vec![test.clone()], failed, attempts);
    finding(test, Detail::Verdict(Verdict { kind, rung, evidence }), sentence, vec![replay])
}
