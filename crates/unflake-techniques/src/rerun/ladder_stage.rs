//! The stages of the ladder, in their order.

use crate::change_impact::unaffected::BaseCheck;
use crate::rerun::confirmation::CONFIRMATIONS;
use crate::rerun::ladder::Rungs;
use crate::rerun::left_files::HIDING_ROUNDS;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum LadderStage {
    Suite,
    /// A process once more up to its last failure, where a test could not be repeated in it.
    Again,
    AtEnd,
    /// Fresh environments, for a first pass or a confirmation. Like the following stages it has
    /// rounds, of which this many have been requested.
    Fresh(u32),
    /// A new process with other seeds that several tests share.
    Together,
    /// New processes with other seeds.
    OtherSeeds(u32),
    /// Does what never passed pass without the files that it left?
    WithoutFiles(u32),
    /// Can the change have caused what never passed?
    Intersect(u32),
    Over,
}

impl LadderStage {
    /// The next round, or the next stage once this one has had as many rounds as it can use. So
    /// there is a last session, whatever agents report.
    pub(crate) fn next(self, rungs: &Rungs) -> Self {
        let new_processes = u32::try_from(rungs.new_processes).unwrap_or(u32::MAX / 2);
        match self {
            Self::Suite => Self::Again,
            Self::Again => Self::AtEnd,
            Self::AtEnd => Self::Fresh(1),
            Self::Fresh(round) if round < rungs.fresh.saturating_add(CONFIRMATIONS) => Self::Fresh(round + 1),
            Self::Fresh(_) => Self::Together,
            Self::Together => Self::OtherSeeds(1),
            Self::OtherSeeds(round) if round < new_processes.saturating_mul(2).saturating_add(CONFIRMATIONS) => {
                Self::OtherSeeds(round + 1)
            }
            Self::OtherSeeds(_) => Self::WithoutFiles(1),
            Self::WithoutFiles(round) if round < HIDING_ROUNDS => Self::WithoutFiles(round + 1),
            Self::WithoutFiles(_) => Self::Intersect(1),
            Self::Intersect(round) if round < BaseCheck::ALL => Self::Intersect(round + 1),
            Self::Intersect(_) | Self::Over => Self::Over,
        }
    }

    /// The stage after this one.
    pub(crate) fn skip(self) -> Self {
        match self {
            Self::Fresh(_) => Self::Fresh(u32::MAX),
            Self::OtherSeeds(_) => Self::WithoutFiles(0),
            Self::WithoutFiles(_) => Self::Intersect(0),
            Self::Intersect(_) => Self::Over,
            other => other,
        }
    }
}
