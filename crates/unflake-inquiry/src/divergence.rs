//! What many traced runs of one test say about where it starts to fail. Pure: it sees traces and nothing else.

use unflake_model::{Cause, Divergence, Traces};

use crate::parting::partings;
pub(crate) use crate::runs::Run;
use crate::runs::Runs;

pub(crate) fn divergence(traces: &dyn Traces, all: &[Run]) -> Divergence {
    let runs = Runs::new(traces, all);
    Divergence {
        kind: Cause::Unknown,
        because: "nothing says more".to_owned(),
        locations: Vec::new(),
        shows: None,
        runs: all.len() as u32,
        failed: runs.failed() as u32,
        timed_out: 0,
        partings: partings(&runs),
        unknown: traces.gaps().to_vec(),
    }
}
