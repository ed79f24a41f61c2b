//! What the commands of Slurm print.

use std::collections::HashMap;

use crate::pool::JobState;

/// Complaints of `sbatch` that pass by themselves.
const TEMPORARY: [&str; 8] = [
    "Unable to contact slurm controller",
    "Socket timed out",
    "Resource temporarily unavailable",
    "MaxSubmitJob",
    "submit limit",
    "JobsLimit",
    "Slurm temporarily unable to accept job",
    "Connection refused",
];

pub(super) fn is_temporary(complaint: &str) -> bool {
    TEMPORARY.iter().any(|one| complaint.contains(one))
}

/// The ids of the tasks of an array, from what `sbatch --parsable` prints: the id of the job, and on
/// some systems the name of the cluster.
pub(super) fn array_tasks(printed: &str, count: u32) -> Option<Vec<String>> {
    let id: u64 = printed.lines().last()?.split(';').next()?.trim().parse().ok()?;
    Some((0..count).map(|task| format!("{id}_{task}")).collect())
}

/// From lines of `id|state|reason`.
pub(super) fn job_states(printed: &str) -> HashMap<String, JobState> {
    let state = |line: &str| {
        let [id, state, reason] = line.trim().split('|').collect::<Vec<_>>().try_into().ok()?;
        let state = match state {
            "PENDING" | "REQUEUED" | "REQUEUE_HOLD" | "REQUEUE_FED" | "SPECIAL_EXIT" | "SUSPENDED" => {
                JobState::Waiting(reason.to_owned())
            }
            "RUNNING" | "CONFIGURING" | "STAGE_OUT" | "SIGNALING" | "RESIZING" | "STOPPED" => JobState::Running,
            // The worker may still be there, but nothing that it does counts for long.
            "COMPLETING" | "COMPLETED" => JobState::Ended("its job ended".to_owned()),
            other => JobState::Ended(format!("its job ended: {}", other.to_lowercase().replace('_', " "))),
        };
        Some((id.to_owned(), state))
    };
    printed.lines().filter_map(state).collect()
}

/// Nodes, processors and idle processors, from lines of `nodes|allocated/idle/other/total|up`.
pub(super) fn partitions(printed: &str) -> (u32, u32, u32) {
    let numbers = |line: &str| {
        let [nodes, processors, availability] = line.trim().split('|').collect::<Vec<_>>().try_into().ok()?;
        let counts: Vec<u32> = processors.split('/').map_while(|one| one.parse().ok()).collect();
        let [_, idle, other, total] = counts.try_into().ok()?;
        (availability == "up").then_some((nodes.parse::<u32>().ok()?, total - other, idle))
    };
    // Partitions may share nodes.
    printed.lines().filter_map(numbers).max_by_key(|(_, processors, _)| *processors).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tasks_of_an_array_are_numbered() {
        assert_eq!(array_tasks("17\n", 2).unwrap(), ["17_0", "17_1"]);
        assert_eq!(array_tasks("sbatch: a remark\n17;west\n", 1).unwrap(), ["17_0"]);
        assert_eq!(array_tasks("", 1), None);
    }

    #[test]
    fn states_of_jobs() {
        let states = job_states("1_0|PENDING|Resources\n1_1|RUNNING|None\n1_2|NODE_FAIL|None\n1_3|COMPLETED|None\nx\n");
        assert_eq!(states["1_0"], JobState::Waiting("Resources".to_owned()));
        assert_eq!(states["1_1"], JobState::Running);
        assert_eq!(states["1_2"], JobState::Ended("its job ended: node fail".to_owned()));
        assert_eq!(states["1_3"], JobState::Ended("its job ended".to_owned()));
        assert_eq!(states.len(), 4);
    }

    #[test]
    fn what_a_cluster_has() {
        assert_eq!(partitions("3|1/5/2/8|up\n9|0/40/0/40|down\n"), (3, 6, 5));
        assert_eq!(partitions(""), (0, 0, 0));
    }

    #[test]
    fn a_full_queue_is_temporary_and_a_wrong_partition_is_not() {
        assert!(is_temporary("sbatch: error: QOSMaxSubmitJobPerUserLimit; sbatch: error: Batch job submission failed"));
        assert!(is_temporary("sbatch: error: Batch job submission failed: Unable to contact slurm controller"));
        assert!(!is_temporary("sbatch: error: invalid partition specified: nope"));
    }
}
