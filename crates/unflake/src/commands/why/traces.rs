//! The traced runs of a diagnosis.

use std::ops::RangeInclusive;

use unflake_model::{SourceLine, TestId, World};
use unflake_techniques::{DelayPoint, DiagnosisStep, StepCost, is_single_delay};

use crate::commands::locate::divergence_run::{self, LocateRequest};
use crate::commands::why::diagnosis_run::{DiagnosisRequest, LISTED};
use crate::commands::why::evidence::ways_to_fail;
use crate::run_loop::Gathered;

impl DiagnosisRequest<'_> {
    /// Names the line at which a proven schedule delays a thread, and the cause.
    pub(super) fn line_of_schedule(&self, test: &TestId, seconds: f64, record: &mut Gathered) -> Option<StepCost> {
        let at = record.findings.iter().position(is_single_delay)?;
        let (failure, _) = ways_to_fail(&record.attempts, test).into_iter().next()?;
        let schedule = record.findings.remove(at);
        let schedule_of = Some((schedule.clone(), failure));
        let request = LocateRequest { schedule: schedule_of, ..self.locate_request(test, seconds) };
        let (cost, ..) = self.traced_as(request, record);
        if !record.findings.iter().any(|finding| finding.technique() == "divergence") {
            record.findings.push(schedule);
        }
        cost
    }

    /// Locates the line, and lists the lines that wait. What prevents that is a note: other techniques
    /// have an answer, or none has.
    pub(super) fn traced(
        &self,
        test: &TestId,
        runs: RangeInclusive<u32>,
        worlds: Vec<World>,
        seconds: f64,
        record: &mut Gathered,
    ) -> (Option<StepCost>, Vec<SourceLine>, Vec<DelayPoint>) {
        let (runs, most) = runs.into_inner();
        self.traced_as(LocateRequest { runs, most, worlds, ..self.locate_request(test, seconds) }, record)
    }

    /// Traces of a test as it is.
    fn locate_request(&self, test: &TestId, seconds: f64) -> LocateRequest {
        let (test, builds) = (test.as_str().to_owned(), self.builds.clone());
        let (worlds, schedule) = (Vec::new(), None);
        LocateRequest { test, runs: LISTED, most: LISTED, seconds, lines_only: false, worlds, schedule, builds }
    }

    fn traced_as(
        &self,
        wanted: LocateRequest,
        record: &mut Gathered,
    ) -> (Option<StepCost>, Vec<SourceLine>, Vec<DelayPoint>) {
        let progress = self.context.progress(self.quiet);
        match divergence_run::search(&wanted, self.settings, self.context, progress, None) {
            Ok(mut located) => {
                let problems = located.record.problems.drain(..);
                let notes: Vec<String> =
                    problems.map(|problem| format!("lines could not be recorded: {}", problem.text)).collect();
                located.record.notes.extend(notes);
                let (executions, seconds) = (located.record.attempts.len() as u32, located.record.totals.seconds);
                record.absorb(located.record);
                (Some(StepCost { step: DiagnosisStep::Divergence, executions, seconds }), located.waits, located.points)
            }
            Err(error) => {
                record.notes.push(format!("lines could not be recorded: {}", error.message));
                (None, Vec::new(), Vec::new())
            }
        }
    }
}
