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

/// Load per core from which time limits and waits fail without a reason in the code.
const HIGH_LOAD: f64 = 3.0;

/// A remark where the machine was busy in all failing attempts, given the load of each.
pub(crate) fn load_remark(loads: impl Iterator<Item = Option<f64>>) -> Option<String> {
    let loads: Option<Vec<f64>> = loads.collect();
    let lowest = loads?.into_iter().min_by(f64::total_cmp).filter(|lowest| *lowest >= HIGH_LOAD)?;
    Some(format!("; the machine was busy whenever it failed (load of {lowest:.1} per core or more)"))
}
