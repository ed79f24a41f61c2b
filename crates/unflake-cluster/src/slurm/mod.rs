//! Slurm: workers are the tasks of job arrays, started and watched with Slurm's own commands.

mod output;

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use tracing::debug;

use crate::files::RunFiles;
use crate::pool::{ClusterError, ClusterSettings, JobState, JobSystem, MachinePool, SubmitError};
use crate::slurm::output::{array_tasks, is_temporary, job_states, partitions};

/// A Slurm cluster, as the commands on this machine reach it.
#[derive(Clone, Debug, Default)]
pub struct Slurm {
    /// Options of `sbatch`, such as `--partition=short`.
    pub options: Vec<String>,
}

/// What a cluster has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlurmState {
    pub version: String,
    /// Nodes that take jobs, their processors, and how many of these are idle.
    pub nodes: u32,
    pub processors: u32,
    pub idle: u32,
}

/// The script of a job: task N of a submission is the worker N numbers after the first.
pub(crate) fn start_script(wrapper: &[String], program: &Path, run: &Path) -> String {
    let run = run.to_string_lossy();
    let words = [program.to_string_lossy(), "engine-worker".into(), run.clone()];
    let command = shell_words::join(wrapper.iter().map(String::as_str).chain(words.iter().map(AsRef::as_ref)));
    let run = shell_words::quote(&run);
    format!(
        "#!/bin/sh\nnumber=$(($1 + SLURM_ARRAY_TASK_ID))\nplace={run}/w$number\numask 077\nmkdir -p \"$place\"\n\
         exec {command} \"$number\" </dev/null >>\"$place/log\" 2>&1\n"
    )
}

impl Slurm {
    /// The machines of the cluster.
    pub fn pool(self, settings: ClusterSettings) -> MachinePool {
        MachinePool::start(settings, Box::new(self))
    }

    /// How many sessions a worker runs at once: the processors of a task.
    pub fn slots(&self) -> usize {
        let mut words = self.options.iter();
        let mut slots = None;
        while let Some(word) = words.next() {
            let value = match word.as_str() {
                "-c" | "--cpus-per-task" => words.next().cloned(),
                _ => word.strip_prefix("--cpus-per-task=").or_else(|| word.strip_prefix("-c")).map(str::to_owned),
            };
            slots = value.and_then(|value| value.parse().ok()).or(slots);
        }
        slots.filter(|slots| *slots > 0).unwrap_or(1)
    }

    /// What the cluster has, in the partition of the options if they name one.
    pub fn state(&self) -> Result<SlurmState, ClusterError> {
        let version = run(Command::new("sinfo").arg("--version")).map_err(ClusterError)?;
        let mut sinfo = Command::new("sinfo");
        sinfo.args(["--noheader", "--responding", "--format=%D|%C|%a"]);
        let mut words = self.options.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "-p" | "--partition" => drop(words.next().map(|name| sinfo.arg(format!("--partition={name}")))),
                _ if word.starts_with("--partition=") || word.starts_with("-p") => drop(sinfo.arg(word)),
                _ => {}
            }
        }
        let (nodes, processors, idle) = partitions(&run(&mut sinfo).map_err(ClusterError)?);
        let version = version.trim().to_owned();
        Ok(SlurmState { version, nodes, processors, idle })
    }
}

impl JobSystem for Slurm {
    fn submit(&mut self, files: &RunFiles, first: u32, count: u32) -> Result<Vec<String>, SubmitError> {
        let last = count.saturating_sub(1);
        let mut sbatch = Command::new("sbatch");
        sbatch
            .args(["--parsable", "--no-requeue", "--job-name=unflake", "--output=/dev/null", "--error=/dev/null"])
            .arg(format!("--array=0-{last}"))
            .arg(format!("--chdir={}", files.path().display()))
            .args(&self.options)
            .arg(files.script())
            .arg(first.to_string());
        let printed = run(&mut sbatch).map_err(|why| {
            let is_temporary = is_temporary(&why);
            SubmitError { why, is_temporary }
        })?;
        let tasks = array_tasks(&printed, count);
        tasks.ok_or_else(|| SubmitError { why: format!("sbatch printed {printed:?}"), is_temporary: false })
    }

    fn states(&mut self, jobs: &[String]) -> Result<HashMap<String, JobState>, String> {
        let mut squeue = Command::new("squeue");
        squeue.args(["--noheader", "--array", "--states=all", "--format=%i|%T|%r"]);
        squeue.arg(format!("--jobs={}", jobs.join(",")));
        match run(&mut squeue) {
            Ok(printed) => Ok(job_states(&printed)),
            // All have ended so long ago that Slurm has forgotten them.
            Err(why) if why.contains("Invalid job id") => Ok(HashMap::new()),
            Err(why) => Err(why),
        }
    }

    fn cancel(&mut self, jobs: &[String]) {
        if !jobs.is_empty()
            && let Err(why) = run(Command::new("scancel").args(jobs))
        {
            debug!(why, ?jobs, "jobs were not cancelled");
        }
    }
}

/// What a command printed. The error is what it complained about.
fn run(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!("{program} is not installed here"),
        _ => format!("{program} cannot be started: {error}"),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(format!("{program}: {}", if complaint.is_empty() { output.status.to_string() } else { complaint }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_the_processors_of_a_task() {
        let slots = |words: &str| Slurm { options: words.split(' ').map(str::to_owned).collect() }.slots();
        assert_eq!(slots("--partition=short"), 1);
        assert_eq!(slots("--cpus-per-task=4 -p x"), 4);
        assert_eq!(slots("-c 2"), 2);
        assert_eq!(slots("-c8"), 8);
        assert_eq!(slots("--cpus-per-task 3"), 3);
        assert_eq!(slots("--constraint=avx2"), 1);
        assert_eq!(slots("-c zero"), 1);
    }

    #[test]
    fn the_script_quotes_its_paths() {
        let script =
            start_script(&["env".to_owned(), "A=b c".to_owned()], Path::new("/p/un flake"), Path::new("/s/r1"));
        let command = script.lines().last().unwrap();
        assert_eq!(
            command,
            "exec env 'A=b c' '/p/un flake' engine-worker /s/r1 \"$number\" </dev/null >>\"$place/log\" 2>&1"
        );
    }
}
