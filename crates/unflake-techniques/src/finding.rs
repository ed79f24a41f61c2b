//! Constructors of findings that the techniques share.

use unflake_model::{Detail, Evidence, Finding, Isolation, Rung, TestId, Verdict, VerdictKind};

/// A finding that the given order of tests reproduces. The run loop adds the command for it.
pub(crate) fn finding(test: &TestId, detail: Detail, sentence: String, replay: Vec<TestId>) -> Finding {
    Finding { test: test.clone(), detail, sentence, repeat: None, replay }
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
    };
    let rung = kind.is_flaky().then_some(Rung::Fresh);
    finding(test, Detail::Verdict(Verdict { kind, rung, evidence }), sentence, vec![test.clone()])
}
